/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The moving average a of weights w, computed after the update of w: a += c (w - a). t is the
 * number of updates, including this one, and k = t - start the number that is averaged:
 *
 *   bias   c = (1 - d) / (1 - d^k), which makes a the mean of the k weights seen, each weighed d
 *          times the next: Adam's correction (Kingma, Ba 2015), made once and not at each reading
 *   ramp   c = 1 - min(d, (1 + k) / (10 + k)), as in TensorFlow's ExponentialMovingAverage with
 *          num_updates
 *   none   c = 1 - d
 *
 * c is 1 for the first `start` updates. If `apply` is given and 0, nothing is written. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/simd.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/update/bundle_cuda.h"
#include "op/update/update.h"

enum { STEP, APPLY, HEAD };
enum { W, A };
static const char *const member[] = { "weight", "average" };
static const struct bundle_form form = { HEAD, 2, 1, member };

const char *const average_warmup_names[] = { "bias", "ramp", "none", NULL };
enum { BIAS, RAMP, NO_WARMUP };

static const struct field fields[] = {
	FIELD_FLOAT(struct weight_average_attr, decay, "0.999", 0, 1,
	            "share of the average that is kept"),
	FIELD_ENUM(struct weight_average_attr, warmup, "bias", average_warmup_names,
	           "how the first averages are made"),
	FIELD_INT(struct weight_average_attr, start, "0", 0, 1e15, "updates that are not averaged"),
	FIELD_END
};

static int shape(struct graph *g, struct node *n)
{
	int groups = bundle_groups(n, form);
	if (!node_has(n, STEP))
		return ERR(E_SHAPE, &g->cur_loc, "'%s' needs the step", n->op->name);
	TRY(bundle_check(g, n, form));
	enum dtype whole = graph_t(g, n->in[STEP])->dtype;
	if (whole != DTYPE_I64 && whole != DTYPE_I32)
		return ERR(E_SHAPE, &g->cur_loc, "the step of '%s' must be an integer, but is %s",
		           n->op->name, dtype_name(whole));
	TRY(node_want_scalar(g, n, STEP, "step"));
	if (node_has(n, APPLY)) {
		TRY(node_want_float(g, n, APPLY, "apply"));
		TRY(node_want_scalar(g, n, APPLY, "apply"));
	}
	for (int t = 0; t < groups; t++)
		TRY(graph_out_alias(g, n, t, HEAD + 2 * t + A));
	return 0;
}

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	for (int i = 0; i < n->nout; i++)
		c->flops += 3 * (double)shape_count(node_out_shape(g, n, i));
}

static int choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, form, in, out);
}

static int plan(struct kplan *k)
{
	k->ws_bytes = sizeof(double);
	return bundle_plan(k, form);
}

/* --- run --- */

static double share(const struct kplan *k, const struct kargs *a)
{
	const struct weight_average_attr *at = k->n->attr;
	bool narrow = graph_t(k->g, k->n->in[STEP])->dtype == DTYPE_I32;
	double t = narrow ? (double)*(const int32_t *)a->in[STEP] :
	           (double)*(const int64_t *)a->in[STEP];
	double n = t + 1 - (double)at->start;
	if (n <= 0 || (at->warmup == BIAS && n == 1))
		return 1;
	switch (at->warmup) {
	case BIAS: return (1 - at->decay) / (1 - pow(at->decay, n));
	case RAMP: return 1 - fmin(at->decay, (1 + n) / (10 + n));
	default: return 1 - at->decay;
	}
}

static bool applies(const struct kplan *k, const struct kargs *a)
{
	if (!node_has(k->n, APPLY))
		return true;
	if (graph_t(k->g, k->n->in[APPLY])->dtype == DTYPE_F64)
		return *(const double *)a->in[APPLY] != 0;
	return *(const float *)a->in[APPLY] != 0;
}

#define real double
#define NAME(kernel) kernel##_reference
#define CLONES(type, name, params, args) static type name params
#include "op/update/weight_average_body.h"

#define real float
#define NAME(kernel) kernel##_cpu
#define CLONES SIMD_CLONES
#include "op/update/weight_average_body.h"

static int run(const struct kplan *k, const struct kargs *a, bundle_range *range)
{
	if (!applies(k, a))
		return 0;
	*(double *)a->ws = share(k, a);
	bundle_run(k, a, range);
	return 0;
}

static int run_reference(const struct kplan *k, const struct kargs *a)
{
	return run(k, a, range_reference);
}

static int run_cpu(const struct kplan *k, const struct kargs *a)
{
	return run(k, a, range_cpu);
}

/* --- cuda kernel --- */

#ifdef HAVE_CUDA
static int plan_cuda(struct kplan *k)
{
	return bundle_cuda_plan(k, form);
}

static void fill_cuda(const struct kplan *k, const struct kargs *a, struct k_table *table,
                      int row, int t)
{
	(void)k;
	table->p[0][row] = a->out[t];
	table->p[1][row] = a->in[HEAD + 2 * t + W];
}

static int launch_cuda(const struct kplan *k, const struct kargs *a, const struct k_table *table,
                       int group, int64_t block)
{
	static const enum k_warmup warmup[] = { [BIAS] = K_WARMUP_BIAS, [RAMP] = K_WARMUP_RAMP,
		[NO_WARMUP] = K_WARMUP_NONE };
	const struct weight_average_attr *at = k->n->attr;
	const struct k_averaging how = { warmup[at->warmup], at->decay, (double)at->start, a->in[STEP],
		a->in[APPLY], cuda_wide(k, STEP) };
	(void)group;
	(void)block;
	return cuda_launched(k, k_average(cuda_stream(k->dev), table, &how));
}

static int run_cuda(const struct kplan *k, const struct kargs *a)
{
	return bundle_cuda_run(k, a, &(struct bundle_launch){ fill_cuda, launch_cuda });
}
#endif

/* --- record --- */

static const char *const samples[] = {
	"s:index5 - 3x5! 3x5@",
	"s:index1 - 7! 7@; decay: 0.9",
	"s:index9 s:one 4x3x3x3! 4x3x3x3@ s! s@; decay: 0.9999, warmup: ramp",
	"s:index9 - 97x141! 97x141@ 5! 5@; decay: 0.5, warmup: none",
	"s:index5 - 3x5! 3x5@; start: 100",
	"s:index9 s:zero 37! 37@; start: 3",
	NULL
};

static const struct op op_weight_average = {
	.name = "weight_average",
	.doc = "moving average of weights: (step, apply?, (w, a)...) -> a'...",
	.flags = OP_UPDATE,
	.min_in = 1, .max_in = INT_MAX, .nout = -1,
	.attr_size = sizeof(struct weight_average_attr), .attrs = fields,
	.shape = shape, .cost = cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = plan, .run = run_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = choose, .plan = plan, .run = run_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = choose, .plan = plan_cuda, .run = run_cuda)
	},
	.samples = samples,
};

OPSET(weight_average, &op_weight_average);
