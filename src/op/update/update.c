/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running averages and sums, updated in place in every step; the optimizers are in descent.c.
 *
 *   accumulate   acc = g for index 0, else acc + g, of many tensors at once (op/update/bundle.h)
 *
 * With a level l the node is a digit of a binary counter. A chain of nodes of levels 0, 1, ...,
 * each reading the output of the one before, adds the values 0, 1, 2, ... as a tree: ((0 1) (2 3))
 * ((4 5) 6). Level l acts when the levels below are full (the low l bits of the index are ones): it
 * stores the carry, or adds it to its value and passes on the sum. With the last value all levels
 * pass on their sums, up to the highest. An absent rank adds -0, which changes no sum, not even -0.
 *
 *   ema_update   r = (1 - momentum) r + momentum factor x, of many tensors at once; if requested,
 *                r where x is not finite
 *
 * Both ops process whole buffers in any layout: padding is zero everywhere and stays zero. */
#include <limits.h>
#include <math.h>

#include "base/err.h"
#include "base/simd.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/update/bundle_cuda.h"
#include "op/update/update.h"

/* --- attributes --- */

static const struct field ema_update_fields[] = {
	FIELD_FLOAT(struct ema_update_attr, momentum, "0.1", 0, 1, "share of the new value"),
	FIELD_FLOAT(struct ema_update_attr, factor, "1", 0, 1e6,
	            "what the new values are multiplied by first"),
	FIELD(struct ema_update_attr, factors, FT_FLOATS, .min = 0, .max = 1e6,
	      .doc = "or a number for each group"),
	FIELD_BOOL(struct ema_update_attr, finite, "false",
	           "pass over new values that are not finite"),
	FIELD_END
};

static const struct field accumulate_fields[] = {
	FIELD_INT(struct accumulate_attr, level, "-1", -1, 62,
	          "of a binary counter; -1: one after the other"),
	FIELD_BOOL(struct accumulate_attr, all, "false", "the value of an absent rank counts too"),
	FIELD_END
};

static const char *const sum_member[] = { "accumulator", "gradient" };
static const struct bundle_form sum_form = { 1, 2, 1, sum_member, .gradient = 1 };
static const char *const ema_member[] = { "running value", "new value" };
static const struct bundle_form ema_form = { 0, 2, 1, ema_member };

/* --- shape --- */

static int accumulate_shape(struct graph *g, struct node *n)
{
	enum dtype t = graph_t(g, n->in[0])->dtype;
	if (t != DTYPE_I64 && t != DTYPE_I32)
		return ERR(E_SHAPE, &g->cur_loc, "the index of '%s' must be an integer, but is %s",
		           n->op->name, dtype_name(t));
	const struct shape *s = node_in_shape(g, n, 0);
	const struct accumulate_attr *at = n->attr;
	if (at->level < 0)
		TRY(node_want_scalar(g, n, 0, "index"));
	else if (s->nd != 1 || s->d[0] != SUM_VALUES)
		return ERR(E_SHAPE, &g->cur_loc, "the place of '%s' must have %d numbers", n->op->name,
		           SUM_VALUES);
	TRY(bundle_check(g, n, sum_form));
	for (int i = 0; i < bundle_groups(n, sum_form); i++)
		TRY(graph_out_alias(g, n, i, 1 + 2 * i));
	return 0;
}

static int ema_update_shape(struct graph *g, struct node *n)
{
	const struct ema_update_attr *at = n->attr;
	const int groups = bundle_groups(n, ema_form);
	TRY(bundle_check(g, n, ema_form));
	if (at->factors.n && at->factors.n != groups)
		return ERR(E_SHAPE, &g->cur_loc, "'factors' of '%s' has %d numbers for %d groups",
		           n->op->name, at->factors.n, groups);
	for (int i = 0; i < groups; i++)
		TRY(graph_out_alias(g, n, i, 2 * i));
	return 0;
}

/* --- cost --- */

static void accumulate_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	for (int i = 0; i < n->nout; i++)
		c->flops += (double)shape_count(node_out_shape(g, n, i));
}

static void ema_update_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	for (int i = 0; i < n->nout; i++)
		c->flops += 3 * (double)shape_count(node_out_shape(g, n, i));
}

/* --- layouts --- */

static int accumulate_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, sum_form, in, out);
}

static int ema_update_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, ema_form, in, out);
}

/* --- kernels in double and in float: one source text for both --- */

/* The weight of the new value of group t. */
static double ema_share(const struct ema_update_attr *at, int t)
{
	return at->momentum * (at->factors.n ? at->factors.v[t] : at->factor);
}

static int64_t whole(const struct kplan *k, const struct kargs *a, int i)
{
	return graph_t(k->g, k->n->in[0])->dtype == DTYPE_I32 ? ((const int32_t *)a->in[0])[i]
	                                                      : ((const int64_t *)a->in[0])[i];
}

enum sum_how { SUM_KEEP, SUM_SET, SUM_ADD, SUM_NOTHING };

/* The same as in k_bundle.cu. */
static enum sum_how how_to_sum(const struct kplan *k, const struct kargs *a)
{
	const struct accumulate_attr *at = k->n->attr;
	int64_t index = whole(k, a, SUM_INDEX),
	        below = at->level > 0 ? (INT64_C(1) << at->level) - 1 : 0;
	if (at->level < 0)
		return index == 0 ? SUM_SET : SUM_ADD;
	if (whole(k, a, SUM_ABSENT) && !at->all)
		return at->level == 0 ? SUM_NOTHING : SUM_SET;
	if (!whole(k, a, SUM_LAST) && (index & below) != below)
		return SUM_KEEP;
	return index >> at->level & 1 ? SUM_ADD : SUM_SET;
}

