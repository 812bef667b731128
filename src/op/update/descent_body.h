/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of descent.c for elements of type `real`. NAME(x) appends the backend's suffix to x;
 * ROOT is the square root. */
#include "base/simd.h"

/* The coefficients of one parameter for the loops over elements: d = trust (scale g + coupled w);
 * new w = keep w - rate u, or, if the output is a direction, decay w + u. */
struct NAME(coefficients) {
	real scale, trust, coupled, keep, rate;
};

static struct NAME(coefficients) NAME(coefficients)(const struct kplan *k, const struct kargs *a,
                                                    const struct each_attr *at, int t)
{
	const real *scale = node_has(k->n, DESCENT_SCALE) ? a->in[DESCENT_SCALE] : NULL;
	const real *trust = node_has(k->n, DESCENT_TRUST) ? a->in[DESCENT_TRUST] : NULL;
	real decay = (real)each(&at->weight_decay, t, 0);
	real rate = *(const real *)a->in[DESCENT_RATE] * (real)each(&at->rate_factor, t, 1);
	struct NAME(coefficients) c = { scale ? *scale : 1, trust ? trust[t] : 1, 0, 1, rate };
	if (!at->decoupled)
		c.coupled = decay;
	else
		c.keep = 1 - rate * decay;
	if (at->direction) {
		c.keep = at->decoupled ? decay : 0;
		c.rate = -1;
	}
	return c;
}

/* v is written only with momentum, so plain SGD has a loop of its own. */
SIMD_CLONES(void, NAME(sgd_momentum),
            (real *to, const real *w, const real *g, real *v, struct NAME(coefficients) c, real m,
             real inside, real now, real ahead, int64_t lo, int64_t hi),
            (to, w, g, v, c, m, inside, now, ahead, lo, hi))
{
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++) {
		real d = (g[i] * c.scale + c.coupled * w[i]) * c.trust * inside;
		v[i] = m * v[i] + d;
		to[i] = w[i] * c.keep - c.rate * (now * d + ahead * v[i]);
	}
}

SIMD_CLONES(void, NAME(sgd_plain),
            (real *to, const real *w, const real *g, struct NAME(coefficients) c, int64_t lo,
             int64_t hi), (to, w, g, c, lo, hi))
{
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++)
		to[i] = w[i] * c.keep - c.rate * ((g[i] * c.scale + c.coupled * w[i]) * c.trust);
}

static void NAME(sgd_range)(const struct kplan *k, const struct kargs *a, int t, int64_t lo,
                            int64_t hi)
{
	const struct sgd_attr *at = k->n->attr;
	struct NAME(coefficients) c = NAME(coefficients)(k, a, &at->each, t);
	bool v = at->momentum > 0;
	void *const *in = a->in + DESCENT_HEAD + t * (2 + v), *const *out = a->out + t * (1 + v);
	real m = (real)at->momentum, ahead = at->nesterov ? m : 1, now = at->nesterov ? 1 : 0;
	real inside = 1;
	/* Without momentum it makes no difference where the rate is applied, and the loop applies it in
	 * its usual place. */
	if (at->rate_inside && v) {
		inside = c.rate;
		c.rate = 1;
	}
	if (v)
		NAME(sgd_momentum)(out[W], in[W], in[G], out[1], c, m, inside, now, ahead, lo, hi);
	else
		NAME(sgd_plain)(out[W], in[W], in[G], c, lo, hi);
}

SIMD_CLONES(void, NAME(adam_range),
            (const struct kplan *k, const struct kargs *a, int t, int64_t lo, int64_t hi),
            (k, a, t, lo, hi))
{
	const struct adam_attr *at = k->n->attr;
	const struct adam_factors *f = a->ws;
	const struct NAME(coefficients) c = NAME(coefficients)(k, a, &at->each, t);
	void *const *in = a->in + DESCENT_HEAD + t * 4, *const *out = a->out + t * 3;
	const real *w = in[W], *g = in[G];
	real *to = out[0], *m = out[1], *v = out[2];
	real rate = (real)(c.rate * f->mean), root = (real)f->root, eps = (real)at->eps;
	real c1 = (real)(1 - at->beta1), b2 = (real)at->beta2, c2 = (real)(1 - at->beta2);
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++) {
		real d = (g[i] * c.scale + c.coupled * w[i]) * c.trust;
		m[i] = m[i] + c1 * (d - m[i]);
		v[i] = b2 * v[i] + c2 * d * d;
		to[i] = w[i] * c.keep - rate * m[i] / (ROOT(v[i]) * root + eps);
	}
}

/* With momentum a first loop writes the update u to `to`, and a second one reads it there; without
 * momentum one loop writes the new weights. */
SIMD_CLONES(void, NAME(rmsprop_range),
            (const struct kplan *k, const struct kargs *a, int t, int64_t lo, int64_t hi),
            (k, a, t, lo, hi))
{
	const struct rmsprop_attr *at = k->n->attr;
	const struct NAME(coefficients) c = NAME(coefficients)(k, a, &at->each, t);
	bool moving = at->momentum > 0;
	void *const *in = a->in + DESCENT_HEAD + t * (3 + moving);
	void *const *out = a->out + t * (2 + moving);
	const real *w = in[W], *g = in[G];
	real *to = out[0], *v = out[1], *b = moving ? out[2] : NULL;
	real keep = (real)at->alpha, take = (real)(1 - at->alpha), m = (real)at->momentum;
	real under = at->eps_inside ? (real)at->eps : 0,
	     beside = at->eps_inside ? 0 : (real)at->eps;
	if (moving) {
		SIMD_LOOP
		for (int64_t i = lo; i < hi; i++) {
			real d = (g[i] * c.scale + c.coupled * w[i]) * c.trust;
			v[i] = keep * v[i] + take * d * d;
			b[i] = m * b[i] + d / (ROOT(v[i] + under) + beside);
			to[i] = w[i] * c.keep - c.rate * b[i];
		}
	} else {
		SIMD_LOOP
		for (int64_t i = lo; i < hi; i++) {
			real d = (g[i] * c.scale + c.coupled * w[i]) * c.trust;
			v[i] = keep * v[i] + take * d * d;
			to[i] = w[i] * c.keep - c.rate * (d / (ROOT(v[i] + under) + beside));
		}
	}
}

/* --- a step --- */

static int NAME(sgd)(const struct kplan *k, const struct kargs *a)
{
	if (applies(k, a))
		bundle_run(k, a, NAME(sgd_range));
	return 0;
}

static int NAME(adam)(const struct kplan *k, const struct kargs *a)
{
	if (applies(k, a)) {
		adam_factors(k, a);
		bundle_run(k, a, NAME(adam_range));
	}
	return 0;
}

static int NAME(rmsprop)(const struct kplan *k, const struct kargs *a)
{
	if (applies(k, a))
		bundle_run(k, a, NAME(rmsprop_range));
	return 0;
}

#undef ROOT
#undef NAME
#undef real
