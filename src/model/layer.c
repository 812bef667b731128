/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kinds of layer that are more than one op, as rows of a table: keys, a check of what the keys'
 * table cannot say, and a call of nn.h. Ops flagged OP_LAYER need no row: their attribute table is
 * their row. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "model/nn.h"
#include "model/layer.h"
#include "model/op_attr.h"
#include "op/lib/elementwise.h"

#define MAX_EXTENT (1 << 16) /* of a kernel, stride, dilation or padding */

/* --- convolutions --- */

struct conv_layer {
	int64_t filters;
	struct ints kernel, stride, dilation, output_padding;
	struct ynode *padding;
	int64_t groups;
	bool bias;
	int init;
	double init_value;
	int activation;
};

/* none, then ops. */
static const char *const activation_names[] = { "none", "relu", "leaky_relu", "gelu", "silu", "elu",
	                                            "tanh", "sigmoid", "softplus", NULL };
#define ACTIVATION_FIELD(s)                                 \
	FIELD_ENUM(s, activation, "none", activation_names, \
	           "a layer of this kind, with its defaults, after this one")

/* *y: the activation of *y, if there is one. */
static int emit_activation(struct model_build *b, const char *path, int activation, tid *y)
{
	const char *op = activation_names[activation];
	if (activation == 0)
		return 0;
	const struct op_attr t = op_attr_new(b->g->arena, op);
	return nn_op(b, arena_printf(b->arena, "%s.%s", path, op), op, t.data, 1, y, y);
}

#define CONV_FIELDS                                                                             \
	FIELD_INT(struct conv_layer, filters, "", 1, 1 << 20, "output channels"),                   \
	FIELD_INTS(struct conv_layer, kernel, "", 1, MAX_EXTENT, "size, one or one for each axis"), \
	FIELD_INTS(struct conv_layer, stride, "1", 1, MAX_EXTENT,                                   \
	           "step of the kernel, one or one for each axis"),                                 \
	FIELD_INTS(struct conv_layer, dilation, "1", 1, MAX_EXTENT,                                 \
	           "distance of kernel elements, one or one for each axis"),                        \
	FIELD_NODE(struct conv_layer, padding, NULL,                                                \
	           "valid (default), same, a number, one for each axis, or {before, after}"),       \
	FIELD_INT(struct conv_layer, groups, "1", 1, 1 << 20, "independent groups of channels"),    \
	FIELD_BOOL(struct conv_layer, bias, "true", "add a bias to each output channel"),      \
	FIELD_ENUM(struct conv_layer, init, "he_uniform", weight_init_names,                        \
	           "first values of the weights"),                                                  \
	FIELD_FLOAT(struct conv_layer, init_value, "0", -1e6, 1e6,                                  \
	            "with init: constant the value, else a factor on the first values; 0: 1"),         \
	ACTIVATION_FIELD(struct conv_layer)

static const struct field conv_fields[] = { CONV_FIELDS, FIELD_END };
static const struct field transposed_fields[] = {
	CONV_FIELDS,
	FIELD_INTS(struct conv_layer, output_padding, "0", 0, MAX_EXTENT,
	           "rows added to the end of the output: one number or one for each axis"),
	FIELD_END
};

struct sides {
	struct ints padding, before, after;
};
static const struct field both_sides_fields[] = {
	FIELD_INTS(struct sides, padding, "", 0, MAX_EXTENT, "added on both sides of each axis"),
	FIELD_END
};
static const struct field each_side_fields[] = {
	FIELD_INTS(struct sides, before, "0", 0, MAX_EXTENT, "added before the first row of each axis"),
	FIELD_INTS(struct sides, after, "0", 0, MAX_EXTENT, "added after the last row of each axis"),
	FIELD_END
};

/* The place of the entry's key, or of the entry itself. */
static const struct loc *key_loc(const struct ynode *map, const char *key, const struct loc *loc)
{
	const struct ynode *n = map && map->kind == Y_MAP ? ytree_find(map, key) : NULL;
	return n ? &n->loc : loc;
}

