/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided copies on the GPU, to which reorder, transpose, broadcast, concat, slice and pad reduce.
 * Declared in every build, defined only in one with CUDA. */
#ifndef DLX_OP_LIB_COPY_CUDA_H
#define DLX_OP_LIB_COPY_CUDA_H

#include "graph/op.h"

/* Copies element (i...) of an index space with these extents from offset sum(i * in_stride) of x to
 * offset sum(i * out_stride) of y. Elements have `size` bytes (1, 2, 4 or 8). An in_stride of 0
 * repeats an element. */
int cuda_copy(const struct kplan *k, const struct shape *extents, const int64_t *in_stride,
              const int64_t *out_stride, size_t size, const void *x, void *y);
/* The strides of tensor t, one for each axis. */
const int64_t *cuda_strides(const struct kplan *k, tid t);
/* Fails if a tensor has a blocked layout, which no GPU kernel makes. For plan(). */
int cuda_check_strided(struct kplan *k);

#endif
