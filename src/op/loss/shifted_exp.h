/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The exponentials with which the losses over labels begin, for few classes: one loop runs over
 * points and classes together, so that short rows are vectorized, too. */
#ifndef DLX_OP_LOSS_SHIFTED_EXP_H
#define DLX_OP_LOSS_SHIFTED_EXP_H

#include "op/lib/simd.h"

/* max of each of n points with c classes, and e = exp(x - max), (n, c). */
SIMD_INLINE void shifted_exp(const float *x, int64_t n, int64_t c, float *max, float *e)
{
	for (int64_t p = 0; p < n; p++) {
		float m = x[p * c];
		for (int64_t j = 1; j < c; j++)
			m = x[p * c + j] > m ? x[p * c + j] : m;
		for (int64_t j = 0; j < c; j++)
			e[p * c + j] = x[p * c + j] - m;
		max[p] = m;
	}
	SIMD_LOOP
	for (int64_t i = 0; i < n * c; i++)
		e[i] = simd_exp(e[i]);
}

#endif
