/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The matrix products of Winograd convolution: up to 14 rows by 32 columns of sums stay in
 * registers, and the elements of a are broadcast. 28 accumulators, two vectors of b and one
 * broadcast use 31 of the 32 registers. */
#include "op/winograd/winograd_simd.h"

#if defined(__x86_64__)

#define MAX_ROWS 14

WINO_INLINE void product(int rows, int nv, bool transposed, int k, const float *a, const float *b,
                         float *c, bool add)
{
	const int width = nv * WINO_LANES;
	vec s[MAX_ROWS][2];
	WINO_UNROLL
	for (int i = 0; i < rows; i++)
		s[i][0] = s[i][1] = _mm512_setzero_ps();
	for (int t = 0; t < k; t++) {
		const vec b0 = _mm512_load_ps(b + t * width);
		const vec b1 = nv > 1 ? _mm512_load_ps(b + t * width + WINO_LANES) : b0;
		WINO_UNROLL
		for (int i = 0; i < rows; i++) {
			const vec e = v_set(transposed ? a[t * WINO_K + i] : a[i * WINO_K + t]);
			s[i][0] = _mm512_fmadd_ps(e, b0, s[i][0]);
			if (nv > 1)
				s[i][1] = _mm512_fmadd_ps(e, b1, s[i][1]);
		}
	}
	WINO_UNROLL
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < nv; j++) {
			float *to = c + i * width + j * WINO_LANES;
			_mm512_store_ps(to, add ? v_add(_mm512_load_ps(to), s[i][j]) : s[i][j]);
		}
}

#define CASE(n) case n: product(n, nv, transposed, k, a, b, c, add); return;

WINO_INLINE void rows_switch(int rows, int nv, bool transposed, int k, const float *a,
                             const float *b, float *c, bool add)
{
	switch (rows) {
	CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7)
	CASE(8) CASE(9) CASE(10) CASE(11) CASE(12) CASE(13) CASE(14)
	}
}

/* Divides the rows into nearly equal pieces. */
WINO_INLINE void multiply(int rows, int nv, bool transposed, int k, const float *a, const float *b,
                          float *c, bool add)
{
	int pieces = (rows + MAX_ROWS - 1) / MAX_ROWS;
	for (int i = 0; i < rows; pieces--) {
		const int n = (rows - i + pieces - 1) / pieces;
		rows_switch(n, nv, transposed, k, a + (transposed ? i : i * WINO_K), b,
		            c + i * nv * WINO_LANES, add);
		i += n;
	}
}

WINO_TARGET void wino_multiply(int rows, int nv, int k, const float *a, const float *b, float *c,
                               bool add)
{
	if (nv == 1)
		multiply(rows, 1, false, k, a, b, c, add);
	else
		multiply(rows, 2, false, k, a, b, c, add);
}

WINO_TARGET void wino_multiply_transposed(int rows, int nv, int k, const float *a, const float *b,
                                          float *c, bool add)
{
	if (nv == 1)
		multiply(rows, 1, true, k, a, b, c, add);
	else
		multiply(rows, 2, true, k, a, b, c, add);
}

#endif
