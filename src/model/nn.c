/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each layer is: find out its geometry from the input's shape, make its parameters under
 * "PATH.weight", "PATH.bias", emit one or a few nodes. Two rules of arithmetic live here. SAME
 * padding makes the output ceil(input / stride) and puts the odd one at the end. A transposed
 * convolution is the gradient of the convolution that maps its output to its input, so the same
 * padding arithmetic serves both. Its output is input * stride for SAME (or the size the caller
 * wants), else PyTorch's: stride * (input - 1) - padding + reach + output_padding, where reach is
 * dilation * (kernel - 1) + 1. */
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "model/init.h"
#include "model/op_attr.h"
#include "op/lib/random.h"

/* More weights than this in one tensor are taken for a mistake. */
#define MAX_WEIGHTS (INT64_C(1) << 40)

static void begin(struct model_build *b, const char *path)
{
	b->g->cur_name = arena_strdup(b->g->arena, path);
	b->g->cur_loc = b->loc;
}

const struct shape *nn_shape(const struct model_build *b, tid x)
{
	return &graph_t(b->g, x)->shape;
}

const char *nn_join(struct model_build *b, const char *part, const char *leaf)
{
	return arena_printf(b->arena, "%s.%s", part, leaf);
}

static int param(struct model_build *b, const char *path, const char *leaf, const struct shape *s,
                 struct init init, tid *out)
{
	int64_t n = 1;
	for (int i = 0; i < s->nd; i++)
		if (__builtin_mul_overflow(n, s->d[i], &n) || n > MAX_WEIGHTS)
			return ERR(E_SHAPE, &b->loc, "'%s.%s' would have more than %lld values", path, leaf,
			           (long long)MAX_WEIGHTS);
	return graph_param(b->g, arena_printf(b->arena, "%s.%s", path, leaf), DTYPE_F32, s, init, out);
}

static int vector_param(struct model_build *b, const char *path, const char *leaf, int64_t n,
                        double value, tid *out)
{
	struct shape s = shape_of(1, &n);
	return param(b, path, leaf, &s, init_constant(value), out);
}

/* --- convolution --- */

struct geometry {
	int axes;                  /* spatial ones */
	int64_t channels, size[3]; /* of the input */
	int64_t kernel[3], stride[3], dilation[3], lo[3], hi[3];
	int64_t groups;
};

static int64_t or_one(int64_t v)
{
	return v ? v : 1;
}

static int geometry(struct model_build *b, const char *path, const struct nn_conv *c, tid x,
                    struct geometry *m)
{
	const struct shape *s = nn_shape(b, x);
	char text[SHAPE_TEXT];
	if (s->nd < 3 || s->nd > 5)
		return ERR(E_SHAPE, &b->loc,
		           "'%s': a convolution needs (N, C, [D, [H,]] W), but its input is %s",
		           path, shape_text(s, text));
	m->axes = s->nd - 2;
	m->channels = s->d[1];
	m->groups = or_one(c->groups);
	if (m->channels % m->groups || c->filters % m->groups)
		return ERR(E_SHAPE, &b->loc,
		           "'%s': groups %lld must divide the %lld input channels and the %lld filters",
		           path, (long long)m->groups, (long long)m->channels, (long long)c->filters);
	for (int i = 0; i < m->axes; i++) {
		m->size[i] = s->d[2 + i];
		m->kernel[i] = or_one(c->kernel[i]);
		m->stride[i] = or_one(c->stride[i]);
		m->dilation[i] = or_one(c->dilation[i]);
		m->lo[i] = c->padding == PADDING_EXPLICIT ? c->pad_lo[i] : 0;
		m->hi[i] = c->padding == PADDING_EXPLICIT ? c->pad_hi[i] : 0;
	}
	return 0;
}

/* Padding of axis i with which a convolution maps `large` to `small` positions, the odd one at the
 * end. */
static void pad_to_fit(struct geometry *m, int i, int64_t large, int64_t small)
{
	int64_t total = (small - 1) * m->stride[i] + (m->kernel[i] - 1) * m->dilation[i] + 1 - large;
	if (total < 0)
		total = 0;
	m->lo[i] = total / 2;
	m->hi[i] = total - total / 2;
}

