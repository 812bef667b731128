/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides whether a step is made or left out; a step that is left out does not change weights or
 * moments. Reasons to leave it out:
 *
 *   not finite   the loss, or the largest magnitude of a gradient
 *   an outlier   the z-score of the loss or of the gradient's norm is above a limit: its distance
 *                from the mean of the last `window` accepted steps, in their standard deviations
 *                (of the population). Nothing is an outlier before there are as many, nor if all
 *                are equal, nor below the mean.
 *
 * The input `result` is the step's loss, or the sum of the terms of all micro-batches and ranks
 * (op/loss/mean.h); the norm is scale sqrt(s1 + ... + sn) of the sums of squares. A step that
 * another node leaves out (apply is 0) changes nothing here. All ranks compute from the same
 * numbers, in double and in the same order, so they make the same decision. */
#include "op/update/step_guard.h"

#include <limits.h>
#include <math.h>

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/loss/mean.h"
#include "op/update/bundle_cuda.h"

/* --- attributes --- */

static const struct field step_guard_fields[] = {
	FIELD_BOOL(struct step_guard_attr, finite, "false",
	           "leave out steps with values that are not finite"),
	FIELD_BOOL(struct step_guard_attr, sum, "false", "the loss of the terms is a sum"),
	FIELD(struct step_guard_attr, loss, FT_FLOAT, .dflt = "null", .min = 0, .max = 1e6,
	      .flags = FIELD_NULLABLE, .doc = "largest z-score of the loss"),
	FIELD(struct step_guard_attr, gradient, FT_FLOAT, .dflt = "null", .min = 0, .max = 1e6,
	      .flags = FIELD_NULLABLE, .doc = "largest z-score of the gradient's norm"),
	FIELD_INT(struct step_guard_attr, maxima, "0", 0, 1e9,
	          "inputs that are maxima; sums of squares follow"),
	FIELD_END
};

enum { IN_STATE, IN_STEP, IN_RESULT, IN_APPLY, IN_SCALE, IN_HEAD };

/* The number of maxima and sums. */
static int values(const struct node *n)
{
	return n->nin > IN_HEAD ? n->nin - IN_HEAD : 0;
}

/* --- shape --- */

static int want_state(struct graph *g, const struct node *n)
{
	const struct shape *s = node_in_shape(g, n, IN_STATE);
	TRY(node_want_float(g, n, IN_STATE, "state"));
	if (s->nd == 1 && s->d[0] >= GUARD_TOLD && s->d[0] % 2 == GUARD_TOLD % 2)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "the state of '%s' must have %d numbers and two windows",
	           n->op->name, GUARD_TOLD);
}

static int want_result(struct graph *g, const struct node *n)
{
	const struct shape *s = node_in_shape(g, n, IN_RESULT);
	TRY(node_want_float(g, n, IN_RESULT, "result"));
	if (s->nd == 0 || (s->nd == 1 && s->d[0] == MEAN_TERMS))
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "the result of '%s' must be a loss or %d terms", n->op->name,
	           MEAN_TERMS);
}

static int step_guard_shape(struct graph *g, struct node *n)
{
	const struct step_guard_attr *at = n->attr;
	const struct shape scalar = { 0 };
	const enum dtype step = graph_t(g, n->in[IN_STEP])->dtype;
	TRY(want_state(g, n));
	TRY(want_result(g, n));
	if (step != DTYPE_I64 && step != DTYPE_I32)
		return ERR(E_SHAPE, &g->cur_loc, "the step of '%s' must be an integer", n->op->name);
	TRY(node_want_scalar(g, n, IN_STEP, "step"));
	for (int i = IN_APPLY; i < n->nin; i++) {
		if (i < IN_HEAD && !node_has(n, i))
			continue;
		TRY(node_want_float(g, n, i, "input"));
		TRY(node_want_scalar(g, n, i, "input"));
	}
	if (at->maxima > values(n))
		return ERR(E_SHAPE, &g->cur_loc, "'%s' has fewer inputs than maxima", n->op->name);
	TRY(graph_out_alias(g, n, 0, IN_STATE));
	TRY(graph_out(g, n, 1, DTYPE_F32, &scalar));
	return graph_out(g, n, 2, DTYPE_I64, &scalar);
}

