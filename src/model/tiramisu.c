/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiramisu: an FC-DenseNet (Jegou et al. 2017, arXiv:1611.09326) as rebuilt for extreme weather by
 * Kurth et al. 2018 (arXiv:1810.01993), whose network on Summit the defaults are.
 *
 *   conv_input                                           conv_output
 *       dense_0 ---------------- skip ---------------- dense_2n
 *         down_0                                       up_n-1
 *             ...                                     ...
 *                     down_n-1 - dense_n - up_0
 *
 *   layer            Kurth: conv, [batch norm], relu, dropout. Jegou: batch norm, relu, conv,
 *                    dropout
 *   dense block layers of `growth` maps; each sees the block's input and all maps
 *   before its own transition down 1x1 layer, channels kept, that halves the
 *   resolution: Kurth by its stride, Jegou
 *                    by 2x2 max pooling after it
 *   transition up    transposed convolution 3x3/2 of the maps that the block below added; then the
 *                    skip's. The window of input i begins at output 2i; what is left over is cut
 *                    off
 *   conv_input       Kurth: a layer. Jegou: a 3x3 convolution alone
 *
 * All convolutions have a bias. */
#include "base/err.h"
#include "model/op_attr.h"
#include "model/tiramisu.h"

#define MAX_BLOCKS 11

static const char *const order_names[] = { [TIRAMISU_CONV_FIRST] = "conv_first",
	                                       [TIRAMISU_NORM_FIRST] = "norm_first", NULL };
static const char *const down_names[] = { [TIRAMISU_STRIDED] = "strided_conv",
	                                      [TIRAMISU_MAX_POOL] = "max_pool", NULL };

const struct field tiramisu_fields[] = {
	MODEL_COMMON_FIELDS(struct tiramisu),
	FIELD_INTS(struct tiramisu, blocks, "[2, 2, 2, 4, 5]", 1, 1000,
	           "layers of the dense blocks from the input down; the last is the bottleneck, the "
	           "others follow in reverse on the way up"),
	FIELD_INT(struct tiramisu, growth, "32", 1, 1 << 16, "feature maps each layer adds"),
	FIELD_INT(struct tiramisu, kernel, "5", 1, 255, "kernel of the layers"),
	FIELD_INT(struct tiramisu, initial_filters, "64", 1, 1 << 16,
	          "feature maps of the first convolution; its kernel is `kernel` too"),
	FIELD_ENUM(struct tiramisu, order, "conv_first", order_names,
	           "convolution, batch norm, ReLU (Kurth), or batch norm, ReLU, convolution, after a "
	           "first convolution alone (Jegou)"),
	FIELD_ENUM(struct tiramisu, transition_down, "strided_conv", down_names,
	           "how transitions down halve the resolution"),
	FIELD_BOOL(struct tiramisu, unused_transition, "true",
	           "keep a transition down after the bottleneck, whose weights affect nothing, as "
	           "the published counts do; it costs no arithmetic"),
	FIELD_BOOL(struct tiramisu, batch_norm, "false", "batch norm in layers and transitions down"),
	FIELD_FLOAT(struct tiramisu, eps, "1e-5", 1e-12, 1, "batch norm: added to the variance"),
	FIELD_FLOAT(struct tiramisu, momentum, "0.1", 0, 1,
	            "batch norm: share of the new batch in the running statistics"),
	FIELD_FLOAT(struct tiramisu, dropout, "0.2", 0, 0.99,
	            "share of the values that the dropout after each layer sets to zero in training"),
	FIELD_BOOL(struct tiramisu, output_dropout, "true", "dropout after the output convolution too"),
	FIELD_ENUM(struct tiramisu, init, "he_uniform", weight_init_names,
	           "initial values of the weights"),
	FIELD_END
};

#define KURTH                                                                                   \
	"blocks: [2, 2, 2, 4, 5], growth: 32, kernel: 5, order: conv_first, batch_norm: false, "    \
	"transition_down: strided_conv, unused_transition: true, dropout: 0.2, "                    \
	"output_dropout: true, init: he_uniform, "