/* One number for all axes or one for each. */
static int spread(const char *key, const struct ints *list, int axes, const struct loc *loc,
                  int64_t out[3])
{
	if (list->n > 1 && list->n != axes)
		return ERR(E_CONFIG, loc, "'%s' has %d numbers; expected one, or one for each of %d axes",
		           key, list->n, axes);
	for (int i = 0; i < axes; i++)
		out[i] = list->n == 0 ? 0 : list->v[list->n == 1 ? 0 : i];
	return 0;
}

static bool is_word(const struct ynode *n, const char *word)
{
	return n->kind == Y_SCALAR && strcmp(n->text, word) == 0;
}

static int read_padding(struct arena *a, struct ynode *n, int axes, struct nn_conv *c)
{
	struct sides s = { 0 };
	int64_t number;
	c->padding = PADDING_VALID;
	if (!n || n->kind == Y_NULL || is_word(n, "valid"))
		return 0;
	c->padding = PADDING_SAME;
	if (is_word(n, "same"))
		return 0;
	c->padding = PADDING_EXPLICIT;
	if (n->kind == Y_MAP) {
		TRY(schema_read(a, n, each_side_fields, "'padding'", &n->loc, &s));
	} else if (n->kind == Y_SEQ || y_int(n, &number)) {
		struct ypair pair = { "padding", n->loc, n };
		struct ynode map = { .kind = Y_MAP, .loc = n->loc, .text = "", .n = 1, .pair = &pair };
		TRY(schema_read(a, &map, both_sides_fields, "'padding'", &n->loc, &s));
		s.before = s.after = s.padding;
	} else {
		return ERR(
			E_CONFIG, &n->loc,
			"'padding' is '%s'; expected valid, same, a number, one for each axis, or {before, "
			"after}",
			n->text);
	}
	TRY(spread("padding", &s.before, axes, &n->loc, c->pad_lo));
	return spread("padding", &s.after, axes, &n->loc, c->pad_hi);
}

static int to_nn_conv(struct arena *a, const struct conv_layer *l, int axes,
                      const struct ynode *map, const struct loc *loc, struct nn_conv *c)
{
	*c = (struct nn_conv){ .filters = l->filters,
		                   .groups = l->groups,
		                   .bias = l->bias,
		                   .init = (enum weight_init)l->init,
		                   .init_value = l->init_value };
	int rc = spread("kernel", &l->kernel, axes, key_loc(map, "kernel", loc), c->kernel);
	int r = spread("stride", &l->stride, axes, key_loc(map, "stride", loc), c->stride);
	rc = rc ? rc : r;
	r = spread("dilation", &l->dilation, axes, key_loc(map, "dilation", loc), c->dilation);
	rc = rc ? rc : r;
	r = spread("output_padding", &l->output_padding, axes, key_loc(map, "output_padding", loc),
	           c->output_padding);
	rc = rc ? rc : r;
	r = read_padding(a, l->padding, axes, c);
	return rc ? rc : r;
}

static int axes_of(const char *kind)
{
	return kind[strlen(kind) - 2] - '0';
}

static int check_conv(struct arena *a, const char *kind, const struct ynode *map,
                      const struct loc *loc, const void *data)
{
	struct nn_conv c;
	TRY(to_nn_conv(a, data, axes_of(kind), map, loc, &c));
	for (int i = 0; i < 3; i++)
		if (c.padding == PADDING_SAME && c.output_padding[i])
			return ERR(E_CONFIG, key_loc(map, "output_padding", loc),
			           "'output_padding' needs 'padding' as numbers: with same, the output is "
			           "input * stride");
	return 0;
}

static int check_rank(struct model_build *b, const char *kind, int axes, tid x)
{
	static const char *const wanted[] = { "(N, C, W)", "(N, C, H, W)", "(N, C, D, H, W)" };
	char text[SHAPE_TEXT];
	const struct shape *s = &graph_t(b->g, x)->shape;
	if (s->nd == axes + 2)
		return 0;
	shape_text(s, text);
	if (s->nd < 3 || s->nd > 5)
		return ERR(E_SHAPE, &b->loc, "'%s' needs an input %s, but gets %s", kind, wanted[axes - 1],
		           text);
	return ERR(E_SHAPE, &b->loc, "'%s' needs an input %s, but gets %s, which is one of '%.*s%dd'",
	           kind, wanted[axes - 1], text, (int)strlen(kind) - 2, kind, s->nd - 2);
}

