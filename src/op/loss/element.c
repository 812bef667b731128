/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weighted losses of a prediction x against a target t of equal shape (N, C, ...), where elements
 * may be left out, and the logistic loss:
 *
 *   loss = sum_i w_i f(x_i, t_i) / W,   W = sum_i w_i
 *
 *   kind       f, with d = x - t                                              w_i
 *   square     d^2                                                            weights[channel of i]
 *   absolute   |d|                                                            the same
 *   huber      d^2 / 2 up to |d| = delta, then delta (|d| - delta / 2)        the same
 *   logistic   p t log(1 + exp(-x)) + (1 - t) log(1 + exp(x)), p = weights[channel]   1
 *
 * over the elements that count: not those where t is NaN (skip_nan) or `skip`. Without `weights`
 * they are 1. The second output is W, so that losses of batches can be combined; if it is 0, loss
 * and gradient are 0. The logistic loss needs 0 <= t <= 1; another value, unless left out, stops
 * the run.
 *
 * CPU: pieces of fixed size are summed in double, and their sums are added in order. */
#include "op/loss/element.h"

#include <math.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/fork.h"
#include "op/loss/pointwise_error.h"

static const char *const kind_names[] = {
	[ELEMENT_SQUARE] = "square", [ELEMENT_ABSOLUTE] = "absolute", [ELEMENT_HUBER] = "huber",
	[ELEMENT_LOGISTIC] = "logistic", NULL
};

static const struct field fields[] = {
	FIELD_ENUM(struct element_attr, kind, "square", kind_names, "the loss of an element"),
	FIELD_FLOAT(struct element_attr, delta, "1", 1e-12, 1e12, "huber: where a line begins"),
	FIELD_BOOL(struct element_attr, skip_nan, "false", "targets of NaN do not count"),
	FIELD(struct element_attr, skip, FT_FLOAT, .dflt = "null", .flags = FIELD_NULLABLE,
	      .doc = "targets of this value do not count"),
	FIELD_END
};

/* --- shape --- */

static int check_inputs(struct graph *g, const struct node *n, int weights)
{
	TRY(pointwise_error_check(g, n));
	if (weights >= n->nin || n->in[weights] == NONE)
		return 0;
	TRY(check_rank(g, n, 0, 2, 5));
	TRY(check_dtype(g, n, weights, DTYPE_F32));
	return check_vector(g, n, weights, node_in_shape(g, n, 0)->d[1]);
}

static int shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 };
	TRY(check_inputs(g, n, 2));
	TRY(graph_out(g, n, 0, DTYPE_F32, &scalar));
	return graph_out(g, n, 1, DTYPE_F32, &scalar);
}

static int grad_shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 }, x = *node_in_shape(g, n, 0);
	TRY(check_inputs(g, n, 4));
	TRY(check_shape(g, n, 2, &scalar));
	TRY(check_shape(g, n, 3, &scalar));
	return graph_out(g, n, 0, DTYPE_F32, &x);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (dy[0] == NONE)
		return 0;
	tid in[] = { n->in[0], n->in[1], n->out[1], dy[0], n->nin > 2 ? n->in[2] : NONE };
	return graph_emit1(g, "element_loss_grad", n->attr, 5, in, &dx[0]);
}

/* --- kernels: what both have in common --- */

static const struct element_attr *config(const struct kplan *k)
{
	return k->n->attr;
}

static int64_t count_of(const struct kplan *k)
{
	return shape_count(node_in_shape(k->g, k->n, 0));
}

/* The sums over one piece, and its bad targets. */
struct element_part {
	double loss, weight;
	struct bad_targets bad;
};

static bool counts(const struct element_attr *c, float t)
{
	return !(c->skip_nan && isnan(t)) && t != (float)c->skip;
}

static void note_bad(struct bad_targets *bad, float t, int64_t at)
{
	if (bad->count++ == 0) {
		bad->at = at;
		bad->value = t;
	}
}

static void bad_add(struct bad_targets *sum, const struct bad_targets *more)
{
	if (sum->count == 0)
		*sum = *more;
	else
		sum->count += more->count;
}

int bad_targets_report(const struct kplan *k, const struct bad_targets *bad)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const struct layout *l = &graph_t(k->g, k->n->in[0])->layout;
	char place[SHAPE_TEXT];
	int64_t at = bad->at;
	if (bad->count == 0)
		return 0;
	if (s->nd > 2 && !layout_is_plain(l, s)) {
		int64_t c = s->d[1], points = shape_count(s) / (s->d[0] * c), p = at / c;
		at = (p / points * c + at % c) * points + p % points;
	}
	return ERR(E_DATA, &k->n->loc, "layer '%s': target %g at (%s) is not from 0 to 1, and nothing "
	           "says that it does not count; such targets in this batch: %lld", check_layer(k->n),
	           (double)bad->value, shape_place(s, at, place), (long long)bad->count);
}