#define real double
#define NAME(kernel) kernel##_reference
#define CLONES(type, name, params, args) static type name params
#include "op/update/update_body.h"

#define real float
#define NAME(kernel) kernel##_cpu
#define CLONES SIMD_CLONES
#include "op/update/update_body.h"

static int accumulate_plan(struct kplan *k)
{
	return bundle_plan(k, sum_form);
}

static int accumulate_reference(const struct kplan *k, const struct kargs *a)
{
	bundle_run(k, a, accumulate_range_reference);
	return 0;
}

static int accumulate_cpu(const struct kplan *k, const struct kargs *a)
{
	bundle_run(k, a, accumulate_range_cpu);
	return 0;
}

static int ema_update_plan(struct kplan *k)
{
	return bundle_plan(k, ema_form);
}

static int ema_update_reference(const struct kplan *k, const struct kargs *a)
{
	bundle_run(k, a, ema_update_range_reference);
	return 0;
}

static int ema_update_cpu(const struct kplan *k, const struct kargs *a)
{
	bundle_run(k, a, ema_update_range_cpu);
	return 0;
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int accumulate_cuda_plan(struct kplan *k)
{
	return bundle_cuda_plan(k, sum_form);
}

static bool sum_takes_narrow(const struct node *n, int i)
{
	return bundle_is_gradient(n, sum_form, i);
}

static void accumulate_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                            int row, int t)
{
	(void)k;
	table->p[0][row] = a->out[t];
	table->p[1][row] = a->in[2 + 2 * t];
}

static int accumulate_launch(const struct kplan *k, const struct kargs *a,
                             const struct k_table *table, int group, int64_t block)
{
	const struct accumulate_attr *at = k->n->attr;
	(void)group;
	(void)block;
	return cuda_launched(k, k_accumulate(cuda_stream(k->dev), table, a->in[0], cuda_wide(k, 0),
	                                     (int)at->level, at->all));
}

static int accumulate_cuda(const struct kplan *k, const struct kargs *a)
{
	return bundle_cuda_run(k, a, &(struct bundle_launch){ accumulate_fill, accumulate_launch });
}

static int ema_update_cuda_plan(struct kplan *k)
{
	return bundle_cuda_plan(k, ema_form);
}

static void ema_update_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                            int row, int t)
{
	table->p[0][row] = a->out[t];
	table->p[1][row] = a->in[2 * t + 1];
	table->factor[row] = (float)ema_share(k->n->attr, t);
}

static int ema_update_launch(const struct kplan *k, const struct kargs *a,
                             const struct k_table *table, int group, int64_t block)
{
	const struct ema_update_attr *at = k->n->attr;
	(void)a;
	(void)group;
	(void)block;
	return cuda_launched(k, k_ema_update(cuda_stream(k->dev), table, (float)(1 - at->momentum),
	                                 at->finite));
}

static int ema_update_cuda(const struct kplan *k, const struct kargs *a)
{
	return bundle_cuda_run(k, a, &(struct bundle_launch){ ema_update_fill, ema_update_launch });
}
#endif

/* --- samples --- */

static const char *const accumulate_samples[] = {
	"s:index1 3x5@ 3x5", "s:index9 7@ 7", "s:index9 2x3x4x5@ 2x3x4x5 7@ 7 s@ s 113x131@ 113x131",
	"s:index9 s@ s", "3:index2 7@ 7; level: 0", "3:index2 3x5@ 3x5 7@ 7; level: 0, all: true",
	"3:index2 113x131@ 113x131; level: 1", "3:index4 7@ 7 s@ s; level: 1, all: true", NULL
};
static const char *const ema_update_samples[] = {
	"5@ 5", "33@ 33; momentum: 0.3, factor: 1.25", "1@ 1; momentum: 1", "s@ s",
	"33@ 33; finite: true", "7@ 7 2x3@ 2x3 s@ s; momentum: 0.3, factors: [1, 1.25, 2]",
	"16400@ 16400 7@ 7; finite: true, factor: 1.5", NULL
};

/* --- records --- */

static const struct op op_accumulate = {
	.name = "accumulate",
	.doc = "sums over micro-batches: (index, (acc, g)...) -> g if the index is 0, else acc + g; "
	       "as a level of a tree too",
	.flags = OP_UPDATE,
	.min_in = 1, .max_in = INT_MAX, .nout = -1,
	.attr_size = sizeof(struct accumulate_attr), .attrs = accumulate_fields,
	.shape = accumulate_shape, .cost = accumulate_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = accumulate_plan,
		                     .run = accumulate_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = accumulate_choose,
		                  .plan = accumulate_plan, .run = accumulate_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = accumulate_choose, .plan = accumulate_cuda_plan,
		            .run = accumulate_cuda, .takes_narrow = sum_takes_narrow)
	},
	.samples = accumulate_samples,
};

static const struct op op_ema_update = {
	.name = "ema_update",
	.doc = "exponential moving averages: ((running, x)...) -> "
	       "(1 - momentum) running + momentum factor x, of each",
	.flags = OP_UPDATE,
	.min_in = 2, .max_in = INT_MAX, .nout = -1,
	.attr_size = sizeof(struct ema_update_attr), .attrs = ema_update_fields,
	.shape = ema_update_shape, .cost = ema_update_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = ema_update_plan,
		                     .run = ema_update_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = ema_update_choose,
		                  .plan = ema_update_plan, .run = ema_update_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = ema_update_choose,
		            .plan = ema_update_cuda_plan, .run = ema_update_cuda)
	},
	.samples = ema_update_samples,
};

OPSET(update, &op_accumulate, &op_ema_update);
