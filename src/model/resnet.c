/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ResNet (He et al. 2015, arXiv:1512.03385) as torchvision has it, with its names and first values.
 * It is known as v1.5: a bottleneck that halves the resolution does so in its 3x3 convolution, not
 * in the 1x1 before.
 *
 *   conv1 7x7/2, bn1, relu, max pool 3x3/2
 *   layer1 .. layer4   blocks of 64, 128, 256, 512 filters; the first of layer2..4 has stride 2
 *   global average, fc
 *
 *   basic        conv 3x3/s, bn, relu, conv 3x3, bn                                 depth 18, 34
 *   bottleneck   conv 1x1, bn, relu, conv 3x3/s, bn, relu, conv 1x1 to 4 x filters, bn    50, 101
 *
 * A block's input is added before its last ReLU, by way of a 1x1/s
 * convolution and bn ("downsample") where shapes differ. No convolution
 * has a bias. Inputs may have two or three spatial axes. */
#include <math.h>

#include "base/err.h"
#include "model/op_attr.h"
#include "model/resnet.h"

#define STAGES 4

static const struct {
	int blocks[STAGES];
	bool bottleneck;
} depths[] = {
	{ { 2, 2, 2, 2 }, false },
	{ { 3, 4, 6, 3 }, false },
	{ { 3, 4, 6, 3 }, true },
	{ { 3, 4, 23, 3 }, true },
};
static const char *const depth_names[] = { "18", "34", "50", "101", NULL };

const struct field resnet_fields[] = {
	MODEL_COMMON_FIELDS(struct resnet),
	FIELD_ENUM(struct resnet, depth, "50", depth_names,
	           "layers with weights, downsampling not counted; 18 and 34 use "
	           "basic blocks, 50 and 101 "
	           "bottlenecks"),
	FIELD_BOOL(struct resnet, zero_init_residual, "false",
	           "start the last batch norm's scale of each block at zero, so that blocks start as "
	           "the identity (Goyal 2017)"),
	FIELD_FLOAT(struct resnet, eps, "1e-5", 1e-12, 1, "batch norm: added to the variance"),
	FIELD_FLOAT(struct resnet, momentum, "0.1", 0, 1,
	            "batch norm: share of the new batch in the running statistics"),
	FIELD_END
};

/* --- parts --- */

static const struct resnet *config(const struct model_build *b)
{
	return b->config;
}

/* "layer1.0" and "conv2" to "layer1.0.conv2". */
static const char *in(struct model_build *b, const char *block, const char *leaf)
{
	return *block ? arena_printf(b->arena, "%s.%s", block, leaf) : leaf;
}

static int conv(struct model_build *b, const char *path, int64_t filters, int64_t kernel,
                int64_t stride, tid x, tid *y)
{
	int64_t pad = kernel / 2; /* on both sides, whatever the stride */
	struct nn_conv c = { .filters = filters,
		                 .kernel = { kernel, kernel, kernel },
		                 .stride = { stride, stride, stride },
		                 .pad_lo = { pad, pad, pad },
		                 .pad_hi = { pad, pad, pad },
		                 .padding = PADDING_EXPLICIT,
		                 .init = WI_HE_NORMAL_FAN_OUT };
	return nn_conv(b, path, &c, x, y);
}

static int norm(struct model_build *b, const char *path, double gamma, tid x, tid *y)
{
	struct nn_batch_norm c = { config(b)->eps, config(b)->momentum, gamma };
	return nn_batch_norm(b, path, &c, x, y);
}

/* conv<i>, bn<i>, relu. */
static int unit(struct model_build *b, const char *block, int i, int64_t filters, int64_t kernel,
                int64_t stride, tid x, tid *y)
{
	TRY(conv(b, in(b, block, arena_printf(b->arena, "conv%d", i)), filters, kernel, stride, x, y));
	TRY(norm(b, in(b, block, arena_printf(b->arena, "bn%d", i)), 1, *y, y));
	return nn_relu(b, in(b, block, arena_printf(b->arena, "relu%d", i)), *y, y);
}

static int max_pool(struct model_build *b, tid x, tid *y)
{
	struct op_attr t = op_attr_new(b->g->arena, "max_pool");
	op_attr_ints(&t, "kernel", 1, (const int64_t[]){ 3 });
	op_attr_ints(&t, "stride", 1, (const int64_t[]){ 2 });
	op_attr_ints(&t, "pad_lo", 1, (const int64_t[]){ 1 });
	op_attr_ints(&t, "pad_hi", 1, (const int64_t[]){ 1 });
	return nn_op(b, "maxpool", "max_pool", t.data, 1, &x, y);
}

/* --- the rows of the table --- */

/* The shortcut that is added to the block's result, of `width` channels. */
static int shortcut(struct model_build *b, const char *block, int64_t width, int64_t stride, tid x,
                    tid *y)
{
	*y = x;
	if (stride == 1 && graph_t(b->g, x)->shape.d[1] == width)
		return 0;
	TRY(conv(b, in(b, block, "downsample.0"), width, 1, stride, x, y));
	return norm(b, in(b, block, "downsample.1"), 1, *y, y);
}

static int block(struct model_build *b, const char *path, int64_t filters, int64_t stride, tid x,
                 tid *y)
{
	bool bottleneck = depths[config(b)->depth].bottleneck;
	int64_t width = bottleneck ? 4 * filters : filters;
	tid sum[2];
	if (bottleneck) {
		TRY(unit(b, path, 1, filters, 1, 1, x, y));
		TRY(unit(b, path, 2, filters, 3, stride, *y, y));
		TRY(conv(b, in(b, path, "conv3"), width, 1, 1, *y, y));
	} else {
		TRY(unit(b, path, 1, filters, 3, stride, x, y));
		TRY(conv(b, in(b, path, "conv2"), width, 3, 1, *y, y));
	}
	TRY(norm(b, in(b, path, bottleneck ? "bn3" : "bn2"), config(b)->zero_init_residual ? 0 : 1, *y,
	         &sum[0]));
	TRY(shortcut(b, path, width, stride, x, &sum[1]));
	TRY(nn_op(b, in(b, path, "add"), "add", NULL, 2, sum, y));
	return nn_relu(b, in(b, path, "relu"), *y, y);
}

int resnet_build(struct model_build *b, tid *out)
{
	/* PyTorch's first values of a dense layer: uniform to 1 / sqrt(fan in) */
	struct nn_dense fc = { .units = b->classes,
		                   .bias = true,
		                   .init = WI_LECUN_UNIFORM,
		                   .init_value = 1 / sqrt(3) };
	tid x;
	TRY(unit(b, "", 1, 64, 7, 2, b->input, &x));
	TRY(max_pool(b, x, &x));
	for (int stage = 0; stage < STAGES; stage++)
		for (int i = 0; i < depths[config(b)->depth].blocks[stage]; i++)
			TRY(block(b, arena_printf(b->arena, "layer%d.%d", stage + 1, i), INT64_C(64) << stage,
			          stage > 0 && i == 0 ? 2 : 1, x, &x));
	TRY(nn_op(b, "avgpool", "global_average", NULL, 1, &x, &x));
	return nn_dense_layer(b, "fc", &fc, x, out);
}
