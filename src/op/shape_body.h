/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel of broadcast and transpose (shape.c) for elements of type `real`. NAME(x) appends the
 * backend's suffix to x. */
#include "base/simd.h"

static void NAME(copy_run)(real *y, int64_t ys, const real *x, int64_t xs, int64_t n)
{
	if (ys == 1 && xs == 1) {
		memcpy(y, x, (size_t)n * sizeof *y);
	} else if (ys == 1 && xs == 0) {
		real v = *x;
		SIMD_LOOP
		for (int64_t i = 0; i < n; i++)
			y[i] = v;
	} else {
		for (int64_t i = 0; i < n; i++)
			y[i * ys] = x[i * xs];
	}
}

/* Elements lo .. hi-1 in the order of the nest, a run of its innermost level at a time. */
static void NAME(copy_range)(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	const struct nest *t = k->state;
	const real *x = a->in[0];
	real *y = a->out[0];
	int last = t->n - 1;
	int64_t level = t->n ? t->size[last] : 1;
	while (lo < hi) {
		int64_t n = level - lo % level, xo, yo;
		if (n > hi - lo)
			n = hi - lo;
		nest_at(t, lo, &xo, &yo);
		NAME(copy_run)(y + yo, t->n ? t->y[last] : 1, x + xo, t->n ? t->x[last] : 1, n);
		lo += n;
	}
}

static int NAME(copy)(const struct kplan *k, const struct kargs *a)
{
	const struct nest *t = k->state;
	walk_run(k, a, t->count, NAME(copy_range));
	return 0;
}

#undef NAME
#undef real