/* --- reference kernels --- */

static double ref_value(const struct element_attr *c, double w, double x, double t)
{
	double d = fabs(x - t), s = log1p(exp(-fabs(x)));
	if (c->kind == ELEMENT_LOGISTIC)
		return w * t * (fmax(-x, 0) + s) + (1 - t) * (fmax(x, 0) + s);
	if (c->kind == ELEMENT_ABSOLUTE)
		return w * d;
	if (c->kind == ELEMENT_SQUARE)
		return w * d * d;
	return w * (d <= c->delta ? 0.5 * d * d : c->delta * (d - 0.5 * c->delta));
}

static double ref_slope(const struct element_attr *c, double w, double x, double t)
{
	double d = x - t;
	if (c->kind == ELEMENT_LOGISTIC)
		return (1 - t) / (1 + exp(-x)) - w * t / (1 + exp(x));
	if (c->kind == ELEMENT_SQUARE)
		return w * 2 * d;
	if (c->kind == ELEMENT_ABSOLUTE)
		return isnan(d) ? d : w * ((d > 0) - (d < 0));
	return w * (d > c->delta ? c->delta : d < -c->delta ? -c->delta : d);
}

/* The weight of element i of a row-major tensor. */
static double ref_weight(const struct kplan *k, const double *weights, int64_t i)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	return weights ? weights[i / (shape_count(s) / (s->d[0] * s->d[1])) % s->d[1]] : 1;
}

static int ref_run(const struct kplan *k, const struct kargs *a)
{
	const struct element_attr *c = config(k);
	const double *x = a->in[0], *t = a->in[1];
	struct element_part sum = { 0 };
	for (int64_t i = 0; i < count_of(k); i++) {
		double w = ref_weight(k, kargs_in(k, a, 2), i);
		if (!counts(c, (float)t[i]))
			continue;
		if (c->kind == ELEMENT_LOGISTIC && !(t[i] >= 0 && t[i] <= 1))
			note_bad(&sum.bad, (float)t[i], i);
		sum.loss += ref_value(c, w, x[i], t[i]);
		sum.weight += c->kind == ELEMENT_LOGISTIC ? 1 : w;
	}
	*(double *)a->out[0] = sum.weight != 0 ? sum.loss / sum.weight : 0;
	*(double *)a->out[1] = sum.weight;
	return bad_targets_report(k, &sum.bad);
}

static int ref_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct element_attr *c = config(k);
	const double *x = a->in[0], *t = a->in[1], weight = *(const double *)a->in[2];
	double *dx = a->out[0], f = weight != 0 ? *(const double *)a->in[3] / weight : 0;
	for (int64_t i = 0; i < count_of(k); i++) {
		double w = ref_weight(k, kargs_in(k, a, 4), i);
		dx[i] = counts(c, (float)t[i]) ? f * ref_slope(c, w, x[i], t[i]) : 0;
	}
	return 0;
}

/* --- cpu kernels: channels are adjacent --- */

#define PIECE 4096 /* elements */

static float value(const struct element_attr *c, float w, float x, float t)
{
	float d = fabsf(x - t), delta = (float)c->delta;
	if (c->kind == ELEMENT_LOGISTIC) {
		float s = log1pf(expf(-fabsf(x)));
		return w * t * ((x < 0 ? -x : 0) + s) + (1 - t) * ((x > 0 ? x : 0) + s);
	}
	if (c->kind == ELEMENT_ABSOLUTE)
		return w * d;
	if (c->kind == ELEMENT_SQUARE)
		return w * d * d;
	return w * (d > delta ? delta * (d - 0.5f * delta) : 0.5f * d * d);
}

static float slope(const struct element_attr *c, float w, float x, float t)
{
	float d = x - t, delta = (float)c->delta;
	if (c->kind == ELEMENT_LOGISTIC)
		return (1 - t) / (1 + expf(-x)) - w * t / (1 + expf(x));
	if (c->kind == ELEMENT_SQUARE)
		return w * 2 * d;
	if (c->kind == ELEMENT_ABSOLUTE)
		return d != d ? d : w * (float)((d > 0) - (d < 0));
	return w * (d > delta ? delta : d < -delta ? -delta : d);
}

/* Adds elements at .. at + n - 1. */
static void add_piece(const struct kplan *k, const struct kargs *a, int64_t at, int64_t n,
                      struct element_part *part)
{
	const struct element_attr *c = config(k);
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const float *x = a->in[0], *t = a->in[1], *weights = kargs_in(k, a, 2);
	int64_t channels = weights ? s->d[1] : 1, channel = at % channels;
	*part = (struct element_part){ 0 };
	for (int64_t i = at; i < at + n; i++) {
		float w = weights ? weights[channel] : 1;
		channel = channel + 1 < channels ? channel + 1 : 0;
		if (!counts(c, t[i]))
			continue;
		if (c->kind == ELEMENT_LOGISTIC && !(t[i] >= 0 && t[i] <= 1))
			note_bad(&part->bad, t[i], i);
		part->loss += (double)value(c, w, x[i], t[i]);
		part->weight += c->kind == ELEMENT_LOGISTIC ? 1 : (double)w;
	}
}

