/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolution (cross-correlation, as everywhere in this field) over one to three spatial axes, and
 * its two gradients:
 *
 *   conv              y[n,o,p]  = b[o] + sum_{i,t} x[n,i,q] w[o,i,t]
 *   conv_grad_input   dx[n,i,q] = b[i] + sum over (o,p,t) that reach q of dy[n,o,p] w[o,i,t]
 *   conv_grad_weight  dw[o,i,t] = sum_{n,p} x[n,i,q] dy[n,o,p],   dbias[o] = sum_{n,p} dy[n,o,p]
 *
 * where q = p stride + t dilation - pad_lo is what tap t of the window at p reads of the input.
 * The middle one is also the transposed convolution (its bias is for that), and conv_grad_input_add
 * adds it to what the gradient is so far. The form <y, w, x> is
 * trilinear, so the gradient of each is made of the other two and can be differentiated again. */
#include "op/conv/conv.h"

#include <string.h>

#include "base/err.h"
#include "op/conv/conv_cpu.h"
#include "op/conv/conv_cuda.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_reference.h"
#include "op/lib/check.h"
#include "op/lib/emit.h"
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

/* in[3]: what is added. */
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

/* db: NULL if not wanted. */
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

/* The gradients to the weights and the bias come first: behind them x may be gone, before there is
 * a gradient to x, and ranks may begin to sum them. */
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

/* z = conv_grad_input(v, w, b), and dz given. */
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

/* (dw, dbias) = conv_grad_weight(x, v); d[0] and d[1] are the gradients of these, either may be
 * NONE. */
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

/* Every tap is counted, taps over padding too, as publications do. */
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

/* The place that tap t of the window at output p reads: the
 * row-major index in one input plane, or -1 outside of it. */
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

/* Correlates what one tap of the window reads at one place, where x, w and y point in their first
 * planes, for all pairs of channels of all samples; `kind` says which of the three receives the
 * sums. */
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

/* Channels are the inner loops, since `reach` costs as much as tens of products. */
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

/* Every plane of a (n, channels, spatial) result starts at its channel's bias, or zero. */
static void start_planes(double *y, int64_t n, int64_t channels, int64_t size, const double *bias)
{
	for (int64_t s = 0; s < n; s++)
		for (int64_t c = 0; c < channels; c++)
			for (int64_t p = 0; p < size; p++)
				*y++ = bias ? bias[c] : 0;
}

