/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums of record_measure.c over elements of type ELEMENT, in vectors: of at most BLOCK of them the
 * sum fits SUM, and that of squares SQUARES. NAME is the function's. */
SIMD_CLONES(void, NAME, (const void *p, int64_t n, struct sums *out), (p, n, out))
{
	const ELEMENT *v = p;
	SUM sum = 0;
	SQUARES squares = 0;
	int32_t min = out->min, max = out->max;
#pragma omp simd reduction(+ : sum, squares) reduction(min : min) reduction(max : max)
	for (int64_t i = 0; i < n; i++) {
		const int32_t x = v[i];
		sum += (SUM)x;
		squares += (uint32_t)x * (uint32_t)x;
		min = x < min ? x : min;
		max = x > max ? x : max;
	}
	out->sum += (int64_t)sum;
	out->squares += squares;
	out->min = min;
	out->max = max;
}
#undef NAME
#undef ELEMENT
#undef SUM
#undef SQUARES