static int64_t pieces(const struct kplan *k)
{
	return (count_of(k) + PIECE - 1) / PIECE;
}

static int64_t piece_size(const struct kplan *k, int64_t piece)
{
	int64_t left = count_of(k) - piece * PIECE;
	return left < PIECE ? left : PIECE;
}

static int cpu_plan(struct kplan *k)
{
	k->ws_bytes = sizeof(struct element_part) * (size_t)pieces(k);
	return 0;
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	struct element_part *part = a->ws, sum = { 0 };
	int64_t n = pieces(k);
#pragma omp parallel for schedule(static) if (count_of(k) >= FORK_FLOATS)
	for (int64_t p = 0; p < n; p++)
		add_piece(k, a, p * PIECE, piece_size(k, p), &part[p]);
	for (int64_t p = 0; p < n; p++) {
		sum.loss += part[p].loss;
		sum.weight += part[p].weight;
		bad_add(&sum.bad, &part[p].bad);
	}
	*(float *)a->out[0] = (float)(sum.weight != 0 ? sum.loss / sum.weight : 0);
	*(float *)a->out[1] = (float)sum.weight;
	return bad_targets_report(k, &sum.bad);
}

static int cpu_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct element_attr *c = config(k);
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const float *x = a->in[0], *t = a->in[1], *weights = kargs_in(k, a, 4);
	double weight = (double)*(const float *)a->in[2];
	float *dx = a->out[0],
	      f = weight != 0 ? (float)((double)*(const float *)a->in[3] / weight) : 0;
	int64_t n = count_of(k), channels = weights ? s->d[1] : 1;
#pragma omp parallel for schedule(static) if (n >= FORK_FLOATS)
	for (int64_t i = 0; i < n; i++) {
		float w = weights ? weights[i % channels] : 1;
		dx[i] = counts(c, t[i]) ? f * slope(c, w, x[i], t[i]) : 0;
	}
	return 0;
}

/* --- samples --- */

/* "away - zero" keeps the differences away from the kinks. */
static const char *const samples[] = {
	"2x3x5x7 2x3x5x7:flags 3:positive; kind: logistic, skip_nan: true",
	"9x5 9x5:flags; kind: logistic, skip_nan: true, skip: 1",
	"2x17x2x3x5 2x17x2x3x5:gaps 17:positive; skip_nan: true",
	"2x3x5x7:away 2x3x5x7:zero 3:positive; kind: absolute",
	"4x1 4x1:zero; kind: huber, delta: 100, skip: 0",
	"2x48x21x23:away 2x48x21x23:zero 48:positive; kind: huber, delta: 0.15",
	"2x48x21x23 2x48x21x23:flags 48:positive; kind: logistic, skip_nan: true",
	"s s:gaps; skip_nan: true",
	NULL
};
static const char *const grad_samples[] = {
	"2x3x5x7 2x3x5x7:flags s:positive s 3:positive; kind: logistic, skip_nan: true",
	"2x17x2x3x5 2x17x2x3x5:gaps s:positive s 17:positive; skip_nan: true",
	"2x3x5x7 2x3x5x7:gaps s:positive s; kind: absolute, skip_nan: true",
	"2x48x21x23 2x48x21x23:gaps s:positive s 48:positive; kind: huber, delta: 0.5, skip_nan: true",
	"9x5 9x5 s:zero s",
	NULL
};

/* --- records --- */

static const struct op op_element_loss = {
	.name = "element_loss",
	.doc = "weighted mean over the elements that count of an error or of a logistic loss",
	.min_in = 2, .max_in = 3, .nout = 2,
	.attr_size = sizeof(struct element_attr), .attrs = fields,
	.nondiff = 6,
	.shape = shape, .grad = grad, .cost = pointwise_error_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = ref_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_run },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = element_cuda_plan, .run = element_cuda,
		            .free = element_cuda_free, .bf16_in = 1)
	},
	.samples = samples,
};

static const struct op op_element_loss_grad = {
	.name = "element_loss_grad",
	.doc = "gradient of element_loss for the prediction, from it, target, weight, dloss, weights",
	.flags = OP_ONCE,
	.min_in = 4, .max_in = 5, .nout = 1,
	.attr_size = sizeof(struct element_attr), .attrs = fields,
	.inplace = 3,
	.shape = grad_shape, .cost = pointwise_error_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = ref_grad_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .run = cpu_grad_run },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = element_cuda_plan, .run = element_grad_cuda,
		            .free = element_cuda_free, .bf16_in = 1, .bf16_out = 1)
	},
	.samples = grad_samples,
};

OPSET(element, &op_element_loss, &op_element_loss_grad);
