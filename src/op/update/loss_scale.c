/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loss scaling (Micikevicius et al., ICLR 2018): gradients are computed of the loss times a scale,
 * so that small ones survive in 16 bits, and divided by it in the update.
 *
 *   loss_scale         gives a step the scale, 1 / scale, and the number of updates so far, which
 *                      is the number of steps minus those left out
 *   max_abs            max |x| over many gradients at once; not finite if any element is not
 *   loss_scale_update  gives 1 if the step is made, else 0, and the state after it:
 *       fixed     the scale stays
 *       dynamic   an overflow divides it by `factor`; `every` clean steps in a row multiply it
 *       logmax    OpenSeq2Seq's LogMax: 2^(log_max - (mean + 3.09 deviation)) of x = log2 max |g|,
 *                 rounded down to a power of two. An overflow counts as x = log_max; the original
 *                 uses x = 2^log_max, which affects ten thousand further steps.
 *
 * Scales that are powers of two do not change the bits of a result that does not overflow. */
#include <limits.h>
#include <math.h>

#include "base/err.h"
#include "base/simd.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/update/bundle_cuda.h"
#include "op/update/loss_scale.h"

/* --- attributes --- */

static const char *const mode_names[] = { "fixed", "dynamic", "logmax", NULL };

static const struct field loss_scale_fields[] = {
	FIELD_FLOAT(struct loss_scale_attr, start, "65536", 1e-30, 1e30, "scale of the first step"),
	FIELD_END
};
static const struct field loss_scale_update_fields[] = {
	FIELD_ENUM(struct loss_scale_update_attr, mode, "dynamic", mode_names, "how the scale changes"),
	FIELD_FLOAT(struct loss_scale_update_attr, start, "65536", 1e-30, 1e30,
	            "scale of the first step"),
	FIELD_FLOAT(struct loss_scale_update_attr, least, "1", 1e-30, 1e30, "smallest scale"),
	FIELD_FLOAT(struct loss_scale_update_attr, most, "16777216", 1e-30, 1e30, "largest scale"),
	FIELD_FLOAT(struct loss_scale_update_attr, factor, "2", 1, 1e6, "of a change"),
	FIELD_FLOAT(struct loss_scale_update_attr, log_max, "16", -100, 100,
	            "log2 of the largest gradient wanted"),
	FIELD_INT(struct loss_scale_update_attr, every, "2000", 1, 1e9, "clean steps before it grows"),
	FIELD_END
};

/* The state, all zero at first. SCALE 0 means the scale of the first step. */
enum { SCALE, CLEAN, SKIPPED, COUNT, MEAN, SLOW, SQUARE };

static const char *const max_member[] = { "input" };
static const struct bundle_form max_form = { 0, 1, 0, max_member };

/* --- shape --- */

static int want_state(struct graph *g, const struct node *n)
{
	const struct shape *s = node_in_shape(g, n, 0);
	TRY(node_want_float(g, n, 0, "state"));
	if (s->nd == 1 && s->d[0] == LOSS_SCALE_STATE)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "the state of '%s' must have %d numbers", n->op->name,
	           LOSS_SCALE_STATE);
}

static int loss_scale_shape(struct graph *g, struct node *n)
{
	const struct shape scalar = { 0 };
	enum dtype step = graph_t(g, n->in[1])->dtype;
	TRY(want_state(g, n));
	if (step != DTYPE_I64 && step != DTYPE_I32)
		return ERR(E_SHAPE, &g->cur_loc, "the step of '%s' must be an integer", n->op->name);
	TRY(node_want_scalar(g, n, 1, "step"));
	TRY(graph_out(g, n, 0, DTYPE_F32, &scalar));
	TRY(graph_out(g, n, 1, DTYPE_F32, &scalar));
	return graph_out(g, n, 2, DTYPE_I64, &scalar);
}

static int max_abs_shape(struct graph *g, struct node *n)
{
	const struct shape scalar = { 0 };
	TRY(bundle_check(g, n, max_form));
	return graph_out(g, n, 0, DTYPE_F32, &scalar);
}

static int loss_scale_update_shape(struct graph *g, struct node *n)
{
	const struct shape scalar = { 0 };
	TRY(want_state(g, n));
	for (int i = 1; i < n->nin; i++) {
		TRY(node_want_float(g, n, i, "maximum"));
		TRY(node_want_scalar(g, n, i, "maximum"));
	}
	TRY(graph_out_alias(g, n, 0, 0));
	return graph_out(g, n, 1, DTYPE_F32, &scalar);
}

static void max_abs_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	for (int i = 0; i < n->nin; i++)
		c->flops += (double)shape_count(node_in_shape(g, n, i));
}

/* --- kernels --- */

static int max_abs_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, max_form, in, out);
}