#define JEGOU                                                                                   \
	"initial_filters: 48, kernel: 3, order: norm_first, batch_norm: true, eps: 1.0e-4, "        \
	"momentum: 0.1, transition_down: max_pool, unused_transition: false, dropout: 0.2, "        \
	"output_dropout: false, init: he_uniform, "

const struct preset tiramisu_presets[] = {
	{ "sc18",
	  "Kurth et al. 2018 on Summit; also the defaults. Not copied: dropout in evaluation",
	  KURTH "initial_filters: 64" },
	{ "daint", "Kurth et al. 2018 on Piz Daint, where the input has 4 channels",
	  KURTH "initial_filters: 48" },
	{ "fc-densenet56", "Jegou et al. 2017, 1.4 million parameters",
	  JEGOU "growth: 12, blocks: [4, 4, 4, 4, 4, 4]" },
	{ "fc-densenet67", "Jegou et al. 2017, 3.5 million parameters",
	  JEGOU "growth: 16, blocks: [5, 5, 5, 5, 5, 5]" },
	{ "fc-densenet103", "Jegou et al. 2017, 9.3 million parameters",
	  JEGOU "growth: 16, blocks: [4, 5, 7, 10, 12, 15]" },
	{ 0 }
};

/* --- parts --- */

static const struct tiramisu *config(const struct model_build *b)
{
	return b->config;
}

static int64_t channels(const struct model_build *b, tid x)
{
	return graph_t(b->g, x)->shape.d[1];
}

static const char *path(struct model_build *b, const char *part, int i, const char *leaf)
{
	return arena_printf(b->arena, "%s_%d.%s", part, i, leaf);
}

static int conv(struct model_build *b, const char *name, int64_t filters, int64_t kernel,
                int64_t stride, tid x, tid *y)
{
	struct nn_conv c = nn_conv_same(filters, kernel, stride, true,
	                                (enum weight_init)config(b)->init);
	return nn_conv(b, name, &c, x, y);
}

/* [batch norm], relu. at: what is before the part's own name. */
static int activation(struct model_build *b, const char *at, tid x, tid *y)
{
	struct nn_batch_norm c = { config(b)->eps, config(b)->momentum, 1 };
	*y = x;
	if (config(b)->batch_norm)
		TRY(nn_batch_norm(b, arena_printf(b->arena, "%s.norm", at), &c, *y, y));
	return nn_op(b, arena_printf(b->arena, "%s.relu", at), "relu", NULL, 1, (tid[]){ *y }, y);
}

static int layer(struct model_build *b, const char *at, int64_t filters, int64_t kernel,
                 int64_t stride, tid x, tid *y)
{
	const struct tiramisu *c = config(b);
	*y = x;
	if (c->order == TIRAMISU_NORM_FIRST)
		TRY(activation(b, at, *y, y));
	TRY(conv(b, arena_printf(b->arena, "%s.conv", at), filters, kernel, stride, *y, y));
	if (c->order == TIRAMISU_CONV_FIRST)
		TRY(activation(b, at, *y, y));
	return nn_dropout(b, arena_printf(b->arena, "%s.dropout", at), c->dropout, *y, y);
}

/* --- the rows of the table --- */

static int conv_input(struct model_build *b, tid *y)
{
	const struct tiramisu *c = config(b);
	if (c->order == TIRAMISU_NORM_FIRST)
		return conv(b, "conv_input.conv", c->initial_filters, c->kernel, 1, b->input, y);
	return layer(b, "conv_input", c->initial_filters, c->kernel, 1, b->input, y);
}