/* --- kernels: a few numbers, in double and in float --- */

struct numbers {
	void *p;
	bool wide;
};

static double get(struct numbers x, int64_t i)
{
	return x.wide ? ((const double *)x.p)[i] : (double)((const float *)x.p)[i];
}

static void put(struct numbers x, int64_t i, double v)
{
	if (x.wide)
		((double *)x.p)[i] = v;
	else
		((float *)x.p)[i] = (float)v;
}

static double scalar(const struct kplan *k, const struct kargs *a, int i, bool wide, double none)
{
	return node_has(k->n, i) ? get((struct numbers){ a->in[i], wide }, 0) : none;
}

/* An integer from the state, clamped to its bounds, since the state may come from a damaged
 * file. */
static int64_t bounded(double v, int64_t most)
{
	return v >= 1 ? (v < (double)most ? (int64_t)v : most) : 0;
}

/* The z-score of x among the n values from `first` on. */
static double z_score(struct numbers s, int64_t first, int64_t n, double x)
{
	double mean = 0, square = 0;
	for (int64_t i = 0; i < n; i++)
		mean += get(s, first + i);
	mean /= (double)n;
	for (int64_t i = 0; i < n; i++)
		square += (get(s, first + i) - mean) * (get(s, first + i) - mean);
	const double deviation = sqrt(square / (double)n);
	return deviation > 0 ? (x - mean) / deviation : 0;
}

struct guarded {
	double loss, norm, largest;
	bool counts;                 /* the step has a loss: at least one element counted */
};

static struct guarded measure(const struct kplan *k, const struct kargs *a, bool wide)
{
	const struct step_guard_attr *at = k->n->attr;
	const struct numbers result = { a->in[IN_RESULT], wide };
	struct guarded m = { get(result, 0), 0, 0, true };
	double squares = 0;
	if (node_in_shape(k->g, k->n, IN_RESULT)->nd > 0 && !at->sum) {
		const double weight = get(result, MEAN_WEIGHT);
		m.counts = weight != 0;
		m.loss = m.counts ? m.loss / weight : 0;
	}
	for (int i = IN_HEAD; i < k->n->nin; i++) {
		const double v = get((struct numbers){ a->in[i], wide }, 0);
		if (i - IN_HEAD >= at->maxima)
			squares += v;
		else if (isnan(v) || v > m.largest)
			m.largest = v;
	}
	m.norm = scalar(k, a, IN_SCALE, wide, 1) * sqrt(squares);
	return m;
}

static void remember(struct numbers s, int64_t window, const struct guarded *m)
{
	if (window == 0 || !m->counts || !isfinite(m->loss) || !isfinite(m->norm))
		return;
	const int64_t at = bounded(get(s, GUARD_NEXT), window - 1);
	const int64_t filled = bounded(get(s, GUARD_FILLED), window);
	put(s, GUARD_TOLD + at, m->loss);
	put(s, GUARD_TOLD + window + at, m->norm);
	put(s, GUARD_NEXT, (double)((at + 1) % window));
	put(s, GUARD_FILLED, (double)(filled < window ? filled + 1 : window));
}

/* Returns whether the step is made. */
static bool judge(const struct step_guard_attr *at, struct numbers s, int64_t window,
                  const struct guarded *m)
{
	const bool known = window > 0 && m->counts && bounded(get(s, GUARD_FILLED), window) == window;
	const double loss = known ? z_score(s, GUARD_TOLD, window, m->loss) : 0;
	const double norm = known ? z_score(s, GUARD_TOLD + window, window, m->norm) : 0;
	int why = -1;
	put(s, GUARD_LOSS_Z, loss);
	put(s, GUARD_NORM_Z, norm);
	put(s, GUARD_NORM, m->norm);
	if (loss > at->loss || norm > at->gradient)
		why = GUARD_OUTLIERS;
	if (at->finite && (!isfinite(m->loss) || !isfinite(m->largest)))
		why = GUARD_NONFINITE;
	if (why >= 0)
		put(s, why, get(s, why) + 1);
	else
		remember(s, window, m);
	put(s, GUARD_IN_A_ROW, why >= 0 ? get(s, GUARD_IN_A_ROW) + 1 : 0);
	return why < 0;
}