static struct op_attr conv_attr(struct model_build *b, const char *op, const struct geometry *m)
{
	struct op_attr t = op_attr_new(b->g->arena, op);
	op_attr_ints(&t, "stride", m->axes, m->stride);
	op_attr_ints(&t, "dilation", m->axes, m->dilation);
	op_attr_ints(&t, "pad_lo", m->axes, m->lo);
	op_attr_ints(&t, "pad_hi", m->axes, m->hi);
	op_attr_int(&t, "groups", m->groups);
	return t;
}

/* Weight (first, second, kernel...) and the bias, then the node. */
static int conv_emit(struct model_build *b, const char *path, const struct nn_conv *c,
                     const struct geometry *m, int64_t first, int64_t second,
                     const struct op_attr *t, tid x, tid *y)
{
	struct shape w = { .nd = 2 + m->axes, .d = { first, second } };
	memcpy(w.d + 2, m->kernel, sizeof *w.d * (size_t)m->axes);
	tid in[3] = { x, NONE, NONE };
	TRY(param(b, path, "weight", &w, init_weight(c->init, c->init_value, &w), &in[1]));
	if (c->bias)
		TRY(vector_param(b, path, "bias", c->filters, c->bias_value, &in[2]));
	return graph_emit1(b->g, t->op->name, t->data, c->bias ? 3 : 2, in, y);
}

struct nn_conv nn_conv_same(int64_t filters, int64_t kernel, int64_t stride, bool bias,
                            enum weight_init init)
{
	return (struct nn_conv){ .filters = filters, .kernel = { kernel, kernel, kernel },
		.stride = { stride, stride, stride }, .padding = PADDING_SAME, .bias = bias, .init = init };
}

int nn_conv(struct model_build *b, const char *path, const struct nn_conv *c, tid x, tid *y)
{
	struct geometry m = { 0 };
	begin(b, path);
	TRY(geometry(b, path, c, x, &m));
	if (c->padding == PADDING_SAME)
		for (int i = 0; i < m.axes; i++)
			pad_to_fit(&m, i, m.size[i], (m.size[i] + m.stride[i] - 1) / m.stride[i]);
	struct op_attr t = conv_attr(b, "conv", &m);
	return conv_emit(b, path, c, &m, c->filters, m.channels / m.groups, &t, x, y);
}

/* Output size of a transposed convolution; for SAME and wanted sizes also the padding that belongs
 * to it. */
static int transposed_size(struct model_build *b, const char *path, const struct nn_conv *c,
                           struct geometry *m, int64_t *size)
{
	for (int i = 0; i < m->axes; i++) {
		int64_t reach = (m->kernel[i] - 1) * m->dilation[i] + 1;
		if (c->padding == PADDING_SAME) {
			size[i] = c->output_size[i] ? c->output_size[i] : m->size[i] * m->stride[i];
			pad_to_fit(m, i, size[i], m->size[i]);
		} else {
			size[i] = (m->size[i] - 1) * m->stride[i] - m->lo[i] - m->hi[i] + reach +
			          c->output_padding[i];
		}
		if (size[i] < 1)
			return ERR(E_SHAPE, &b->loc, "'%s': padding %lld + %lld leaves nothing of the output",
			           path, (long long)m->lo[i], (long long)m->hi[i]);
		if (c->output_padding[i] && c->output_padding[i] >= m->stride[i])
			return ERR(E_SHAPE, &b->loc,
			           "'%s': output_padding %lld must be smaller than stride %lld", path,
			           (long long)c->output_padding[i], (long long)m->stride[i]);
	}
	return 0;
}

int nn_conv_transpose(struct model_build *b, const char *path, const struct nn_conv *c, tid x,
                      tid *y)
{
	struct geometry m = { 0 };
	int64_t size[3];
	begin(b, path);
	TRY(geometry(b, path, c, x, &m));
	TRY(transposed_size(b, path, c, &m, size));
	struct op_attr t = conv_attr(b, "conv_grad_input", &m);
	op_attr_ints(&t, "input_size", m.axes, size);
	return conv_emit(b, path, c, &m, m.channels, c->filters / m.groups, &t, x, y);
}

/* --- dense --- */