/* all: the input and every new map, (N, C + layers * growth, ...); added: the new maps alone. */
static int dense_block(struct model_build *b, int i, int layers, tid x, tid *all, tid *added)
{
	const struct tiramisu *c = config(b);
	tid *map = ARENA_ARRAY(b->arena, tid, layers);
	*all = x;
	for (int k = 0; k < layers; k++) {
		const char *at = arena_printf(b->arena, "dense_%d.%d", i, k);
		TRY(layer(b, at, c->growth, c->kernel, 1, *all, &map[k]));
		TRY(nn_concat(b, arena_printf(b->arena, "%s.concat", at), 2, (tid[]){ *all, map[k] }, all));
	}
	return nn_concat(b, path(b, "dense", i, "added"), layers, map, added);
}

/* A last row or column that fills no window is left out of pooling, as in the original. */
static int max_pool(struct model_build *b, const char *name, tid x, tid *y)
{
	struct op_attr t = op_attr_new(b->g->arena, "max_pool");
	op_attr_ints(&t, "kernel", 1, (const int64_t[]){ 2 });
	return nn_op(b, name, "max_pool", t.data, 1, &x, y);
}

static int transition_down(struct model_build *b, int i, tid x, tid *y)
{
	bool pooled = config(b)->transition_down == TIRAMISU_MAX_POOL;
	TRY(layer(b, arena_printf(b->arena, "down_%d", i), channels(b, x), 1, pooled ? 1 : 2, x, y));
	return pooled ? max_pool(b, path(b, "down", i, "pool"), *y, y) : 0;
}

/* Parameters of a layer that no output depends on. Its batch norm keeps no statistics, because they
 * would cost as much as the whole layer. */
static int unused_transition(struct model_build *b, int i, tid x)
{
	struct model_build still = *b;
	tid y;
	still.training = false;
	return transition_down(&still, i, x, &y);
}

/* added: of the block below; skip: from the way down. */
static int transition_up(struct model_build *b, int i, tid added, tid skip, tid *y)
{
	const struct shape *s = &graph_t(b->g, skip)->shape;
	struct nn_conv up = nn_conv_same(channels(b, added), 3, 2, true,
	                                 (enum weight_init)config(b)->init);
	for (int a = 2; a < s->nd; a++)
		up.output_size[a - 2] = s->d[a];
	TRY(nn_conv_transpose(b, path(b, "up", i, "conv"), &up, added, y));
	return nn_concat(b, path(b, "up", i, "concat"), 2, (tid[]){ *y, skip }, y);
}

int tiramisu_check(struct arena *a, const void *config, const struct loc *loc)
{
	const struct tiramisu *c = config;
	(void)a;
	if (c->blocks.n < 1 || c->blocks.n > MAX_BLOCKS)
		return ERR(E_CONFIG, loc, "'blocks' has %d numbers; expected 1 to %d", c->blocks.n,
		           MAX_BLOCKS);
	return 0;
}

int tiramisu_build(struct model_build *b, tid *out)
{
	const struct tiramisu *c = config(b);
	const int64_t *layers = c->blocks.v;
	int bottom = c->blocks.n - 1;
	tid x, added, skip[MAX_BLOCKS];
	TRY(tiramisu_check(b->arena, c, &b->loc));
	TRY(conv_input(b, &x));
	for (int i = 0; i < bottom; i++) {
		TRY(dense_block(b, i, (int)layers[i], x, &skip[i], &added));
		TRY(transition_down(b, i, skip[i], &x));
	}
	TRY(dense_block(b, bottom, (int)layers[bottom], x, &x, &added));
	if (c->unused_transition)
		TRY(unused_transition(b, bottom, x));
	for (int i = 0; i < bottom; i++) {
		int level = bottom - 1 - i;
		TRY(transition_up(b, i, added, skip[level], &x));
		TRY(dense_block(b, bottom + 1 + i, (int)layers[level], x, &x, &added));
	}
	TRY(conv(b, "conv_output", b->classes, 1, 1, x, out));
	return c->output_dropout ? nn_dropout(b, "conv_output.dropout", c->dropout, *out, out) : 0;
}
