/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A picked element is wrong if it is further from what is expected than a tolerance, which is in
 * proportion to the sum of the element's terms without their signs. */
#include "backend/proof/proof_values.h"

#include <math.h>
#include <stdlib.h>

#include "backend/proof/proof_memory.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"

#define LEAST_PICKS 64
#define MOST_PICKS 1024
#define PICK_TERMS 2e6           /* limit on the terms of all picked sums together, unless it would
                                  * leave too few picks */

/* --- which elements --- */

static int order(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* n of the places 0 .. extent - 1: both ends, the rest at random, ascending. */
static void pick_axis(int64_t extent, int n, uint64_t stream, int64_t *at)
{
	int have = 0;
	if (n == extent) {
		for (int i = 0; i < n; i++)
			at[i] = i;
		return;
	}
	at[have++] = 0;
	if (n > 1)
		at[have++] = extent - 1;
	for (uint64_t draw = 0; have < n; draw++) {
		const int64_t v = (int64_t)(rng_uniform(7, stream, 0, draw) * (double)extent);
		bool is_new = v < extent;
		for (int i = 0; i < have; i++)
			is_new = is_new && at[i] != v;
		if (is_new)
			at[have++] = v;
	}
	qsort(at, (size_t)n, sizeof *at, order);
}

/* At least `least` elements: two places of each axis, then more of the axis that has most left for
 * each. */
static void pick(struct picks *p, const struct shape *s, int64_t least)
{
	*p = (struct picks){ .nd = s->nd };
	for (int d = 0; d < s->nd; d++)
		p->n[d] = s->d[d] < 2 ? (int)s->d[d] : 2;
	while (picks_count(p) < least) {
		int best = -1;
		double most = 1;
		for (int d = 0; d < s->nd; d++)
			if (p->n[d] < PICK_MOST && (double)s->d[d] / p->n[d] > most) {
				most = (double)s->d[d] / p->n[d];
				best = d;
			}
		if (best < 0)
			break;
		p->n[best]++;
	}
	for (int d = 0; d < s->nd; d++)
		pick_axis(s->d[d], p->n[d], (uint64_t)d, p->at[d]);
}

static int64_t flat_of(const struct shape *s, const int64_t *index)
{
	int64_t at = 0;
	for (int d = 0; d < s->nd; d++)
		at = at * s->d[d] + index[d];
	return at;
}

/* --- tolerances --- */

/* Tolerance for CPU kernels, whose sums are float32, relative to the sum of absolute values.
 * Correct kernels had errors of up to 9e-7. */
#define SINGLE_ERROR 1e-5
#define MEAN_PRODUCT 0.25        /* mean absolute value of the product of two random inputs in [-1,
                                  * 1] */

/* Half a unit in the last place, for a value of 1. */
static double rounding_of(enum dtype t)
{
	return t == DTYPE_BF16 ? 0x1p-8 : t == DTYPE_F16 ? 0x1p-11 : 0x1p-23;
}

/* The unit to which a GPU's engine may round its operands, or sums of them: one for float32 may
 * compute by Winograd's algorithm, which loses up to 7 bits. */
static double operand_rounding(const struct proof_case *c)
{
	const enum dtype t = c->in[0].dtype;
	return t != DTYPE_F32 ? rounding_of(t) : c->tf32 ? 0x1p-11 : 0x1p-17;
}

/* The same of a GPU's engines. No GPU has calibrated it, so it is wide: none that is right may be
 * called wrong. Each term may be off by 16 units of the type that operands are rounded to. In a
 * long sum such errors have both signs: those of n terms add up to sqrt(n) times that of one, and
 * 8 times as much is allowed. What tensor cores cut off when they add does not even out: 2^-30 for
 * each term. A sum of a million terms, most of which cancel, so still has to be right to a part of
 * its usual size. */
static double gpu_error(const struct proof_case *c, int o, double terms)
{
	if (o > 0)
		return 16 * 0x1p-17;     /* sums of one tensor, by a kernel of dlx's in float32 */
	return 16 * (operand_rounding(c) + terms * 0x1p-30) * fmin(1, 8 / sqrt(terms));
}

static double error_of(const struct proof_case *c, int o, double terms)
{
	return c->gpu ? gpu_error(c, o, terms) : SINGLE_ERROR;
}

/* Of a sum of this many terms without padding. Winograd's errors are relative to that of a whole
 * tile, also where an element's own sum is of padding alone. */
static double usual_size(const struct proof_made *m, int o, double terms, double flops)
{
	const double a = proof_memory_largest(m->c->in[0].dtype),
	             b = proof_memory_largest(m->c->in[1].dtype);
	return o == 0 && flops > 0 ? MEAN_PRODUCT * a * b * terms : 0;
}

/* --- comparing --- */

struct sum {
	double error, usual;         /* tolerance relative to the sum of terms; the usual size of that
	                              * sum */
};

static int compare(const struct proof_made *m, int o, const struct picks *p,
                   const struct expected *e, struct sum s, struct proof_verdict *v)
{
	const struct tensor *x = graph_t(m->g, m->n->out[o]);
	const int64_t n = picks_count(p);
	for (int64_t i = 0; i < n; i++) {
		int64_t index[MAXD];
		double is;
		picks_index(p, i, index);
		TRY(m->element(m->user, o, layout_offset(&x->layout, flat_of(&x->shape, index)), &is));
		const double rounded = fabs(e[i].value) + e[i].rounded,
		             tolerance = s.error * fmax(e[i].size, s.usual) + 1e-30 +
		                         rounding_of(x->dtype) * rounded,
		             error = fabs(is - e[i].value) / tolerance;
		v->of++;
		v->worst = error > v->worst ? error : v->worst;
		v->wrong += !(error <= 1);
	}
	if (v->wrong && v->fault == PROOF_NONE)
		v->fault = PROOF_VALUE;
	return 0;
}

static int check_result(const struct proof_made *m, int o, double flops, struct proof_verdict *v)
{
	struct picks p;
	const struct shape *s = &graph_t(m->g, m->n->out[o])->shape;
	const double terms = fmax(1, flops / 2 / (double)shape_count(s)),
	             picks = fmin(MOST_PICKS, fmax(LEAST_PICKS, PICK_TERMS / terms));
	pick(&p, s, (int64_t)picks);
	struct expected *e = mem_calloc((size_t)picks_count(&p), sizeof *e);
	int rc = m->n->op->expect(m->g, m->n, m->in, o, &p, e);
	if (rc == 0)
		rc = compare(m, o, &p, e, (struct sum){ error_of(m->c, o, terms),
		             usual_size(m, o, terms, flops) }, v);
	mem_free(e);
	return rc;
}

int proof_values_check(const struct proof_made *m, struct proof_verdict *v)
{
	const double flops = op_cost(m->g, m->n).flops;
	for (int o = 0; o < m->n->nout; o++)
		if (m->n->out[o] != NONE)
			TRY(check_result(m, o, flops, v));
	return 0;
}
