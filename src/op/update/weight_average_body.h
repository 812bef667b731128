/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel of weight_average.c for elements of type `real`. NAME(x) appends the backend's suffix
 * to x; CLONES defines a function, in float32 for several instruction sets. */

/* A share of 1 copies: a + (w - a) would only be close. */
CLONES(void, NAME(range),
       (const struct kplan *k, const struct kargs *x, int t, int64_t lo, int64_t hi),
       (k, x, t, lo, hi))
{
	const real *w = x->in[HEAD + 2 * t + W];
	real *a = x->out[t], c = (real)*(const double *)x->ws;
	if (c == 1) {
		memcpy(a + lo, w + lo, sizeof *a * (size_t)(hi - lo));
		return;
	}
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++)
		a[i] += c * (w[i] - a[i]);
}

#undef CLONES
#undef NAME
#undef real
