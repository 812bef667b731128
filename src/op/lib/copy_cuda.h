/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided copies on the GPU: what reorder, transpose, broadcast, concat, slice and pad come down
 * to. Declared in every build, there only in one with CUDA. */
#ifndef DLX_OP_LIB_COPY_CUDA_H
#define DLX_OP_LIB_COPY_CUDA_H

#include "graph/op.h"

/* Element (i...) of an index space of these extents, from x at the sum of i * in_stride to y at
 * that of i * out_stride, in elements of `size` bytes (1, 2, 4 or 8). A stride of 0 in x
 * repeats. */
int cuda_copy(const struct kplan *k, const struct shape *extents, const int64_t *in_stride,
              const int64_t *out_stride, size_t size, const void *x, void *y);
/* The strides of a tensor, an axis each. */
const int64_t *cuda_strides(const struct kplan *k, tid t);
/* Refuses layouts with blocks, which no kernel of the GPU makes. For plan(). */
int cuda_check_strided(struct kplan *k);

#endif
