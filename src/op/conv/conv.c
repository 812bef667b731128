/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolution (strictly: cross-correlation) over one to three spatial axes, and its two gradients:
 *
 *   conv              y[n,o,p]  = b[o] + sum_{i,t} x[n,i,q] w[o,i,t]
 *   conv_grad_input   dx[n,i,q] = b[i] + sum over (o,p,t) that reach q of dy[n,o,p] w[o,i,t]
 *   conv_grad_weight  dw[o,i,t] = sum_{n,p} x[n,i,q] dy[n,o,p],   dbias[o] = sum_{n,p} dy[n,o,p]
 *
 * where q = p stride + t dilation - pad_lo is the input position that tap t reads for output p.
 * conv_grad_input is also the transposed convolution, for which it has a bias; conv_grad_input_add
 * adds its result to another gradient. <y, conv(x, w)> is trilinear, so the gradients of each op
 * consist of the other two ops, and can be differentiated again. */
#include "op/conv/conv.h"

#include <string.h>

#include "base/err.h"
#include "base/round.h"
#include "op/conv/conv_cpu.h"
#include "op/conv/conv_cuda.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_reference.h"
#include "op/lib/check.h"
#include "op/lib/emit.h"
#include "op/lib/reads.h"
#include "op/lib/walk.h"

/* --- attributes --- */

static const struct field conv_fields[] = { CONV_FIELDS, FIELD_END };

static const struct field grad_input_fields[] = {
	CONV_FIELDS,
	FIELD_INTS(struct conv_attr, input_size, "", 1, INT32_MAX, "spatial size of the result"),
	FIELD_END
};

static const struct field grad_weight_fields[] = {
	CONV_FIELDS,
	FIELD_INTS(struct conv_attr, kernel, "", 1, INT32_MAX, "spatial size of the weights"),
	FIELD_BOOL(struct conv_attr, bias, "false", "make the gradient of the bias too"),
	FIELD_END
};

/* --- shape --- */

int conv_shape_rule(struct graph *g, struct node *n, enum conv_kind kind)
{
	const enum dtype t = graph_t(g, n->in[0])->dtype;
	const struct conv_attr *at = n->attr;
	struct conv_geom c;
	struct shape s;
	TRY(check_one_type(g, n));
	TRY(conv_geom_read(g, n, kind, &c));
	if (kind == CONV_FORWARD)
		s = conv_y_shape(&c);
	else
		s = kind == CONV_BACKWARD_DATA ? conv_x_shape(&c) : conv_w_shape(&c);
	TRY(graph_out(g, n, 0, t, &s));
	if (kind != CONV_BACKWARD_WEIGHTS || !at->bias)
		return 0;
	s = shape_of(1, &c.co);
	return graph_out(g, n, 1, t, &s);
}

static int conv_shape(struct graph *g, struct node *n)
{
	return conv_shape_rule(g, n, CONV_FORWARD);
}

static int grad_input_shape(struct graph *g, struct node *n)
{
	return conv_shape_rule(g, n, CONV_BACKWARD_DATA);
}

/* in[3]: the addend. */
static int grad_input_add_shape(struct graph *g, struct node *n)
{
	char sum[SHAPE_TEXT], dx[SHAPE_TEXT];
	TRY(conv_shape_rule(g, n, CONV_BACKWARD_DATA));
	if (n->nin < 4 || n->in[3] == NONE)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' has nothing to add to", n->op->name);
	if (shape_equal(node_in_shape(g, n, 3), node_out_shape(g, n, 0)))
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "'%s' cannot add %s to %s", n->op->name,
	           shape_text(node_in_shape(g, n, 3), sum), shape_text(node_out_shape(g, n, 0), dx));
}

static int grad_weight_shape(struct graph *g, struct node *n)
{
	return conv_shape_rule(g, n, CONV_BACKWARD_WEIGHTS);
}

/* --- input ranges of an output --- */

static bool conv_reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                       int64_t *hi)
{
	const struct conv_geom c = conv_geom_get(g, n, CONV_FORWARD);
	const int a = axis - 2;
	return i == 0 && reads_window(c.stride[a], c.pad_lo[a], c.dilation[a] * (c.kernel[a] - 1), lo,
	                              hi);
}