static int guard(const struct kplan *k, const struct kargs *a, bool wide)
{
	const struct numbers s = { a->out[0], wide };
	const int64_t n = shape_count(node_in_shape(k->g, k->n, IN_STATE));
	const bool narrow = graph_t(k->g, k->n->in[IN_STEP])->dtype == DTYPE_I32;
	const int64_t step = narrow ? *(const int32_t *)a->in[IN_STEP] :
	                     *(const int64_t *)a->in[IN_STEP];
	const struct guarded m = measure(k, a, wide);
	*(int64_t *)a->out[2] = step - bounded(get(s, GUARD_NONFINITE), INT32_MAX) -
	                        bounded(get(s, GUARD_OUTLIERS), INT32_MAX);
	const bool apply = scalar(k, a, IN_APPLY, wide, 1) != 0 &&
	                   judge(k->n->attr, s, (n - GUARD_TOLD) / 2, &m);
	put((struct numbers){ a->out[1], wide }, 0, apply);
	return 0;
}

static int guard_reference(const struct kplan *k, const struct kargs *a)
{
	return guard(k, a, true);
}

static int guard_cpu(const struct kplan *k, const struct kargs *a)
{
	return guard(k, a, false);
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int guard_cuda_plan(struct kplan *k)
{
	k->ws_bytes = (size_t)k->n->nin * sizeof(float);
	return 0;
}

static int guard_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct step_guard_attr *at = k->n->attr;
	const int64_t n = shape_count(node_in_shape(k->g, k->n, IN_STATE));
	const struct k_guard how = { at->finite, at->sum,
		node_in_shape(k->g, k->n, IN_RESULT)->nd > 0, at->loss, at->gradient, (int)at->maxima,
		values(k->n), (int)((n - GUARD_TOLD) / 2) };
	void *stream = cuda_stream(k->dev);
	if (how.n > 0)
		TRY(cuda_launched(k, k_gather(stream, how.n, (const void *const *)a->in + IN_HEAD, a->ws)));
	return cuda_launched(k, k_step_guard(stream, &how, a->ws, a->in[IN_STEP],
	                                     cuda_wide(k, IN_STEP), a->in[IN_RESULT],
	                                     kargs_in(k, a, IN_APPLY), kargs_in(k, a, IN_SCALE),
	                                     a->out[0], a->out[1], a->out[2]));
}
#endif

/* --- samples --- */

static const char *const step_guard_samples[] = {
	"8:zero@ s:index9 s; finite: true",
	"8:zero@ s:index9 s - - s:positive s:positive; finite: true, maxima: 2",
	"14:positive@ s:index9 4:positive s:one s:positive s:positive s:positive; loss: 3, gradient: 2",
	"24:zero@ s:index9 4:positive s:zero s s:positive; sum: true, gradient: 1", NULL
};

/* --- records --- */

static const struct op op_step_guard = {
	.name = "step_guard",
	.doc = "(state, step, result, apply?, scale?, max |g|..., sum g^2...) -> state', 1 if the step "
	       "is to be made, 0 if it is an outlier or not finite, updates made",
	.flags = OP_UPDATE,
	.min_in = IN_APPLY, .max_in = INT_MAX, .nout = 3,
	.attr_size = sizeof(struct step_guard_attr), .attrs = step_guard_fields,
	.shape = step_guard_shape,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = guard_reference),
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .run = guard_cpu },
		CUDA_KERNEL(.layouts = KL_PLAIN, .plan = guard_cuda_plan, .run = guard_cuda)
	},
	.samples = step_guard_samples,
};

OPSET(step_guard, &op_step_guard);