int nn_dense_params(struct model_build *b, const char *path, const struct nn_dense *c,
                    int64_t columns, tid *weight, tid *bias)
{
	const struct shape w = { .nd = 2, .d = { c->units, columns } };
	begin(b, path);
	TRY(param(b, path, "weight", &w, init_weight(c->init, c->init_value, &w), weight));
	return bias ? vector_param(b, path, "bias", c->units, c->bias_value, bias) : 0;
}

int nn_dense_layer(struct model_build *b, const char *path, const struct nn_dense *c, tid x,
                   tid *y)
{
	const struct shape *s = nn_shape(b, x);
	char text[SHAPE_TEXT];
	begin(b, path);
	if (s->nd != 2)
		return ERR(E_SHAPE, &b->loc,
		           "'%s': a dense layer needs (N, features), but its input is %s; put 'flatten' or "
		           "'global_average' before it",
		           path, shape_text(s, text));
	tid in[3] = { x, NONE, NONE };
	TRY(nn_dense_params(b, path, c, s->d[1], &in[1], c->bias ? &in[2] : NULL));
	return graph_emit1(b->g, "dense", NULL, c->bias ? 3 : 2, in, y);
}

int nn_dense(struct model_build *b, const char *path, int64_t units, bool bias,
             enum weight_init init, tid x, tid *y)
{
	struct nn_dense c = { .units = units, .bias = bias, .init = init };
	return nn_dense_layer(b, path, &c, x, y);
}

/* --- batch norm --- */

static int running(struct model_build *b, const char *path, const char *leaf, int64_t channels,
                   double value, tid *out)
{
	struct shape s = shape_of(1, &channels);
	TRY(graph_state(b->g, arena_printf(b->arena, "%s.%s", path, leaf), DTYPE_F32, &s,
	                init_constant(value), out));
	graph_t(b->g, *out)->use = STATE_OF_NETWORK;
	return 0;
}

/* running' = (1 - momentum) * running + momentum * factor * value */
static int follow(struct model_build *b, double momentum, double factor, tid state, tid value)
{
	struct op_attr t = op_attr_new(b->g->arena, "ema_update");
	tid in[2] = { state, value }, next;
	op_attr_float(&t, "momentum", momentum);
	op_attr_float(&t, "factor", factor);
	return graph_emit1(b->g, "ema_update", t.data, 2, in, &next);
}

static int normalise_batch(struct model_build *b, const struct nn_batch_norm *c, const tid *in,
                           tid mean, tid var, tid *y)
{
	struct op_attr t = op_attr_new(b->g->arena, "batch_norm");
	tid out[4]; /* y, mean, 1/sqrt(var + eps), biased variance */
	op_attr_float(&t, "eps", c->eps);
	TRY(graph_emit(b->g, "batch_norm", t.data, 3, in, 4, out));
	*y = out[0];
	const struct shape *s = nn_shape(b, in[0]);
	double n = (double)shape_count(s) / (double)s->d[1];
	if (b->place)
		return 0;
	TRY(follow(b, c->momentum, 1, mean, out[1]));
	/* running_var is that of a sample: n / (n - 1) times the batch's own */
	return follow(b, c->momentum, n > 1 ? n / (n - 1) : 1, var, out[3]);
}

int nn_batch_norm(struct model_build *b, const char *path, const struct nn_batch_norm *c, tid x,
                  tid *y)
{
	const struct shape *s = nn_shape(b, x);
	char text[SHAPE_TEXT];
	begin(b, path);
	if (s->nd < 2)
		return ERR(E_SHAPE, &b->loc, "'%s': batch norm needs (N, C, ...), but its input is %s",
		           path, shape_text(s, text));
	tid in[5] = { x };
	TRY(vector_param(b, path, "weight", s->d[1], c->gamma_init, &in[1]));
	TRY(vector_param(b, path, "bias", s->d[1], 0, &in[2]));
	TRY(running(b, path, "running_mean", s->d[1], 0, &in[3]));
	TRY(running(b, path, "running_var", s->d[1], 1, &in[4]));
	if (b->training)
		return normalise_batch(b, c, in, in[3], in[4], y);
	struct op_attr t = op_attr_new(b->g->arena, "batch_norm_inference");
	op_attr_float(&t, "eps", c->eps);
	return graph_emit1(b->g, "batch_norm_inference", t.data, 5, in, y);
}