/* Output o depends on inputs from (o + pad_lo - reach) / stride to (o + pad_lo) / stride. An output
 * between them may depend on no input and equal the bias. But inputs a to b can only make outputs
 * from a stride to b stride + reach - pad_lo - pad_hi. So the interval is wide enough for the op to
 * make each output. */
static bool grad_input_reads(const struct graph *g, const struct node *n, int i, int axis,
                             int64_t *lo, int64_t *hi)
{
	const struct conv_geom c = conv_geom_get(g, n, CONV_BACKWARD_DATA);
	const int a = axis - 2;
	const int64_t stride = c.stride[a], between = stride - 1;
	const int64_t first = c.pad_lo[a] - c.dilation[a] * (c.kernel[a] - 1);
	const int64_t last = first + c.pad_hi[a] + between;
	if (i == 3)
		return true;
	if (i > 0)
		return false;
	*lo = -floor_div(-(*lo + (first < -between ? first : -between)), stride);
	*hi = floor_div(*hi + (last > c.pad_lo[a] ? last : c.pad_lo[a]), stride);
	return true;
}

/* Input p of the part contributes to outputs from p stride - pad_lo on. */
static bool grad_input_part(struct graph *g, struct node *n, const struct op_part *p)
{
	struct conv_attr *at = n->attr;
	const struct shape *w = node_in_shape(g, n, 1);
	const int k = p->axis - 2, axes = w->nd - 2;
	const int64_t stride = reads_entry(&at->stride, k, 1);
	const int64_t reach = reads_entry(&at->dilation, k, 1) * (w->d[p->axis] - 1);
	const int64_t size = p->out_hi - p->out_lo;
	const int64_t lo = reads_entry(&at->pad_lo, k, 0) + p->out_lo - p->in_lo * stride;
	const int64_t least = (p->in_hi - p->in_lo - 1) * stride + reach + 1 - size - lo;
	const int64_t hi = least > 0 ? least : 0;
	reads_set(g, &at->input_size, axes, k, 1, size);
	reads_set(g, &at->pad_lo, axes, k, 0, lo);
	reads_set(g, &at->pad_hi, axes, k, 0, hi);
	return lo >= 0 && hi - least < stride;
}

/* --- grad --- */

static struct ints spatial(struct graph *g, const struct shape *s)
{
	return ints_make(g, s->nd - 2, s->d + 2);
}

/* The sum over all axes but the channels: the gradient of a bias. */
static int emit_channel_sum(struct graph *g, tid t, tid *out)
{
	const unsigned all = (1u << graph_t(g, t)->shape.nd) - 1;
	return emit_sum(g, t, all & ~2u, false, out);
}

static int emit_conv(struct graph *g, const struct conv_attr *at, tid x, tid w, tid bias, tid *y)
{
	const tid in[] = { x, w, bias };
	struct conv_attr a = *at;
	a.input_size = a.kernel = (struct ints){ 0 };
	a.bias = false;
	return graph_emit1(g, "conv", &a, bias == NONE ? 2 : 3, in, y);
}

static int emit_grad_input(struct graph *g, const struct conv_attr *at, tid dy, tid w, tid x,
			   tid *dx)
{
	struct conv_attr a = *at;
	a.input_size = spatial(g, &graph_t(g, x)->shape);
	a.kernel = (struct ints){ 0 };
	a.bias = false;
	return graph_emit1(g, "conv_grad_input", &a, 2, (tid[]){ dy, w }, dx);
}

/* db: NULL if it is not needed. */
static int emit_grad_weight(struct graph *g, const struct conv_attr *at, tid x, tid dy, tid w,
			    tid *dw, tid *db)
{
	struct conv_attr a = *at;
	tid out[2] = { NONE, NONE };
	a.input_size = (struct ints){ 0 };
	a.kernel = spatial(g, &graph_t(g, w)->shape);
	a.bias = db != NULL;
	TRY(graph_emit(g, "conv_grad_weight", &a, 2, (tid[]){ x, dy }, db ? 2 : 1, out));
	*dw = out[0];
	if (db)
		*db = out[1];
	return 0;
}