static int emit_conv(struct model_build *b, const char *path, const void *data, int axes,
                     bool transposed, tid x, tid *y)
{
	static const char *const kinds[2][3] = {
		{ "conv1d", "conv2d", "conv3d" },
		{ "conv_transpose1d", "conv_transpose2d", "conv_transpose3d" }
	};
	struct nn_conv c;
	TRY(check_rank(b, kinds[transposed][axes - 1], axes, x));
	TRY(to_nn_conv(b->arena, data, axes, NULL, &b->loc, &c));
	TRY(transposed ? nn_conv_transpose(b, path, &c, x, y) : nn_conv(b, path, &c, x, y));
	return emit_activation(b, path, ((const struct conv_layer *)data)->activation, y);
}

static int emit_conv1d(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	return emit_conv(b, path, data, 1, false, x, y);
}

static int emit_conv2d(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	return emit_conv(b, path, data, 2, false, x, y);
}

static int emit_conv3d(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	return emit_conv(b, path, data, 3, false, x, y);
}

static int emit_conv_transpose1d(struct model_build *b, const char *path, const void *data, tid x,
                                 tid *y)
{
	return emit_conv(b, path, data, 1, true, x, y);
}

static int emit_conv_transpose2d(struct model_build *b, const char *path, const void *data, tid x,
                                 tid *y)
{
	return emit_conv(b, path, data, 2, true, x, y);
}

static int emit_conv_transpose3d(struct model_build *b, const char *path, const void *data, tid x,
                                 tid *y)
{
	return emit_conv(b, path, data, 3, true, x, y);
}

/* --- dense, norms, dropout, flatten --- */

struct dense_layer {
	int64_t units;
	bool bias;
	int init, activation;
};
static const struct field dense_fields[] = {
	FIELD_SHORT(struct dense_layer, units, FT_INT, "", 1, 1 << 24, "output features"),
	FIELD_BOOL(struct dense_layer, bias, "true", "add a bias to each output"),
	FIELD_ENUM(struct dense_layer, init, "he_uniform", weight_init_names,
	           "first values of the weights"),
	ACTIVATION_FIELD(struct dense_layer), FIELD_END
};

static int emit_dense(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	const struct dense_layer *l = data;
	TRY(nn_dense(b, path, l->units, l->bias, (enum weight_init)l->init, x, y));
	return emit_activation(b, path, l->activation, y);
}

static const struct field batch_norm_fields[] = {
	FIELD_FLOAT(struct nn_batch_norm, eps, "1e-5", 1e-12, 1, "added to the variance"),
	FIELD_FLOAT(struct nn_batch_norm, momentum, "0.1", 0, 1,
	            "share of the new batch in the running statistics"),
	FIELD_FLOAT(struct nn_batch_norm, gamma_init, "1", -1e3, 1e3, "first value of the scale"),
	FIELD_END
};

static int emit_batch_norm(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	return nn_batch_norm(b, path, data, x, y);
}

/* group_norm, instance_norm, layer_norm */
#define NORM_EPS FIELD_FLOAT(struct nn_group_norm, eps, "1e-5", 1e-12, 1, "added to the variance")
#define NORM_AFFINE(dflt)                            \
	FIELD_BOOL(struct nn_group_norm, affine, dflt, \
	           "scale and shift the results by two trained parameters for each channel")
static const struct field group_norm_fields[] = {
	FIELD_SHORT(struct nn_group_norm, groups, FT_INT, "", 1, 1 << 20,
	            "groups of neighbouring channels; they divide the channels"),
	NORM_EPS, NORM_AFFINE("true"), FIELD_END
};
static const struct field instance_norm_fields[] = { NORM_EPS, NORM_AFFINE("false"), FIELD_END };
static const struct field layer_norm_fields[] = { NORM_EPS, NORM_AFFINE("true"), FIELD_END };

static int emit_group_norm(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	return nn_group_norm(b, path, NN_NORM_GROUPS, data, x, y);
}

