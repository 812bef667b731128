/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of update.c for elements of type `real`. NAME(x) appends the backend's suffix to x;
 * CLONES defines a function, in float32 for several instruction sets. */

CLONES(void, NAME(accumulate_range),
       (const struct kplan *k, const struct kargs *a, int t, int64_t lo, int64_t hi),
       (k, a, t, lo, hi))
{
	const real *g = a->in[2 + 2 * t];
	real *acc = a->out[t];
	enum sum_how how = how_to_sum(k, a);
	if (how == SUM_ADD) {
		SIMD_LOOP
		for (int64_t i = lo; i < hi; i++)
			acc[i] = acc[i] + g[i];
	} else if (how == SUM_SET) {     /* acc may be anything: not a factor of 0 */
		SIMD_LOOP
		for (int64_t i = lo; i < hi; i++)
			acc[i] = g[i];
	} else if (how == SUM_NOTHING) {
		for (int64_t i = lo; i < hi; i++)
			acc[i] = (real)-0.0;
	}
}

CLONES(void, NAME(ema_update_range),
       (const struct kplan *k, const struct kargs *a, int t, int64_t lo, int64_t hi),
       (k, a, t, lo, hi))
{
	const struct ema_update_attr *at = k->n->attr;
	const real *x = a->in[2 * t + 1];
	real *r = a->out[t], keep = (real)(1 - at->momentum), take = (real)ema_share(at, t);
	for (int64_t i = lo; i < hi && at->finite; i++)
		if (isfinite(x[i]))
			r[i] = keep * r[i] + take * x[i];
	if (at->finite)
		return;
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++)
		r[i] = keep * r[i] + take * x[i];
}

#undef CLONES
#undef NAME
#undef real