/* The gradients to the weights and the bias are emitted first: then the memory of x can be reused
 * before the gradient to x exists, and ranks can start to sum them. */
static int conv_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const tid x = n->in[0], w = n->in[1];
	const bool bias = grad_wanted(g, n, 2);
	for (int i = 0; i < n->nin; i++)
		dx[i] = NONE;
	if (grad_wanted(g, n, 1))
		TRY(emit_grad_weight(g, n->attr, x, dy[0], w, &dx[1], bias ? &dx[2] : NULL));
	else if (bias)
		TRY(emit_channel_sum(g, dy[0], &dx[2]));
	return grad_wanted(g, n, 0) ? emit_grad_input(g, n->attr, dy[0], w, x, &dx[0]) : 0;
}

/* For z = conv_grad_input(v, w, b), given dz. */
static int grad_input_grad(struct graph *g, const struct node *n, const tid *dz, tid *dx)
{
	const tid v = n->in[0], w = n->in[1];
	for (int i = 0; i < n->nin; i++)
		dx[i] = NONE;
	if (grad_wanted(g, n, 1))
		TRY(emit_grad_weight(g, n->attr, dz[0], v, w, &dx[1], NULL));
	if (grad_wanted(g, n, 2))
		TRY(emit_channel_sum(g, dz[0], &dx[2]));
	return grad_wanted(g, n, 0) ? emit_conv(g, n->attr, dz[0], w, NONE, &dx[0]) : 0;
}

static int grad_input_add_grad(struct graph *g, const struct node *n, const tid *dz, tid *dx)
{
	TRY(grad_input_grad(g, n, dz, dx));
	dx[3] = dz[0];
	return 0;
}

/* For (dw, dbias) = conv_grad_weight(x, v). d[0] and d[1] are the gradients to these outputs;
 * either may be NONE. */
static int grad_weight_grad(struct graph *g, const struct node *n, const tid *d, tid *dx)
{
	const tid x = n->in[0], v = n->in[1];
	const tid dbias = n->nout > 1 ? d[1] : NONE;
	dx[0] = dx[1] = NONE;
	if (grad_wanted(g, n, 0) && d[0] != NONE)
		TRY(emit_grad_input(g, n->attr, v, d[0], x, &dx[0]));
	if (!grad_wanted(g, n, 1))
		return 0;
	if (d[0] != NONE)
		return emit_conv(g, n->attr, x, d[0], dbias, &dx[1]);
	if (dbias == NONE)
		return 0;
	const struct shape vs = graph_t(g, v)->shape;
	struct shape per_channel = vs;
	tid t;
	for (int i = 0; i < vs.nd; i++)
		per_channel.d[i] = i == 1 ? vs.d[1] : 1;
	TRY(emit_reshape(g, dbias, &per_channel, &t));
	return emit_broadcast(g, t, &vs, &dx[1]);
}

/* --- cost --- */

/* Every tap is counted, including those in padding, as publications do. */
void conv_count_flops(const struct graph *g, const struct node *n, enum conv_kind kind,
                      struct cost *c)
{
	const struct conv_geom m = conv_geom_get(g, n, kind);
	double flops = 2.0 * (double)m.n * (double)m.co * (double)(m.ci / m.groups);
	for (int i = 0; i < m.ns; i++)
		flops *= (double)m.kernel[i] * (double)m.out[i];
	c->flops += flops;
}

static void conv_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	conv_count_flops(g, n, CONV_FORWARD, c);
}

static void grad_input_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	conv_count_flops(g, n, CONV_BACKWARD_DATA, c);
}

static void grad_weight_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	conv_count_flops(g, n, CONV_BACKWARD_WEIGHTS, c);
}

/* --- reference kernels --- */

static int64_t volume(const int64_t *size)
{
	return size[0] * size[1] * size[2];
}

/* The input position that tap t reads for output p, as a row-major index in one plane; -1:
 * padding. */