static int emit_instance_norm(struct model_build *b, const char *path, const void *data, tid x,
                              tid *y)
{
	return nn_group_norm(b, path, NN_NORM_CHANNELS, data, x, y);
}

static int emit_layer_norm(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	return nn_group_norm(b, path, NN_NORM_POINTS, data, x, y);
}

struct dropout_layer {
	double rate;
};
static const struct field dropout_fields[] = {
	FIELD_SHORT(struct dropout_layer, rate, FT_FLOAT, "0.5", 0, 0.99,
	            "share of the values set to zero in training"),
	FIELD_END
};

static int emit_dropout(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	const struct dropout_layer *l = data;
	return nn_dropout(b, path, l->rate, x, y);
}

static int emit_flatten(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	const struct shape *s = &graph_t(b->g, x)->shape;
	struct op_attr t = op_attr_new(b->g->arena, "reshape");
	int64_t to[2] = { s->d[0], shape_count(s) / s->d[0] };
	op_attr_ints(&t, "shape", 2, to);
	return nn_op(b, path, "reshape", t.data, 1, &x, y);
}

/* --- resize and adaptive pooling, which are one op --- */

#define MAX_SIZE (1 << 24)

struct resize_layer {
	struct ints size;
	struct floats factor;
	int mode;
	bool align_corners;
};
static const char *const resize_modes[] = { "bilinear", "nearest", "area", NULL };
static const struct field resize_fields[] = {
	FIELD_SHORT(struct resize_layer, size, FT_INTS, NULL, 1, MAX_SIZE,
	            "spatial size of the result, one for all axes or one for each; or factor"),
	FIELD_FLOATS(struct resize_layer, factor, NULL, 1e-6, 1e6,
	             "factor on the spatial size, instead of size: one for all axes or one "
	             "for each; the "
	             "product is rounded down"),
	FIELD_ENUM(struct resize_layer, mode, "bilinear", resize_modes,
	           "linear along each axis, nearest, or means (adaptive average pooling)"),
	FIELD_BOOL(struct resize_layer, align_corners, "false",
	           "map corner onto corner (bilinear only)"),
	FIELD_END
};

static int check_resize(struct arena *a, const char *kind, const struct ynode *map,
                        const struct loc *loc, const void *data)
{
	const struct resize_layer *l = data;
	(void)a;
	if (l->size.n && l->factor.n)
		return ERR(E_CONFIG, key_loc(map, "factor", loc), "'%s' takes 'size' or 'factor', not both",
		           kind);
	if (!l->size.n && !l->factor.n)
		return ERR(E_CONFIG, loc, "'%s' needs 'size' or 'factor'", kind);
	return 0;
}

static int resized(struct model_build *b, const struct floats *factor, const struct shape *x,
                   int64_t size[MAXD])
{
	if (factor->n > 1 && factor->n != x->nd - 2)
		return ERR(E_CONFIG, &b->loc,
		           "'factor' has %d numbers; expected one, or one for each of %d axes", factor->n,
		           x->nd - 2);
	for (int i = 0; i + 2 < x->nd; i++) {
		double want = floor((double)x->d[i + 2] * factor->v[factor->n == 1 ? 0 : i]);
		if (!(want >= 1 && want <= MAX_SIZE))
			return ERR(E_SHAPE, &b->loc,
			           "'factor' makes an axis of %lld values one of %.0f; expected 1 to %d",
			           (long long)x->d[i + 2], want, MAX_SIZE);
		size[i] = (int64_t)want;
	}
	return 0;
}

static int emit_resize(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	const struct resize_layer *l = data;
	const struct shape *s = &graph_t(b->g, x)->shape;
	struct op_attr t = op_attr_new(b->g->arena, "resize");
	int64_t size[MAXD];
	op_attr_int(&t, "mode", l->mode);
	op_attr_int(&t, "align_corners", l->align_corners);
	op_attr_ints(&t, "size", l->size.n, l->size.v);
	if (l->factor.n && s->nd > 2) {
		TRY(resized(b, &l->factor, s, size));
		op_attr_ints(&t, "size", s->nd - 2, size);
	}
	return nn_op(b, path, "resize", t.data, 1, &x, y);
}

