/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element-wise sums over several blocks. */
#ifndef DLX_COMM_SUM_H
#define DLX_COMM_SUM_H

#include "base/types.h"

/* Elements first .. first + n of nsrc arrays of type t, added in float32 (F64
 * in float64), to each of the ndst arrays, which may be among the sources. They
 * are added in pairs, pairs of pairs and so on: ((0 1) (2 3)) ((4 5) 6). So the
 * sum of sums of 2, 4, 8, ... neighbours has the bits of the sum of all. */
void sum_blocks(enum dtype t, void *const *src, int nsrc, void *const *dst, int ndst, int64_t first,
                int64_t n);
/* From and to float32. */
void sum_widen(enum dtype t, float *dst, const void *src, int64_t n);
void sum_narrow(enum dtype t, void *dst, const float *src, int64_t n);

#endif
