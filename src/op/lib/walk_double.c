/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel in float64 calls the reference kernel for each piece, with a kernel plan for that
 * number of elements and pointers to the piece's first elements. */
#include "op/lib/walk_double.h"

#include <string.h>

#include "base/err.h"
#include "op/lib/simd_double.h"
#include "op/lib/walk.h"

/* --- vectorized versions --- */

#define FORM(name, formula)                                                             \
	SIMD_CLONES(void, name##_range,                                                     \
	            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), \
	            (k, a, lo, hi))                                                         \
	{                                                                                   \
		const double *x = a->in[0], *dy = k->n->nin > 1 ? a->in[1] : x;                 \
		double *y = a->out[0];                                                          \
		SIMD_LOOP                                                                       \
		for (int64_t i = lo; i < hi; i++) {                                             \
			const double v = x[i], d = dy[i], s = simd_sigmoid_double(v);               \
			(void)d;                                                                    \
			(void)s;                                                                    \
			y[i] = formula;                                                             \
		}                                                                               \
	}

FORM(exp, simd_exp_double(v))
FORM(tanh, simd_tanh_double(v))
FORM(sigmoid, s)
FORM(silu, v * s)
FORM(silu_grad, s * (1 + v * (1 - s)) * d)

struct form {
	const char *op;
	walk_range *range;
};

static const struct form forms[] = {
	{ "exp", exp_range }, { "tanh", tanh_range }, { "sigmoid", sigmoid_range },
	{ "silu", silu_range }, { "silu_grad", silu_grad_range },
};

/* --- the reference on a piece --- */

#define MOST 3               /* inputs */

static void reference_range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	const struct node *n = k->n;
	struct kplan piece = *k;
	void *in[MOST] = { 0 }, *out[1] = { (double *)a->out[0] + lo };
	const int64_t all = kplan_out_elements(k, 0);
	piece.piece = hi - lo;
	for (int i = 0; i < n->nin; i++)
		in[i] = (double *)a->in[i] + (kplan_in_elements(k, i) == all ? lo : 0);
	if (hi > lo)
		n->op->kernel[BACKEND_REFERENCE].run(&piece, &(struct kargs){ in, out, a->ws });
}

int walk_double_plan(struct kplan *k)
{
	BUG_IF(k->n->nin > MOST, "'%s' walks %d inputs", k->n->op->name, k->n->nin);
	k->state = NULL;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (strcmp(forms[i].op, k->n->op->name) == 0)
			k->state = arena_copy(k->arena, &forms[i], sizeof *forms);
	return 0;
}

int walk_double(const struct kplan *k, const struct kargs *a)
{
	const struct form *f = k->state;
	walk_run(k, a, kplan_out_elements(k, 0), f ? f->range : reference_range);
	return 0;
}
