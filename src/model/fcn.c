/* SPDX-License-Identifier: BSD-3-Clause
 *
 * FC-DenseNet: a U of dense blocks (Jegou et al. 2017, arXiv:1611.09326), as used for materials
 * imaging by Laanait et al. 2019 (arXiv:1909.11150), whose network the defaults are.
 *
 *   conv_init                                              conv_output
 *       dense_0 ------------------ skip ------------------ dense_2n
 *         down_0                                         up_n-1
 *            dense_1 ------------- skip ---------- dense_2n-1
 *               ...                               ...
 *                         down_n-1 - dense_n - up_0
 *
 *   dense layer      [batch norm] relu conv(growth) dropout; its maps are appended to its input
 *   transition down  [batch norm] relu conv 1x1 [dropout, with batch norm everywhere] pool 2/2
 *   transition up    transposed conv 2x of the maps that the block below added, before the skip's
 *
 * Any input size works: pooling covers an odd last row by a smaller window, and a transition up
 * produces the skip's size. */
#include "base/err.h"
#include "model/fcn.h"

#define MAX_POOLINGS 10

static const char *const pooling_names[] = { [FCN_MAX] = "max", [FCN_AVERAGE] = "average", NULL };
static const char *const norm_names[] = {
	[FCN_NORM_NONE] = "none",
	[FCN_NORM_TRANSITION_DOWN] = "transition_down",
	[FCN_NORM_ALL] = "all",
	NULL
};

const struct field fcn_fields[] = {
	MODEL_COMMON_FIELDS(struct fcn),
	FIELD_INT(struct fcn, growth, "256", 1, 1 << 16, "feature maps each dense layer adds"),
	FIELD_INT(struct fcn, kernel, "5", 1, 255, "kernel of the dense layers"),
	FIELD_INT(struct fcn, poolings, "3", 0, MAX_POOLINGS,
	          "number of times the resolution is halved"),
	FIELD_INTS(struct fcn, layers_per_block, "[1, 2, 4, 3, 4, 2, 1]", 1, 1000,
	           "dense layers in each of the 2 * poolings + 1 blocks from input to output; one "
	           "number: in every block"),
	FIELD_ENUM(struct fcn, pooling, "average", pooling_names, "pooling of a transition down"),
	FIELD_INT(struct fcn, transition_up_kernel, "1", 1, 255,
	          "kernel of the transposed convolutions; 1, as published, leaves every second row and "
	          "column empty, 3 does not"),
	FIELD_FLOAT(struct fcn, dropout, "0.2", 0, 0.99,
	            "share of the values a dense layer's dropout sets to zero"),
	FIELD_ENUM(struct fcn, batch_norm, "transition_down", norm_names,
	           "batch norm before ReLU: nowhere, in transitions down (Laanait), "
	           "in dense layers too (Jegou)"),
	FIELD_FLOAT(struct fcn, gamma_init, "0.1", -1e3, 1e3, "initial value of batch norm's scale"),
	FIELD_FLOAT(struct fcn, eps, "1e-5", 1e-12, 1, "batch norm: added to the variance"),
	FIELD_FLOAT(struct fcn, momentum, "0.1", 0, 1,
	            "batch norm: share of the new batch in the running statistics"),
	FIELD_INT(struct fcn, initial_filters, "0", 0, 1 << 16,
	          "feature maps of the first convolution; 0: growth"),
	FIELD_INT(struct fcn, initial_kernel, "0", 0, 255,
	          "kernel of the first convolution; 0: kernel"),
	FIELD_BOOL(struct fcn, initial_bias, "true", "add a bias to the first convolution"),
	FIELD_INT(struct fcn, output_kernel, "1", 1, 255, "kernel of the last convolution"),
	FIELD_BOOL(struct fcn, output_bias, "false", "add a bias to the last convolution"),
	FIELD_INT(struct fcn, width_multiple, "8", 1, 1024,
	          "widths of transitions are rounded down to a multiple of this"),
	FIELD_ENUM(struct fcn, init, "he_uniform", weight_init_names, "initial values of the weights"),
	FIELD_END
};

const struct preset fcn_presets[] = {
	{ "pool_avg", "the production network of Laanait et al. 2019; also the defaults",
	  "growth: 256, kernel: 5, poolings: 3, layers_per_block: [1, 2, 4, 3, 4, 2, 1], "
	  "pooling: average, transition_up_kernel: 1, batch_norm: transition_down, gamma_init: 0.1, "
	  "initial_bias: true, output_bias: false, width_multiple: 8, init: he_uniform" },
	{ 0 }
};

/* --- parts --- */

static const struct fcn *config(const struct model_build *b)
{
	return b->config;
}

static int64_t channels(const struct model_build *b, tid x)
{
	return graph_t(b->g, x)->shape.d[1];
}

static const char *path(struct model_build *b, const char *part, int i, const char *leaf, int j)
{
	return j < 0 ? arena_printf(b->arena, "%s_%d.%s", part, i, leaf)
	             : arena_printf(b->arena, "%s_%d.%s_%d", part, i, leaf, j);
}

static int conv(struct model_build *b, const char *name, int64_t filters, int64_t kernel, bool bias,
                tid x, tid *y)
{
	struct nn_conv c = nn_conv_same(filters, kernel, 1, bias, (enum weight_init)config(b)->init);
	return nn_conv(b, name, &c, x, y);
}

static int batch_norm(struct model_build *b, const char *name, tid x, tid *y)
{
	struct nn_batch_norm c = { config(b)->eps, config(b)->momentum, config(b)->gamma_init };
	return nn_batch_norm(b, name, &c, x, y);
}