static int64_t reach(const struct conv_geom *c, int64_t p, int64_t t)
{
	int64_t index = 0, step = 1;
	for (int i = CONV_NS - 1; i >= 0; i--) {
		int64_t at = p % c->out[i] * c->stride[i] + t % c->kernel[i] * c->dilation[i]
			     - c->pad_lo[i];
		if (at < 0 || at >= c->in[i])
			return -1;
		index += at * step;
		step *= c->in[i];
		p /= c->out[i];
		t /= c->kernel[i];
	}
	return index;
}

/* Adds the products for one tap at one position, for all pairs of channels of all samples; x, w and
 * y point into their first planes. `kind` selects which of the three receives the sums. */
static void correlate_tap(const struct conv_geom *c, enum conv_kind kind, double *x, double *w,
                          double *y)
{
	const int64_t ig = c->ci / c->groups, og = c->co / c->groups;
	const int64_t nx = volume(c->in), nw = volume(c->kernel), ny = volume(c->out);
	for (int64_t s = 0; s < c->n; s++)
		for (int64_t o = 0; o < c->co; o++) {
			double *xs = x + (s * c->ci + o / og * ig) * nx, *ws = w + o * ig * nw,
			       *yo = y + (s * c->co + o) * ny;
			for (int64_t i = 0; i < ig; i++)
				switch (kind) {
				case CONV_FORWARD: *yo += xs[i * nx] * ws[i * nw]; break;
				case CONV_BACKWARD_DATA: xs[i * nx] += *yo * ws[i * nw]; break;
				case CONV_BACKWARD_WEIGHTS: ws[i * nw] += xs[i * nx] * *yo; break;
				}
		}
}

/* Loops over channels are inside, since `reach` costs as much as tens of products. */
static void correlate(const struct conv_geom *c, enum conv_kind kind, double *x, double *w,
                      double *y)
{
	const int64_t np = volume(c->out), nt = volume(c->kernel);
	for (int64_t p = 0; p < np; p++)
		for (int64_t t = 0; t < nt; t++) {
			const int64_t q = reach(c, p, t);
			if (q >= 0)
				correlate_tap(c, kind, x + q, w + t, y + p);
		}
}

/* Initializes every plane of an (n, channels, spatial) result with its channel's bias, or zero. */
static void start_planes(double *y, int64_t n, int64_t channels, int64_t size, const double *bias)
{
	for (int64_t s = 0; s < n; s++)
		for (int64_t c = 0; c < channels; c++)
			for (int64_t p = 0; p < size; p++)
				*y++ = bias ? bias[c] : 0;
}

static double *bias_in(const struct kplan *k, const struct kargs *a)
{
	return k->n->nin > 2 ? a->in[2] : NULL;      /* NULL also if the input is absent */
}

int conv_reference(const struct kplan *k, const struct kargs *a)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, CONV_FORWARD);
	start_planes(a->out[0], c.n, c.co, volume(c.out), bias_in(k, a));
	correlate(&c, CONV_FORWARD, a->in[0], a->in[1], a->out[0]);
	return 0;
}

int conv_grad_input_reference(const struct kplan *k, const struct kargs *a)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, CONV_BACKWARD_DATA);
	start_planes(a->out[0], c.n, c.ci, volume(c.in), bias_in(k, a));
	correlate(&c, CONV_BACKWARD_DATA, a->out[0], a->in[1], a->in[0]);
	return 0;
}

static int grad_input_add_reference(const struct kplan *k, const struct kargs *a)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, CONV_BACKWARD_DATA);
	const struct shape s = conv_x_shape(&c);
	const int64_t n = shape_count(&s), size = volume(c.in);
	const double *sum = a->in[3], *bias = bias_in(k, a);
	double *dx = a->out[0];
	for (int64_t i = 0; i < n; i++)
		dx[i] = sum[i] + (bias ? bias[i / size % c.ci] : 0);
	correlate(&c, CONV_BACKWARD_DATA, dx, a->in[1], a->in[0]);
	return 0;
}