static double *bias_in(const struct kplan *k, const struct kargs *a)
{
	return k->n->nin > 2 ? a->in[2] : NULL;      /* NULL where it is left out, too */
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

/* --- samples --- */

static const char *const conv_samples[] = {
	"2x3x5x6 5x3x3x3! 5!", "2x3x7x6 5x3x3x3! 5! ; stride: 2, pad_lo: 1, pad_hi: 1",
	"1x5x6x5 17x5x3x3! ; pad_lo: [1, 0], pad_hi: [2, 1]", "1x16x4x3 48x16x1x1! 48!",
	"1x48x3x3 3x48x1x1! 3! ; stride: 2", "1x1x6x6 16x1x3x3! ; pad_lo: 1, pad_hi: 1",
	"1x3x7x7 1x3x3x3! 1! ; dilation: 2, pad_lo: 2, pad_hi: 2",
	"2x16x7x10 8x16x3x3! 8! ; dilation: [3, 2], pad_lo: [3, 2], pad_hi: [3, 2]",
	"1x8x5x6 16x8x2x3! ; dilation: [2, 4], pad_lo: [0, 4], pad_hi: [2, 4]",
	"2x16x4x5 16x1x3x3! 16! ; groups: 16, pad_lo: 1, pad_hi: 1",
	"1x6x5x5 4x3x3x3! 4! ; groups: 2, pad_lo: 1, pad_hi: 1", "1x32x3x3 32x16x1x1! ; groups: 2",
	"1x17x4x4 3x17x3x2! 3! ; stride: [1, 2], dilation: [1, 2], pad_lo: [1, 1], pad_hi: [1, 0]",
	"1x3x4x3x5 5x3x3x2x3! 5! ; pad_lo: 1, pad_hi: 1",
	"1x2x3x6x5 17x2x3x3x3! 17! ; pad_lo: 1, pad_hi: 1",
	"1x33x2x3x5 2x33x2x3x3! ; dilation: [2, 1, 1], pad_lo: [3, 1, 0], pad_hi: [0, 1, 2]",
	"1x1x5x4x4 16x1x3x3x3! 16! ; stride: 2, pad_lo: 1, pad_hi: 0",
	"1x16x3x3x3 16x1x2x2x2! ; groups: 16",
	"1x35x7x6 35x1x3x3! 35! ; groups: 35, dilation: 2, pad_lo: 2, pad_hi: 2",
	"1x5x7 16x5x3! 16! ; stride: 2, pad_lo: 1, pad_hi: 1",
	"2x1x6x7 1x1x3x3! ; pad_lo: 1, pad_hi: 1",
	"1x36x11x13 36x1x3x3! ; groups: 36, pad_lo: 1, pad_hi: 1",
	"2x12x9x10 12x1x3x3! 12! ; groups: 12, stride: 2, pad_lo: 1, pad_hi: 1",
	"1x728x3x5 728x1x3x3! ; groups: 728, pad_lo: 1, pad_hi: 1",
	"1x8x13x17 8x1x3x3! ; groups: 8, dilation: [3, 2], pad_lo: [3, 1], pad_hi: [2, 4]",
	"1x8x7x9 8x1x3x3! ; groups: 8, stride: [1, 2], dilation: [2, 1]",
	/* tiles of dlx's own kernels on a GPU: several, with edges */
	"2x40x17x27 40x1x3x3! 40! ; groups: 40, pad_lo: 1, pad_hi: 1",
	"1x104x9x19 104x1x3x3! ; groups: 104, dilation: [2, 3], pad_lo: [2, 1], pad_hi: [1, 4]",
	"2x72x11x36 72x1x3x3! ; groups: 72, stride: 2, pad_lo: [1, 0], pad_hi: [0, 1]",
	"2x24x9x35 32x24x3x3! 32! ; pad_lo: 1, pad_hi: 1",
	"1x16x10x17 16x16x5x5! ; pad_lo: 2, pad_hi: 2",
	"1x40x9x19 40x40x3x3! 40! ; pad_lo: [2, 0], pad_hi: [1, 2]",
	"2x32x11x66 24x32x3x3! 24! ; pad_lo: 1, pad_hi: 1",
	"1x16x12x20 64x16x5x5! 64! ; pad_lo: [2, 0], pad_hi: [2, 3]",
	"1x16x3x4x5 64x16x3x3x3! 64! ; pad_lo: 1, pad_hi: 1",
	"1x16x7x5 16x16x3x3! ; pad_lo: 1, pad_hi: 1",
	"2x4x3x5x35 32x4x3x3x3! 32! ; pad_lo: 1, pad_hi: 1",
	"1x3x15x37 64x3x7x7! ; stride: 2, pad_lo: 3, pad_hi: 3",
	"1x2x5x40 8x2x3x3! 8! ; stride: [1, 2], pad_lo: [2, 1], pad_hi: [0, 1]",
	"2x1x7x9 40x1x5x5! ; pad_lo: 2, pad_hi: 2", "1x4x5x20 136x4x1x1! 136!",
	"1x4x35 16x4x3! 16!", "1x3x5x3x7 8x3x3x3x3! ; stride: [2, 1, 2], pad_lo: 1, pad_hi: 1",
	"1x16x5x19 3x16x1x1! 3!", "2x40x9x10 3x40x3x3! 3! ; pad_lo: 1, pad_hi: [1, 0]",
	"1x24x4x6x5 1x24x3x3x3! ; pad_lo: 1, pad_hi: 1",
	/* shapes that one or another code of oneDNN gets wrong (backend/dnn/dnn_quirks.c) */
	"1x32x18x2 64x32x3x3! ; stride: 2, pad_lo: 1, pad_hi: 1",
	"1x32x4x7x2 48x32x1x3x3! ; stride: [1, 1, 2], pad_lo: [0, 1, 1], pad_hi: [0, 1, 1]",
	"1x5x1x4x6 32x5x3x3x3! ; pad_lo: 1, pad_hi: 1",
	"1x1x1x4x6 16x1x3x3x3! ; pad_lo: 1, pad_hi: 1",
	"1x32x1x9 32x32x2x3! ; dilation: [2, 1], pad_lo: 1, pad_hi: 1",
	"1x16x5x6 16x16x3x3! ; pad_lo: [3, 1], pad_hi: [3, 1]",
	"1x16x5x6 16x16x3x3! ; pad_lo: [1, 3], pad_hi: [1, 3]", "1x17x4x1x10 32x17x1x1x1!",
	"1x33x5x6 40x33x1x1!", "1x16x1x5 160x16x1x1!", "1x32x3x9 32x32x1x1!",
	NULL
};

static const char *const grad_input_samples[] = {
	"2x5x3x4 5x3x3x3! ; input_size: [5, 6]",
	"2x5x4x3 5x3x3x3! 3! ; stride: 2, pad_lo: 1, pad_hi: 1, input_size: [7, 6]",
	"1x17x7x4 17x5x3x3! ; pad_lo: [1, 0], pad_hi: [2, 1], input_size: [6, 5]",
	"1x48x4x3 48x16x1x1! 16! ; input_size: [4, 3]", "2x3x5x6 3x8x1x1! ; input_size: [5, 6]",
	"1x33x1x59 33x40x1x1! ; input_size: [1, 59]",
	"1x10x9x10 10x8x1x1! ; groups: 2, input_size: [9, 10]",
	"1x16x6x6 16x1x3x3! 1! ; pad_lo: 1, pad_hi: 1, input_size: 6",
	"1x1x7x7 1x3x3x3! ; dilation: 2, pad_lo: 2, pad_hi: 2, input_size: 7",
	"2x16x7x10 16x8x3x3! 8! ; dilation: [3, 2], pad_lo: [3, 2], pad_hi: [3, 2], "
	"input_size: [7, 10]",
	"2x16x4x5 16x1x3x3! 16! ; groups: 16, pad_lo: 1, pad_hi: 1, input_size: [4, 5]",
	"1x4x5x5 4x3x3x3! 6! ; groups: 2, pad_lo: 1, pad_hi: 1, input_size: 5",
	"1x5x2x3x3 5x3x3x2x3! 3! ; input_size: [4, 4, 5]",
	"1x2x3x6x5 2x17x3x3x3! 17! ; pad_lo: 1, pad_hi: 1, input_size: [3, 6, 5]",
	"1x33x3x3x5 33x2x2x3x3! ; dilation: [2, 1, 1], pad_lo: [3, 1, 0], pad_hi: [0, 1, 2], "
	"input_size: [2, 3, 5]",
	"1x16x3x2x2 16x3x2x2x2! ; stride: 2, input_size: [6, 4, 5]",
	"1x35x4x3 35x1x3x3! ; groups: 35, stride: 2, dilation: 2, pad_lo: 2, pad_hi: 2, "
	"input_size: [7, 6]",
	"1x16x4 16x5x3! 5! ; stride: 2, pad_lo: 1, pad_hi: 1, input_size: 7",
	"2x33x3x5 33x40x1x1! ; input_size: [3, 5]", "1x784x2x1 784x3x1x1! ; input_size: [2, 1]",
	"2x1x6x7 1x1x3x3! ; pad_lo: 1, pad_hi: 1, input_size: [6, 7]",
	"1x36x11x13 36x1x3x3! ; groups: 36, pad_lo: 1, pad_hi: 1, input_size: [11, 13]",
	"2x12x5x5 12x1x3x3! 12! ; groups: 12, stride: 2, pad_lo: 1, pad_hi: 1, input_size: [9, 10]",
	"1x728x3x5 728x1x3x3! ; groups: 728, pad_lo: 1, pad_hi: 1, input_size: [3, 5]",
	"1x8x12x18 8x1x3x3! ; groups: 8, dilation: [3, 2], pad_lo: [3, 1], pad_hi: [2, 4], "
	"input_size: [13, 17]",
	"1x8x3x4 8x1x3x3! ; groups: 8, stride: [1, 2], dilation: [2, 1], input_size: [7, 9]",
	"2x40x17x27 40x1x3x3! ; groups: 40, pad_lo: 1, pad_hi: 1, input_size: [17, 27]",
	"1x104x8x18 104x1x3x3! ; groups: 104, dilation: [2, 3], pad_lo: [2, 1], pad_hi: [1, 4], "
	"input_size: [9, 19]",
	"2x72x5x18 72x1x3x3! ; groups: 72, stride: 2, pad_lo: [1, 0], pad_hi: [0, 1], "
	"input_size: [11, 36]",
	"1x40x11x26 40x1x3x3! ; groups: 40, stride: 2, pad_lo: [2, 1], pad_hi: [1, 1], "
	"input_size: [21, 51]",
	"2x32x6x35 32x40x5x5! ; pad_lo: 2, pad_hi: 2, input_size: [6, 35]",
	"1x24x10x11 24x72x3x3! 72! ; pad_lo: [0, 1], pad_hi: [1, 2], input_size: [11, 10]",
	"1x16x2x5x6 16x32x3x3x3! ; pad_lo: [0, 1, 1], pad_hi: 1, input_size: [3, 5, 6]",
	"1x64x9x19 64x3x3x3! 3! ; stride: 2, pad_lo: 1, pad_hi: 1, input_size: [17, 38]",
	"1x8x2x3x4 8x1x3x3x3! ; stride: 2, pad_lo: 1, input_size: [4, 6, 8]",
	"1x40x9x10 40x2x2x3! ; stride: [2, 1], input_size: [18, 12]",
	"2x3x5x20 3x72x1x1! 72! ; input_size: [5, 20]",
	"1x2x5x21 2x16x3x3! ; pad_lo: [1, 0], pad_hi: [1, 2], input_size: [5, 21]",
	"1x4x3x4x20 4x32x3x3x3! 32! ; pad_lo: 1, pad_hi: 1, input_size: [3, 4, 20]",
	/* shapes that one or another code of oneDNN gets wrong */
	"1x32x1x9 32x16x2x3! ; dilation: [2, 1], pad_lo: 1, pad_hi: 1, input_size: [1, 9]",
	"1x16x9x6 16x32x3x3! ; pad_lo: [3, 1], pad_hi: [3, 1], input_size: [5, 6]",
	"1x33x5x6 33x40x1x1! ; input_size: [5, 6]", "1x16x1x5 16x160x1x1! ; input_size: [1, 5]",
	NULL
};

static const char *const grad_input_add_samples[] = {
	"1x20x5x4 20x50x1x1! - 1x50x5x4 ; input_size: [5, 4]",
	"2x5x3x4 5x3x3x3! - 2x3x5x6 ; input_size: [5, 6]",
	"2x5x4x3 5x3x3x3! 3! 2x3x7x6 ; stride: 2, pad_lo: 1, pad_hi: 1, input_size: [7, 6]",
	"1x48x4x3 48x16x1x1! - 1x16x4x3 ; input_size: [4, 3]",
	"1x16x6x6 16x1x3x3! 1! 1x1x6x6 ; pad_lo: 1, pad_hi: 1, input_size: 6",
	"2x16x4x5 16x1x3x3! - 2x16x4x5 ; groups: 16, pad_lo: 1, pad_hi: 1, input_size: [4, 5]",
	"1x20x9x11 20x33x5x5! 33! 1x33x9x11 ; pad_lo: 2, pad_hi: 2, input_size: [9, 11]",
	"1x2x3x6x5 2x17x3x3x3! - 1x17x3x6x5 ; pad_lo: 1, pad_hi: 1, input_size: [3, 6, 5]",
	"1x16x4 16x5x3! 5! 1x5x7 ; stride: 2, pad_lo: 1, pad_hi: 1, input_size: 7",
	NULL
};

static const char *const grad_weight_samples[] = {
	"2x3x5x6 2x5x3x4 ; kernel: 3",
	"2x3x7x6 2x5x4x3 ; stride: 2, pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"1x5x6x5 1x17x7x4 ; pad_lo: [1, 0], pad_hi: [2, 1], kernel: [3, 3]",
	"1x16x4x3 1x48x4x3 ; kernel: 1, bias: true",
	"1x1x6x6 1x16x6x6 ; pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"1x3x7x7 1x1x7x7 ; dilation: 2, pad_lo: 2, pad_hi: 2, kernel: 3",
	"2x16x7x10 2x8x7x10 ; dilation: [3, 2], pad_lo: [3, 2], pad_hi: [3, 2], kernel: 3, bias: true",
	"2x16x4x5 2x16x4x5 ; groups: 16, pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"1x6x5x5 1x4x5x5 ; groups: 2, pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"1x3x4x4x5 1x5x2x3x3 ; kernel: [3, 2, 3], bias: true",
	"1x5x7 1x16x4 ; stride: 2, pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"3x20x10x9 3x37x10x9 ; pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"1x19x20x23 1x5x20x23 ; kernel: 1, bias: true",
	"1x5x14x14 1x2x7x7 ; stride: 2, kernel: 1", "3x5x12x11 3x2x4x11 ; stride: [3, 1], kernel: 1",
	"2x37x15x10 2x41x15x10 ; kernel: 1", "1x70x13x5 1x3x13x5 ; kernel: 1, bias: true",
	"2x3x23x21 2x18x12x11 ; stride: 2, pad_lo: 3, pad_hi: [3, 3], kernel: 7, bias: true",
	"1x17x11x10 1x48x11x10 ; dilation: 4, pad_lo: 4, pad_hi: 4, kernel: 3",
	"1x9x6x200 1x33x3x100 ; stride: 2, pad_lo: [1, 2], pad_hi: [1, 1], kernel: [3, 4]",
	"1x33x2x3x5 1x2x3x3x5 ; dilation: [2, 1, 1], pad_lo: [3, 1, 0], pad_hi: [0, 1, 2], "
	"kernel: [2, 3, 3]",
	"2x2x5x6x7 2x20x5x6x7 ; pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"2x35x7x6 2x35x4x3 ; groups: 35, stride: 2, dilation: 2, pad_lo: 2, pad_hi: 2, kernel: 3, "
	"bias: true",
	"2x16x4x6x4 2x16x2x3x2 ; stride: 2, kernel: 2",
	"1x16x4x4x4 1x16x3x3x2 ; stride: 2, pad_lo: [3, 2, 1], pad_hi: [1, 2, 2], kernel: 4",
	"2x40x4x6x8 2x24x2x3x4 ; stride: 2, pad_lo: 1, pad_hi: 1, kernel: 4",
	"1x14x4x1x4 1x2x3x1x3 ; groups: 2, pad_lo: [1, 2, 0], pad_hi: [0, 2, 1], kernel: [3, 5, 3]",
	"2x3x7x1 2x65x7x1 ; stride: [1, 2], pad_lo: 1, pad_hi: 1, kernel: 3",
	"2x1x6x7 2x1x6x7 ; pad_lo: 1, pad_hi: 1, kernel: 3",
	"3x36x29x13 3x36x29x13 ; groups: 36, pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"2x12x35x10 2x12x18x5 ; groups: 12, stride: 2, pad_lo: 1, pad_hi: 1, kernel: 3",
	"1x728x3x5 1x728x3x5 ; groups: 728, pad_lo: 1, pad_hi: 1, kernel: 3",
	"2x8x33x17 2x8x32x18 ; groups: 8, dilation: [3, 2], pad_lo: [3, 1], pad_hi: [2, 4], kernel: 3",
	"1x8x7x9 1x8x3x4 ; groups: 8, stride: [1, 2], dilation: [2, 1], kernel: 3",
	"2x24x9x21 2x32x9x21 ; pad_lo: 2, pad_hi: 2, kernel: 5, bias: true",
	"1x40x7x33 1x16x7x33 ; pad_lo: 2, pad_hi: 2, kernel: 5",
	"1x16x6x20 1x48x7x17 ; pad_lo: [3, 0], pad_hi: [2, 1], kernel: 5",
	"2x72x5x18 2x24x5x18 ; pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"1x64x9x12 1x32x9x12 ; pad_lo: 1, pad_hi: 1, kernel: 3",
	"1x24x11x9 1x40x11x9 ; pad_lo: 1, pad_hi: 1, kernel: 3",
	"2x32x3x5x18 2x64x3x5x18 ; pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"1x8x4x6x17 1x16x2x5x16 ; pad_lo: [1, 2, 1], pad_hi: [0, 1, 2], kernel: [4, 5, 5]",
	"2x40x29x27 2x40x29x27 ; groups: 40, pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"1x104x9x19 1x104x8x18 ; groups: 104, dilation: [2, 3], pad_lo: [2, 1], pad_hi: [1, 4], "
	"kernel: 3",
	"2x72x11x36 2x72x5x18 ; groups: 72, stride: 2, pad_lo: [1, 0], pad_hi: [0, 1], kernel: 3",
	"1x4x4x9x35 1x32x4x9x35 ; pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"1x3x23x37 1x64x12x19 ; stride: 2, pad_lo: 3, pad_hi: 3, kernel: 7, bias: true",
	"2x2x11x40 2x8x11x20 ; stride: [1, 2], pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"2x4x9x9 2x40x9x9 ; pad_lo: 2, pad_hi: 2, kernel: 5, bias: true",
	"1x1x5x21 1x136x5x21 ; kernel: 1, bias: true", "1x4x40 1x16x38 ; kernel: 3, bias: true",
	"1x3x5x6x7 1x24x3x3x4 ; stride: 2, pad_lo: 1, pad_hi: 1, kernel: 3",
	"2x40x10x12 2x3x10x12 ; pad_lo: 1, pad_hi: 1, kernel: 3, bias: true",
	"1x72x9x19 1x3x9x19 ; kernel: 1, bias: true",
	"1x5x7x8 1x32x7x8 ; dilation: [3, 1], pad_lo: [0, 1], pad_hi: [0, 1], kernel: [1, 3]",
	/* shapes that one or another code of oneDNN gets wrong */
	"1x17x9x8 1x32x9x8 ; dilation: [4, 1], pad_lo: [4, 1], pad_hi: [4, 1], kernel: 3",
	"1x120x1x6 1x16x1x6 ; pad_lo: 2, pad_hi: 2, kernel: 5",
	"1x128x2x5 1x8x2x5 ; pad_lo: 3, pad_hi: 3, kernel: 7",
	"2x48x18x30 2x48x18x30 ; groups: 48, dilation: 2, pad_lo: 2, pad_hi: 2, kernel: 3",
	"1x32x1x3 1x48x1x2 ; stride: 2, pad_lo: 1, pad_hi: 1, kernel: 3",
	"1x32x6x1 1x48x6x1 ; stride: [1, 2], kernel: 1",
	"1x32x2x4x5 1x16x2x4x5 ; pad_lo: 1, pad_hi: 1, kernel: 3",
	"1x32x4x2x5 1x16x4x2x5 ; pad_lo: 1, pad_hi: 1, kernel: 3",
	"1x8x61 1x40x61 ; pad_lo: 1, pad_hi: 1, kernel: 3",
	NULL
};

/* --- records --- */

static const struct op conv = {
	.name = "conv",
	.doc = "convolution of x (N, I, ...) with weights (O, I/groups, ...) and perhaps a bias (O)",
	.flags = OP_COUNTED,
	.min_in = 2, .max_in = 3, .nout = 1,
	.attr_size = sizeof(struct conv_attr), .attrs = conv_fields,
	.shape = conv_shape, .grad = conv_grad, .cost = conv_cost,
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
	.shape = grad_input_shape, .grad = grad_input_grad, .cost = grad_input_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = conv_grad_input_reference },
		[BACKEND_CPU] = CONV_CPU(conv_grad_input, 1, NULL),
		CONV_CUDA(conv_grad_input, 1, 1)
	},
	.samples = grad_input_samples,
};