static int max_abs_plan(struct kplan *k)
{
	TRY(bundle_plan(k, max_form));
	k->ws_bytes = (size_t)bundle_pieces(k) * sizeof(double);
	return 0;
}

/* The largest magnitude, by comparing bit patterns without the sign as integers: floats keep their
 * order, infinity is above all numbers, and NaN above infinity. */
SIMD_CLONES(uint32_t, largest_bits, (const float *x, int64_t n), (x, n))
{
	uint32_t most = 0;

#pragma omp simd reduction(max : most)
	for (int64_t i = 0; i < n; i++) {
		uint32_t u = simd_bits(x[i]) & 0x7FFFFFFFu;
		most = u > most ? u : most;
	}
	return most;
}

static void max_piece(const struct kplan *k, const struct kargs *a, int t, int64_t lo, int64_t hi,
                      int64_t number)
{
	((double *)a->ws)[number] = (double)simd_float(largest_bits((const float *)a->in[t] + lo,
	                                                            hi - lo));
}

/* The larger of both; a value that is not finite wins. */
static double worse(double a, double b)
{
	return isnan(a) || a > b ? a : b;
}

static void max_piece_reference(const struct kplan *k, const struct kargs *a, int t, int64_t lo,
                                int64_t hi, int64_t number)
{
	const double *x = a->in[t];
	double most = 0;
	for (int64_t i = lo; i < hi; i++)
		most = worse(fabs(x[i]), most);
	((double *)a->ws)[number] = most;
}

static double worst_piece(const struct kplan *k, const struct kargs *a)
{
	double most = 0;
	for (int64_t i = 0; i < bundle_pieces(k); i++)
		most = worse(((const double *)a->ws)[i], most);
	return most;
}

static int max_abs_cpu(const struct kplan *k, const struct kargs *a)
{
	bundle_run_pieces(k, a, max_piece);
	*(float *)a->out[0] = (float)worst_piece(k, a);
	return 0;
}

static int max_abs_reference(const struct kplan *k, const struct kargs *a)
{
	bundle_run_pieces(k, a, max_piece_reference);
	*(double *)a->out[0] = worst_piece(k, a);
	return 0;
}

static double held(const struct loss_scale_update_attr *at, double scale)
{
	return fmin(fmax(scale, at->least), at->most);
}

static void step_dynamic(const struct loss_scale_update_attr *at, double *s, bool overflow)
{
	s[CLEAN] = overflow ? 0 : s[CLEAN] + 1;
	if (overflow)
		s[SCALE] = held(at, s[SCALE] / at->factor);
	if (s[CLEAN] < (double)at->every)
		return;
	s[SCALE] = held(at, s[SCALE] * at->factor);
	s[CLEAN] = 0;
}

/* Running means with decay 0.99 and 0.999, corrected for their initial 0; 3.09 is the 0.999
 * quantile of the normal distribution. */
static void step_logmax(const struct loss_scale_update_attr *at, double *s, double most,
                        bool overflow)
{
	double x = overflow ? at->log_max : log2(most / s[SCALE]), fast, slow, variance;
	if (!isfinite(x))               /* all gradients are zero */
		return;
	s[COUNT]++;
	s[MEAN] += 0.01 * (x - s[MEAN]);
	s[SLOW] += 0.001 * (x - s[SLOW]);
	s[SQUARE] += 0.001 * (x * x - s[SQUARE]);
	fast = 1 - pow(0.99, s[COUNT]);
	slow = 1 - pow(0.999, s[COUNT]);
	variance = s[SQUARE] / slow - (s[SLOW] / slow) * (s[SLOW] / slow);
	x = at->log_max - (s[MEAN] / fast + 3.09 * sqrt(fmax(0, variance)));
	/* The addend absorbs rounding errors in a deviation that should be 0. */
	s[SCALE] = held(at, exp2(floor(x + 1.0 / 64)));
}

static double update(const struct loss_scale_update_attr *at, double *s, double most)
{
	bool overflow = !isfinite(most);
	s[SCALE] = s[SCALE] > 0 ? s[SCALE] : at->start;
	s[SKIPPED] += overflow;
	if (at->mode == LOSS_SCALE_DYNAMIC)
		step_dynamic(at, s, overflow);
	else if (at->mode == LOSS_SCALE_LOGMAX)
		step_logmax(at, s, most, overflow);
	return !overflow;
}

#define real double
#define NAME(kernel) kernel##_reference
#include "op/update/loss_scale_body.h"

#define real float
#define NAME(kernel) kernel##_cpu
#include "op/update/loss_scale_body.h"

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int max_abs_cuda_plan(struct kplan *k)
{
	TRY(bundle_cuda_plan(k, max_form));
	k->ws_bytes = (size_t)bundle_cuda_blocks(k) * sizeof(double);
	return 0;
}

static bool max_takes_narrow(const struct node *n, int i)
{
	return bundle_is_gradient(n, max_form, i);
}