int conv_grad_weight_reference(const struct kplan *k, const struct kargs *a)
{
	const struct conv_geom c = conv_geom_get(k->g, k->n, CONV_BACKWARD_WEIGHTS);
	const struct shape w = conv_w_shape(&c);
	const int64_t size = volume(c.out);
	const double *dy = a->in[1];
	double *db = k->n->nout > 1 ? a->out[1] : NULL;
	memset(a->out[0], 0, sizeof(double) * (size_t)shape_count(&w));
	correlate(&c, CONV_BACKWARD_WEIGHTS, a->in[0], a->out[0], a->in[1]);
	if (!db)
		return 0;
	memset(db, 0, sizeof *db * (size_t)c.co);
	for (int64_t i = 0; i < c.n * c.co * size; i++)
		db[i / size % c.co] += dy[i];
	return 0;
}

/* --- records --- */

static const struct op conv = {
	.name = "conv",
	.doc = "convolution of x (N, I, ...) with weights (O, I/groups, ...) and perhaps a bias (O)",
	.flags = OP_COUNTED,
	.min_in = 2, .max_in = 3, .nout = 1,
	.attr_size = sizeof(struct conv_attr), .attrs = conv_fields,
	.shape = conv_shape, .grad = conv_grad, .expect = conv_expect, .reads = conv_reads,
	.part = reads_window_part,
	.cost = conv_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = conv_reference },
		[BACKEND_CPU] = CONV_CPU(conv, 1, conv_foresee),
		CONV_CUDA(conv, 1, 1)
	},
	.samples = conv_samples,
};

static const struct op conv_grad_input = {
	.name = "conv_grad_input",
	.doc = "gradient of conv to its input; with a bias (I): the transposed convolution",
	.flags = OP_COUNTED,
	.min_in = 2, .max_in = 3, .nout = 1,
	.attr_size = sizeof(struct conv_attr), .attrs = grad_input_fields,
	.shape = grad_input_shape, .grad = grad_input_grad, .expect = conv_grad_input_expect,
	.reads = grad_input_reads, .part = grad_input_part, .cost = grad_input_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = conv_grad_input_reference },
		[BACKEND_CPU] = CONV_CPU(conv_grad_input, 1, NULL),
		CONV_CUDA(conv_grad_input, 1, 1)
	},
	.samples = conv_grad_input_samples,
};

static const struct op conv_grad_input_add = {
	.name = "conv_grad_input_add",
	.doc = "conv_grad_input, which may have no bias, plus the fourth input: a sum of "
	       "gradients, made in place",
	.flags = OP_COUNTED,
	.min_in = 2, .max_in = 4, .nout = 1, .inplace = 1u << 3,
	.attr_size = sizeof(struct conv_attr), .attrs = grad_input_fields,
	.shape = grad_input_add_shape, .grad = grad_input_add_grad,
	.expect = conv_grad_input_expect, .reads = grad_input_reads, .cost = grad_input_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = grad_input_add_reference },
		[BACKEND_CPU] = CONV_CPU_TAKING(conv_grad_input, 1, NULL, 3 | 1u << 3),
	},
	.samples = conv_grad_input_add_samples,
};

static const struct op conv_grad_weight = {
	.name = "conv_grad_weight",
	.doc = "gradients of conv to its weights and, if asked for, its bias",
	.flags = OP_COUNTED | OP_ASIDE,
	.min_in = 2, .max_in = 2, .nout = -1,
	.diff_out = 2,            /* the bias's gradient */
	.attr_size = sizeof(struct conv_attr), .attrs = grad_weight_fields,
	.shape = grad_weight_shape, .grad = grad_weight_grad, .expect = conv_grad_weight_expect,
	.cost = grad_weight_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = conv_grad_weight_reference },
		[BACKEND_CPU] = CONV_CPU(conv_grad_weight, 0, NULL),
		CONV_CUDA(conv_grad_weight, 3, 0, .makes_narrow = conv_makes_narrow)
	},
	.samples = conv_grad_weight_samples,
};

OPSET(conv, &conv, &conv_grad_input, &conv_grad_input_add, &conv_grad_weight);