static const struct op conv_grad_input_add = {
	.name = "conv_grad_input_add",
	.doc = "conv_grad_input, which may have no bias, plus the fourth input: a sum of "
	       "gradients, made in place",
	.flags = OP_COUNTED,
	.min_in = 2, .max_in = 4, .nout = 1, .inplace = 1u << 3,
	.attr_size = sizeof(struct conv_attr), .attrs = grad_input_fields,
	.shape = grad_input_add_shape, .grad = grad_input_add_grad, .cost = grad_input_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = grad_input_add_reference },
		[BACKEND_CPU] = CONV_CPU_TAKING(conv_grad_input, 1, NULL, 3 | 1u << 3),
	},
	.samples = grad_input_add_samples,
};

static const struct op conv_grad_weight = {
	.name = "conv_grad_weight",
	.doc = "gradients of conv to its weights and, if asked for, its bias",
	.flags = OP_COUNTED | OP_ASIDE,
	.min_in = 2, .max_in = 2, .nout = -1,
	.diff_out = 2,            /* the bias's gradient */
	.attr_size = sizeof(struct conv_attr), .attrs = grad_weight_fields,
	.shape = grad_weight_shape, .grad = grad_weight_grad, .cost = grad_weight_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = conv_grad_weight_reference },
		[BACKEND_CPU] = CONV_CPU(conv_grad_weight, 0, NULL),
		CONV_CUDA(conv_grad_weight, 3, 0, .makes_narrow = conv_makes_narrow)
	},
	.samples = grad_weight_samples,
};

OPSET(conv, &conv, &conv_grad_input, &conv_grad_input_add, &conv_grad_weight);