static void max_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                     int row, int t)
{
	(void)k;
	table->p[0][row] = a->in[t];
}

static int max_launch(const struct kplan *k, const struct kargs *a, const struct k_table *table,
                      int group, int64_t block)
{
	(void)group;
	return cuda_launched(k, k_bundle_parts(cuda_stream(k->dev), K_MAX_ABS, table, NULL,
	                                       (double *)a->ws + block));
}

static int max_abs_cuda(const struct kplan *k, const struct kargs *a)
{
	TRY(bundle_cuda_run(k, a, &(struct bundle_launch){ max_fill, max_launch }));
	return cuda_launched(k, k_bundle_join(cuda_stream(k->dev), K_MAX_ABS, bundle_cuda_blocks(k),
	                                      a->ws, a->out[0]));
}

static int loss_scale_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct loss_scale_attr *at = k->n->attr;
	return cuda_launched(k, k_loss_scale(cuda_stream(k->dev), a->in[0], a->in[1], cuda_wide(k, 1),
	                                     (float)at->start, a->out[0], a->out[1], a->out[2]));
}

static int update_cuda_plan(struct kplan *k)
{
	k->ws_bytes = (size_t)k->n->nin * sizeof(float);
	return 0;
}

static int update_cuda(const struct kplan *k, const struct kargs *a)
{
	static const enum k_scaling_kind kind[] = { [LOSS_SCALE_FIXED] = K_SCALING_FIXED,
		[LOSS_SCALE_DYNAMIC] = K_SCALING_DYNAMIC, [LOSS_SCALE_LOGMAX] = K_SCALING_LOGMAX };
	const struct loss_scale_update_attr *at = k->n->attr;
	const struct k_loss_scaling how = { kind[at->mode], at->start, at->least, at->most, at->factor,
		at->log_max, (double)at->every };
	const int maxima = k->n->nin - 1;
	TRY(cuda_launched(k, k_gather(cuda_stream(k->dev), maxima, (const void *const *)a->in + 1,
	                              a->ws)));
	return cuda_launched(k, k_loss_scale_update(cuda_stream(k->dev), &how, maxima, a->ws, a->out[0],
	                                            a->out[1]));
}
#endif

/* --- samples --- */

static const char *const loss_scale_samples[] = {
	"8:zero@ s:index9", "8:positive@ s:index9; start: 1024", NULL
};
static const char *const max_abs_samples[] = { "2x3x4x5", "7 s 113x211", "s", NULL };
static const char *const loss_scale_update_samples[] = {
	"8:zero@ s:positive", "8:positive@ s:positive s:positive; mode: logmax, start: 1",
	"8:one@ s:positive; every: 2, factor: 4", "8:one@ s; mode: fixed", NULL
};

/* --- records --- */

static const struct op op_loss_scale = {
	.name = "loss_scale",
	.doc = "(state, step) -> scale of the loss, 1 / scale, updates made",
	.flags = OP_NOGRAD,
	.min_in = 2, .max_in = 2, .nout = 3,
	.attr_size = sizeof(struct loss_scale_attr), .attrs = loss_scale_fields,
	.shape = loss_scale_shape,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = loss_scale_reference),
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .run = loss_scale_cpu },
		CUDA_KERNEL(.layouts = KL_PLAIN, .run = loss_scale_cuda)
	},
	.samples = loss_scale_samples,
};

static const struct op op_max_abs = {
	.name = "max_abs",
	.doc = "largest magnitude of all elements of all inputs; not finite if one is not",
	.flags = OP_NOGRAD,
	.min_in = 1, .max_in = INT_MAX, .nout = 1,
	.shape = max_abs_shape, .cost = max_abs_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = max_abs_plan, .run = max_abs_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = max_abs_choose, .plan = max_abs_plan,
		                  .run = max_abs_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = max_abs_choose, .plan = max_abs_cuda_plan,
		            .run = max_abs_cuda, .takes_narrow = max_takes_narrow)
	},
	.samples = max_abs_samples,
};

static const struct op op_loss_scale_update = {
	.name = "loss_scale_update",
	.doc = "(state, max |g|...) -> state', 1 if the step is to be made, 0 if "
	       "a gradient is not finite",
	.flags = OP_UPDATE,
	.min_in = 2, .max_in = INT_MAX, .nout = 2,
	.attr_size = sizeof(struct loss_scale_update_attr), .attrs = loss_scale_update_fields,
	.shape = loss_scale_update_shape,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = loss_scale_update_reference),
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .run = loss_scale_update_cpu },
		CUDA_KERNEL(.layouts = KL_PLAIN, .plan = update_cuda_plan, .run = update_cuda)
	},
	.samples = loss_scale_update_samples,
};

OPSET(loss_scale, &op_loss_scale, &op_max_abs, &op_loss_scale_update);
