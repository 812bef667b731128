/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 3D U-Net: labels for every point of a volume (Cicek et al. 2016, arXiv:1606.06650), with padding
 * so that input and output have one size, as Oyama et al. 2020 (arXiv:2007.12856) trained it. With
 * f = filters and three levels:
 *
 *   down1 (f, 2f) ------------------------ skip ----------------------- up1 (2f, 2f)  output
 *       pool  down2 (2f, 4f) ------------- skip ------------- up2 (4f, 4f)  deconv1
 *                 pool  down3 (4f, 8f) --- skip --- up3 (8f, 8f)  deconv2
 *                           pool  bottom (8f, 16f)  deconv3
 *
 *   (a, b)   twice: conv 3 [batch norm] leaky relu, to a and then to b filters
 *   pool     max 2/2
 *   deconv   transposed conv 2/2 that keeps its filters; the skip is put after them
 *
 * Any size works: a pool covers an odd last plane by a smaller window, and a deconv produces the
 * skip's size. */
#include "base/err.h"
#include "model/op_attr.h"
#include "model/unet3d.h"

#define MAX_LEVELS 8

const struct field unet3d_fields[] = {
	MODEL_COMMON_FIELDS(struct unet3d),
	FIELD_INT(struct unet3d, filters, "32", 1, 1 << 16,
	          "filters of the first convolution; they double at the second one of each level"),
	FIELD_INT(struct unet3d, levels, "3", 1, MAX_LEVELS,
	          "number of times the resolution is halved"),
	FIELD_BOOL(struct unet3d, conv_bias, "false", "add a bias to the convolutions of blocks"),
	FIELD_BOOL(struct unet3d, output_bias, "false", "add a bias to the last convolution"),
	FIELD_BOOL(struct unet3d, batch_norm, "true",
	           "batch norm between convolution and activation"),
	FIELD_FLOAT(struct unet3d, eps, "1e-5", 1e-12, 1, "batch norm: added to the variance"),
	FIELD_FLOAT(struct unet3d, momentum, "0.1", 0, 1,
	            "batch norm: share of the new batch in the running statistics"),
	FIELD_FLOAT(struct unet3d, slope, "0.01", 0, 1e3,
	            "leaky ReLU: factor for values below zero; 0: a plain ReLU"),
	FIELD_ENUM(struct unet3d, init, "he_normal", weight_init_names,
	           "initial values of the weights"),
	FIELD_END
};

const struct preset unet3d_presets[] = {
	{ "lits",
	  "Oyama et al. 2020 for the LiTS volumes of livers; also the defaults. "
	  "The slope is that of their "
	  "program, although its scripts ask for 0",
	  "filters: 32, levels: 3, conv_bias: false, output_bias: false, batch_norm: true, eps: 1e-5, "
	  "momentum: 0.1, slope: 0.01, init: he_normal" },
	{ 0 }
};

/* --- parts --- */

static const struct unet3d *config(const struct model_build *b)
{
	return b->config;
}

static const char *path(struct model_build *b, const char *part, int level)
{
	return arena_printf(b->arena, "%s%d", part, level + 1);
}

static int activation(struct model_build *b, const char *name, tid x, tid *y)
{
	if (config(b)->slope == 0)
		return nn_relu(b, name, x, y);
	struct op_attr t = op_attr_new(b->g->arena, "leaky_relu");
	op_attr_float(&t, "slope", config(b)->slope);
	return nn_op(b, name, "leaky_relu", t.data, 1, &x, y);
}

static int conv(struct model_build *b, const char *name, int64_t filters, int64_t kernel, bool bias,
                tid x, tid *y)
{
	struct nn_conv c = nn_conv_same(filters, kernel, 1, bias, (enum weight_init)config(b)->init);
	return nn_conv(b, name, &c, x, y);
}

/* --- the rows of the table --- */

static int layer(struct model_build *b, const char *block, int i, int64_t filters, tid x, tid *y)
{
	const struct unet3d *c = config(b);
	struct nn_batch_norm norm = { c->eps, c->momentum, 1 };
	const char *part = arena_printf(b->arena, "%s.conv", block);
	TRY(conv(b, path(b, part, i), filters, 3, c->conv_bias, x, y));
	if (c->batch_norm)
		TRY(nn_batch_norm(b, path(b, arena_printf(b->arena, "%s.norm", block), i), &norm, *y, y));
	return activation(b, path(b, arena_printf(b->arena, "%s.act", block), i), *y, y);
}

static int block(struct model_build *b, const char *name, int64_t first, int64_t second, tid x,
                 tid *y)
{
	TRY(layer(b, name, 0, first, x, y));
	return layer(b, name, 1, second, *y, y);
}

/* Upsamples x to the size of the skip, and appends the skip's channels. */
static int rise(struct model_build *b, int level, tid skip, tid x, tid *y)
{
	const struct shape *s = &graph_t(b->g, skip)->shape;
	struct nn_conv up = { .filters = graph_t(b->g, x)->shape.d[1],
		                  .kernel = { 2, 2, 2 },
		                  .stride = { 2, 2, 2 },
		                  .padding = PADDING_SAME,
		                  .init = (enum weight_init)config(b)->init };
	for (int a = 2; a < s->nd; a++)
		up.output_size[a - 2] = s->d[a];
	TRY(nn_conv_transpose(b, path(b, "deconv", level), &up, x, y));
	return nn_concat(b, path(b, "concat", level), 2, (tid[]){ *y, skip }, y);
}

int unet3d_check(struct arena *a, const void *config, const struct loc *loc)
{
	return 0;
}

int unet3d_build(struct model_build *b, tid *out)
{
	const struct unet3d *c = config(b);
	int levels = (int)c->levels;
	int64_t f = c->filters;
	tid x = b->input, skip[MAX_LEVELS];
	for (int i = 0; i < levels; i++, f *= 2) {
		TRY(block(b, path(b, "down", i), f, 2 * f, x, &skip[i]));
		TRY(nn_pool(b, path(b, "pool", i), "max_pool", 2, 2, skip[i], &x));
	}
	TRY(block(b, "bottom", f, 2 * f, x, &x));
	for (int i = levels - 1; i >= 0; i--, f /= 2) {
		TRY(rise(b, i, skip[i], x, &x));
		TRY(block(b, path(b, "up", i), f, f, x, &x));
	}
	return conv(b, "output", b->classes, 1, c->output_bias, x, out);
}