/* Dense layers of block i. */
static int layers(const struct fcn *c, int i)
{
	return (int)c->layers_per_block.v[c->layers_per_block.n == 1 ? 0 : i];
}

/* The nearest multiple of width_multiple below n, if there is one. */
static int64_t width(const struct fcn *c, int64_t n)
{
	return n >= c->width_multiple ? n - n % c->width_multiple : n;
}

/* --- the rows of the table --- */

/* [batch norm, relu] conv, dropout. */
static int dense_layer(struct model_build *b, int block, int layer, tid x, tid *y)
{
	const struct fcn *c = config(b);
	*y = x;
	if (c->batch_norm == FCN_NORM_ALL) {
		TRY(batch_norm(b, path(b, "dense", block, "norm", layer), *y, y));
		TRY(nn_relu(b, path(b, "dense", block, "relu", layer), *y, y));
	}
	TRY(conv(b, path(b, "dense", block, "conv", layer), c->growth, c->kernel, false, *y, y));
	return nn_dropout(b, path(b, "dense", block, "dropout", layer), c->dropout, *y, y);
}

/* all: the input and every new map, (N, C + layers * growth, ...); added: only the new maps. If no
 * batch norm is between the concatenation and ReLU, the two are swapped: the values are the same,
 * and ReLU is applied once to each map instead of once for each layer that reads it. */
static int dense_block(struct model_build *b, int block, tid x, tid *all, tid *added)
{
	const struct fcn *c = config(b);
	int n = layers(c, block);
	tid *map = ARENA_ARRAY(b->arena, tid, n + 1), seen = NONE; /* x, then each layer's */
	map[0] = x;
	for (int i = 0; i < n; i++) {
		tid part = map[i];
		if (c->batch_norm != FCN_NORM_ALL)
			TRY(nn_relu(b, path(b, "dense", block, "relu", i), part, &part));
		tid in[2] = { i ? seen : part, part };
		TRY(nn_concat(b, path(b, "dense", block, "seen", i), i ? 2 : 1, in, &seen));
		TRY(dense_layer(b, block, i, seen, &map[i + 1]));
	}
	TRY(nn_concat(b, arena_printf(b->arena, "dense_%d.all", block), n + 1, map, all));
	return nn_concat(b, arena_printf(b->arena, "dense_%d.added", block), n, map + 1, added);
}

static int transition_down(struct model_build *b, int i, int64_t filters, tid x, tid *y)
{
	const struct fcn *c = config(b);
	*y = x;
	if (c->batch_norm != FCN_NORM_NONE)
		TRY(batch_norm(b, path(b, "down", i, "norm", -1), *y, y));
	TRY(nn_relu(b, path(b, "down", i, "relu", -1), *y, y));
	TRY(conv(b, path(b, "down", i, "conv", -1), filters, 1, false, *y, y));
	if (c->batch_norm == FCN_NORM_ALL)
		TRY(nn_dropout(b, path(b, "down", i, "dropout", -1), c->dropout, *y, y));
	return nn_pool(b, path(b, "down", i, "pool", -1),
	               c->pooling == FCN_MAX ? "max_pool" : "average_pool", 2, 2, *y, y);
}

/* added: of the block below; skip: from the way down. */
static int transition_up(struct model_build *b, int i, tid added, tid skip, tid *y)
{
	const struct fcn *c = config(b);
	const struct shape *s = &graph_t(b->g, skip)->shape;
	struct nn_conv up = nn_conv_same(width(c, channels(b, added)), c->transition_up_kernel, 2,
	                                 false, (enum weight_init)c->init);
	for (int a = 2; a < s->nd; a++)
		up.output_size[a - 2] = s->d[a];
	TRY(nn_conv_transpose(b, path(b, "up", i, "conv", -1), &up, added, y));
	return nn_concat(b, path(b, "up", i, "concat", -1), 2, (tid[]){ *y, skip }, y);
}

int fcn_check(struct arena *a, const void *config, const struct loc *loc)
{
	const struct fcn *c = config;
	long long blocks = 2 * (long long)c->poolings + 1;
	int n = c->layers_per_block.n;
	if (n != 1 && n != blocks)
		return ERR(E_CONFIG, loc,
		           "'layers_per_block' has %d numbers, but %lld poolings make %lld blocks; "
		           "give one number for each block or one for all",
		           n, (long long)c->poolings, blocks);
	return 0;
}

int fcn_build(struct model_build *b, tid *out)
{
	const struct fcn *c = config(b);
	int poolings = (int)c->poolings;
	tid x, added, skip[MAX_POOLINGS];
	TRY(fcn_check(b->arena, c, &b->loc));
	TRY(conv(b, "conv_init", c->initial_filters ? c->initial_filters : c->growth,
	         c->initial_kernel ? c->initial_kernel : c->kernel, c->initial_bias, b->input, &x));
	TRY(nn_relu(b, "relu_init", x, &x));
	int64_t filters = channels(b, x);
	for (int i = 0; i < poolings; i++) {
		TRY(dense_block(b, i, x, &skip[i], &added));
		filters += c->growth * layers(c, i);
		TRY(transition_down(b, i, width(c, filters), skip[i], &x));
	}
	TRY(dense_block(b, poolings, x, &x, &added));
	for (int i = 0; i < poolings; i++) {
		TRY(transition_up(b, i, added, skip[poolings - 1 - i], &x));
		TRY(dense_block(b, poolings + 1 + i, x, &x, &added));
	}
	return conv(b, "conv_output", b->classes, c->output_kernel, c->output_bias, x, out);
}