struct adaptive_layer {
	struct ints size;
};
static const struct field adaptive_fields[] = {
	FIELD_SHORT(struct adaptive_layer, size, FT_INTS, "", 1, MAX_SIZE,
	            "spatial size of the result, one for all axes or one for each"),
	FIELD_END
};

static int emit_adaptive(struct model_build *b, const char *path, const void *data, tid x, tid *y)
{
	const struct adaptive_layer *l = data;
	struct op_attr t = op_attr_new(b->g->arena, "resize");
	op_attr_int(&t, "mode", RESIZE_AREA);
	op_attr_ints(&t, "size", l->size.n, l->size.v);
	return nn_op(b, path, "resize", t.data, 1, &x, y);
}

/* --- the table --- */

#define CONV sizeof(struct conv_layer)
static const struct layer_kind kinds[] = {
	{ { "conv1d", "convolution over the one axis of space or time", conv_fields, CONV },
	  check_conv,
	  emit_conv1d },
	{ { "conv2d", "convolution over height and width", conv_fields, CONV },
	  check_conv,
	  emit_conv2d },
	{ { "conv3d", "convolution over depth, height and width", conv_fields, CONV },
	  check_conv,
	  emit_conv3d },
	{ { "conv_transpose1d", "transposed convolution over the one axis of space or time",
	    transposed_fields, CONV },
	  check_conv,
	  emit_conv_transpose1d },
	{ { "conv_transpose2d", "transposed convolution over height and width", transposed_fields,
	    CONV },
	  check_conv,
	  emit_conv_transpose2d },
	{ { "conv_transpose3d", "transposed convolution over depth, height and width",
	    transposed_fields, CONV },
	  check_conv,
	  emit_conv_transpose3d },
	{ { "dense", "every output from every input", dense_fields, sizeof(struct dense_layer) },
	  NULL,
	  emit_dense },
	{ { "batch_norm", "normalises each channel over the batch, then scales and shifts it",
	    batch_norm_fields, sizeof(struct nn_batch_norm) },
	  NULL,
	  emit_batch_norm },
	{ { "group_norm", "normalises groups of channels of each sample, then scales and shifts them",
	    group_norm_fields, sizeof(struct nn_group_norm) },
	  NULL,
	  emit_group_norm },
	{ { "instance_norm", "normalises each channel of each sample", instance_norm_fields,
	    sizeof(struct nn_group_norm) },
	  NULL,
	  emit_instance_norm },
	{ { "layer_norm", "normalises the channels of each point, then scales and shifts them",
	    layer_norm_fields, sizeof(struct nn_group_norm) },
	  NULL,
	  emit_layer_norm },
	{ { "dropout", "sets a random share of the values to zero, in training only", dropout_fields,
	    sizeof(struct dropout_layer) },
	  NULL,
	  emit_dropout },
	{ { "resize", "resamples the spatial axes to a given size", resize_fields,
	    sizeof(struct resize_layer) },
	  check_resize,
	  emit_resize },
	{ { "adaptive_average_pool", "means over windows that make a given spatial size",
	    adaptive_fields, sizeof(struct adaptive_layer) },
	  NULL,
	  emit_adaptive },
	{ { "flatten", "all axes but the first as one", NULL, 0 }, NULL, emit_flatten },
};
#define NKINDS ((int)(sizeof kinds / sizeof *kinds))

const struct layer_kind *layer_kind_find(const char *name)
{
	for (int i = 0; i < NKINDS; i++)
		if (strcmp(kinds[i].v.name, name) == 0)
			return &kinds[i];
	return NULL;
}

struct variant *layer_variants(struct arena *a, int more, int *n)
{
	int nops = 0;
	while (op_at(nops))
		nops++;
	struct variant *v = ARENA_ARRAY(a, struct variant, NKINDS + nops + more + 1);
	*n = 0;
	for (int i = 0; i < NKINDS; i++)
		v[(*n)++] = kinds[i].v;
	for (int i = 0; i < nops; i++) {
		const struct op *op = op_at(i);
		if ((op->flags & OP_LAYER) && !layer_kind_find(op->name))
			v[(*n)++] = (struct variant){ op->name, op->doc, op->attrs, op->attr_size };
	}
	return v;
}