/* --- group norm --- */

int nn_group_norm(struct model_build *b, const char *path, enum nn_norm kind,
                  const struct nn_group_norm *c, tid x, tid *y)
{
	const struct shape *s = nn_shape(b, x);
	struct op_attr t = op_attr_new(b->g->arena, "group_norm");
	char text[SHAPE_TEXT];
	tid in[3] = { x }, out[3];
	begin(b, path);
	if (s->nd < 2)
		return ERR(E_SHAPE, &b->loc, "'%s': a norm needs (N, C, ...), but its input is %s", path,
		           shape_text(s, text));
	op_attr_float(&t, "eps", c->eps);
	op_attr_int(&t, "by_point", kind == NN_NORM_POINTS);
	op_attr_int(&t, "groups", kind == NN_NORM_GROUPS ? c->groups : 1);
	if (kind == NN_NORM_CHANNELS)
		op_attr_int(&t, "groups", s->d[1]);
	if (c->affine) {
		TRY(vector_param(b, path, "weight", s->d[1], 1, &in[1]));
		TRY(vector_param(b, path, "bias", s->d[1], 0, &in[2]));
	}
	TRY(graph_emit(b->g, "group_norm", t.data, c->affine ? 3 : 1, in, 3, out));
	*y = out[0];
	return 0;
}

/* --- layers without parameters --- */

int nn_dropout(struct model_build *b, const char *path, double rate, tid x, tid *y)
{
	*y = x;
	if (!b->training || rate == 0)
		return 0;
	begin(b, path);
	struct op_attr t = op_attr_new(b->g->arena, "dropout");
	tid in[2] = { x };
	op_attr_float(&t, "rate", rate);
	op_attr_int(&t, "stream", (int64_t)((hash_name(path) >> 1) ^ (uint64_t)b->place));
	TRY(random_key(b->g, &in[1]));
	return graph_emit1(b->g, "dropout", t.data, 2, in, y);
}

int nn_op(struct model_build *b, const char *path, const char *op, const void *attr, int nin,
          const tid *in, tid *y)
{
	const struct op *o = op_find(op);
	BUG_IF(!o, "there is no op '%s'", op);
	int nout = o->nout > 0 ? o->nout : 1;
	tid *out = ARENA_ARRAY(b->g->arena, tid, nout);
	begin(b, path);
	TRY(graph_emit(b->g, op, attr, nin, in, nout, out));
	*y = out[0];
	return 0;
}

int nn_relu(struct model_build *b, const char *path, tid x, tid *y)
{
	return nn_op(b, path, "relu", NULL, 1, &x, y);
}

int nn_concat(struct model_build *b, const char *path, int n, const tid *in, tid *y)
{
	struct op_attr t = op_attr_new(b->g->arena, "concat");
	*y = in[0];
	if (n == 1)
		return 0;
	op_attr_int(&t, "axis", 1);
	return nn_op(b, path, "concat", t.data, n, in, y);
}

int nn_pool(struct model_build *b, const char *path, const char *op, int64_t kernel, int64_t stride,
            tid x, tid *y)
{
	const struct shape *s = nn_shape(b, x);
	struct op_attr t = op_attr_new(b->g->arena, op);
	int axes = s->nd - 2;
	int64_t k[3], st[3], lo[3] = { 0 }, hi[3];
	BUG_IF(axes < 1 || axes > 3, "'%s' pools a tensor of %d axes", path, s->nd);
	for (int i = 0; i < axes; i++) {
		int64_t in = s->d[2 + i], out = in > kernel ? (in - kernel + stride - 1) / stride + 1 : 1;
		if ((out - 1) * stride >= in)
			out--; /* a window of padding alone */
		int64_t over = (out - 1) * stride + kernel - in;
		k[i] = kernel;
		st[i] = stride;
		hi[i] = over > 0 ? over : 0;
	}
	op_attr_ints(&t, "kernel", axes, k);
	op_attr_ints(&t, "stride", axes, st);
	op_attr_ints(&t, "pad_lo", axes, lo);
	op_attr_ints(&t, "pad_hi", axes, hi);
	if (op_attr_has(&t, "count_padding"))
		op_attr_int(&t, "count_padding", false);
	return nn_op(b, path, op, t.data, 1, &x, y);
}
