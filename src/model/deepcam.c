/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DeepCAM of MLPerf HPC: DeepLabv3+ (Chen et al. 2018, arXiv:1802.02611) on a modified aligned
 * Xception of output stride 16, its decoder one of transposed convolutions. Parameters have the
 * names of the reference's state_dict.
 *
 *   conv1 3x3/2, conv2 3x3        32, 64
 *   block1, block2, block3        128, 256, 728; three separable convolutions, the last one strided
 *   block4 .. block19             728; three separable convolutions
 *   block20                       728, 1024, 1024
 *   conv3, conv4, conv5           1536, 1536, 2048; separable, dilation 2
 *   bottleneck                    1x1 | 3x3 at three rates | mean of the image, 1x1; concat, 1x1
 *   conv2                         what block1 makes, 1x1 to 48
 *   upsample                      up 4x, concat with that, conv, conv, conv 1x1, up 2x, up 2x
 *
 * A convolution has batch norm and ReLU and no bias; none of the three after the last two. A
 * separable convolution is a 3x3 for each channel by itself and a 1x1 across them, with nothing
 * between. Any input size works: each resolution is half of the one above it, rounded up, and a way
 * up produces the size that the way down had (the reference takes one size only). */
#include <math.h>

#include "base/err.h"
#include "model/deepcam.h"
#include "model/init.h"
#include "model/op_attr.h"

static const char *const low_level_names[] = {
	[DEEPCAM_RELU] = "rectified", [DEEPCAM_RAW] = "raw", NULL
};

const struct field deepcam_fields[] = {
	MODEL_COMMON_FIELDS(struct deepcam),
	FIELD_INTS(struct deepcam, widths, "[32, 64, 128, 256, 728, 1024, 1536, 2048]", 1, 1 << 16,
	           "feature maps of conv1, conv2, block1, block2, block3 to "
	           "block19, block20, conv3 and "
	           "conv4, conv5"),
	FIELD_INT(struct deepcam, middle_blocks, "16", 0, 1000,
	          "blocks between block3 and the one that widens; with 16 that is block20"),
	FIELD_INTS(struct deepcam, rates, "[6, 12, 18]", 1, 1 << 16,
	           "dilations of the pyramid's three 3x3 convolutions"),
	FIELD_INT(struct deepcam, aspp_filters, "256", 1, 1 << 16,
	          "feature maps of the pyramid's branches and of the decoder"),
	FIELD_INT(struct deepcam, low_level_filters, "48", 1, 1 << 16,
	          "feature maps of the decoder's low-level input"),
	FIELD_ENUM(struct deepcam, low_level, "rectified", low_level_names,
	           "input of the decoder from block1: after its ReLU (the "
	           "reference, whose ReLU works in "
	           "place) or before it (later submissions)"),
	FIELD_FLOAT(struct deepcam, eps, "1e-5", 1e-12, 1, "batch norm: added to the variance"),
	FIELD_FLOAT(struct deepcam, momentum, "0.1", 0, 1,
	            "batch norm: share of the new batch in the running statistics"),
	FIELD_END
};

const struct preset deepcam_presets[] = {
	{ "mlperf", "the reference of MLPerf HPC; also the defaults; its one bias starts at zero, its "
	            "restriction to 768 x 1152 pixels is not copied",
	  "widths: [32, 64, 128, 256, 728, 1024, 1536, 2048], middle_blocks: 16, rates: [6, 12, 18], "
	  "aspp_filters: 256, low_level_filters: 48, low_level: rectified, eps: 1e-5, momentum: 0.1" },
	{ 0 }
};

enum { STEM1, STEM2, ENTRY1, ENTRY2, MIDDLE, EXIT, EXIT_CONV, ENCODED, WIDTHS };

/* --- parts --- */

static const struct deepcam *config(const struct model_build *b)
{
	return b->config;
}

static const char *encoder_path(struct model_build *b, const char *part, int i)
{
	return arena_printf(b->arena, "xception_features.%s%d", part, i);
}

static struct nn_conv layer(int64_t filters, int64_t kernel, int64_t stride, int64_t dilation)
{
	int64_t pad = kernel / 2 * dilation;
	return (struct nn_conv){ .filters = filters,
		                     .kernel = { kernel, kernel, kernel },
		                     .stride = { stride, stride, stride },
		                     .dilation = { dilation, dilation, dilation },
		                     .padding = PADDING_EXPLICIT,
		                     .pad_lo = { pad, pad, pad },
		                     .pad_hi = { pad, pad, pad },
		                     .init = WI_HE_NORMAL };
}

/* PyTorch's own first values, uniform to 1 / sqrt(fan in), which the decoder has. */
static void as_pytorch(struct nn_conv *c)
{
	c->init = WI_LECUN_UNIFORM;
	c->init_value = 1 / sqrt(3);
}

static int relu(struct model_build *b, const char *path, tid x, tid *y)
{
	return nn_relu(b, nn_join(b, path, "relu"), x, y);
}

/* The reference wraps each batch norm, hence the names. */
static int norm(struct model_build *b, const char *path, tid x, tid *y)
{
	struct nn_batch_norm c = { config(b)->eps, config(b)->momentum, 1 };
	return nn_batch_norm(b, nn_join(b, path, "bn"), &c, x, y);
}

static int norm_relu(struct model_build *b, const char *path, tid x, tid *y)
{
	TRY(norm(b, path, x, y));
	return relu(b, path, *y, y);
}

static int conv_norm_relu(struct model_build *b, const char *conv, const char *bn,
                          const struct nn_conv *c, tid x, tid *y)
{
	TRY(nn_conv(b, conv, c, x, y));
	return norm_relu(b, bn, *y, y);
}

static int separable(struct model_build *b, const char *path, int64_t filters, int64_t stride,
                     int64_t dilation, tid x, tid *y)
{
	struct nn_conv depth = layer(nn_shape(b, x)->d[1], 3, stride, dilation);
	struct nn_conv point = layer(filters, 1, 1, 1);
	depth.groups = depth.filters;
	TRY(nn_conv(b, nn_join(b, path, "conv1"), &depth, x, y));
	return nn_conv(b, nn_join(b, path, "pointwise"), &point, *y, y);
}

static int broadcast(struct model_build *b, const char *path, const struct shape *s, tid x, tid *y)
{
	struct op_attr t = op_attr_new(b->g->arena, "broadcast");
	op_attr_ints(&t, "shape", s->nd, s->d);
	return nn_op(b, path, "broadcast", t.data, 1, &x, y);
}

/* --- encoder --- */

/* A block: separable convolutions to widths[0..n), each with batch norm, with ReLU between them;
 * then one more to the last width, strided, without either, if `extra`. The input is added, through
 * a 1x1 convolution where shapes differ. */
struct block {
	int n;
	int64_t widths[3], stride;
	bool extra, relu;
};

static int main_path(struct model_build *b, const char *path, const struct block *c, tid x, tid *y)
{
	int at = 0; /* the reference counts separable convolution, batch norm and ReLU through */
	*y = x;
	for (int i = 0; i < c->n; i++, at += 3) {
		TRY(separable(b, arena_printf(b->arena, "%s.rep.%d", path, at), c->widths[i], 1, 1, *y, y));
		const char *bn = arena_printf(b->arena, "%s.rep.%d", path, at + 1);
		TRY(i < c->n - 1 ? norm_relu(b, bn, *y, y) : norm(b, bn, *y, y));
	}
	return c->extra ? separable(b, arena_printf(b->arena, "%s.rep.%d", path, at - 1),
	                            c->widths[c->n - 1], c->stride, 1, *y, y)
	                : 0;
}

static int block(struct model_build *b, int i, const struct block *c, tid x, tid *y)
{
	const char *path = encoder_path(b, "block", i);
	struct nn_conv skip = layer(c->widths[c->n - 1], 1, c->stride, 1);
	tid sum[2];
	TRY(main_path(b, path, c, x, &sum[0]));
	sum[1] = x;
	if (c->stride > 1 || nn_shape(b, x)->d[1] != skip.filters) {
		TRY(nn_conv(b, nn_join(b, path, "skip"), &skip, x, &sum[1]));
		TRY(norm(b, nn_join(b, path, "skipbn"), sum[1], &sum[1]));
	}
	TRY(nn_op(b, nn_join(b, path, "add"), "add", NULL, 2, sum, y));
	return c->relu ? relu(b, path, *y, y) : 0;
}

/* size[i]: a tensor of the input's resolution halved i + 1 times. */
static int entry(struct model_build *b, tid *size, tid *low_level, tid *y)
{
	const int64_t *w = config(b)->widths.v;
	struct nn_conv first = layer(w[STEM1], 3, 2, 1), second = layer(w[STEM2], 3, 1, 1);
	TRY(conv_norm_relu(b, "xception_features.conv1", "xception_features.bn1", &first, b->input, y));
	TRY(conv_norm_relu(b, "xception_features.conv2", "xception_features.bn2", &second, *y, y));
	size[0] = *y;
	for (int i = 0; i < 3; i++) {
		int64_t width = w[ENTRY1 + i];
		struct block c = { 2, { width, width }, 2, .extra = true, .relu = i > 0 };
		TRY(block(b, 1 + i, &c, *y, y));
		size[1 + i] = *y;
		if (i > 0)
			continue;
		*low_level = *y;
		TRY(relu(b, encoder_path(b, "block", 1), *y, y));
		if (config(b)->low_level == DEEPCAM_RELU)
			*low_level = *y;
	}
	return 0;
}

static int middle_and_exit(struct model_build *b, tid x, tid *y)
{
	const struct deepcam *c = config(b);
	const int64_t *w = c->widths.v;
	struct block middle = { 3, { w[MIDDLE], w[MIDDLE], w[MIDDLE] }, 1, .relu = true };
	struct block widen = { 2, { w[MIDDLE], w[EXIT] }, 1, .extra = true };
	const int64_t last[] = { w[EXIT_CONV], w[EXIT_CONV], w[ENCODED] };
	int at = 4;
	*y = x;
	for (int i = 0; i < c->middle_blocks; i++)
		TRY(block(b, at++, &middle, *y, y));
	TRY(block(b, at, &widen, *y, y));
	for (int i = 0; i < 3; i++) {
		TRY(separable(b, encoder_path(b, "conv", 3 + i), last[i], 1, 2, *y, y));
		TRY(norm_relu(b, encoder_path(b, "bn", 3 + i), *y, y));
	}
	return 0;
}

/* --- pyramid and decoder --- */

/* A scale and a shift for each channel, trained, in place of the batch norm that the mean of one
 * image has no variance for. */
static int affine(struct model_build *b, const char *path, tid x, tid *y)
{
	static const char *const leaf[] = { "weights", "bias" }, *const op[] = { "multiply", "add" };
	struct shape s = { .nd = nn_shape(b, x)->nd - 1, .d = { nn_shape(b, x)->d[1], 1, 1, 1 } };
	*y = x;
	for (int i = 0; i < 2; i++) {
		tid in[2] = { *y };
		TRY(graph_param(b->g, nn_join(b, path, leaf[i]), DTYPE_F32, &s, init_constant(i == 0),
		                &in[1]));
		TRY(broadcast(b, path, nn_shape(b, x), in[1], &in[1]));
		TRY(nn_op(b, path, op[i], NULL, 2, in, y));
	}
	return 0;
}

static int image_level(struct model_build *b, tid x, tid *y)
{
	static const char path[] = "bottleneck.global_avg_pool.global_average_pool";
	struct nn_conv c = layer(config(b)->aspp_filters, 1, 1, 1);
	struct op_attr keep = op_attr_new(b->g->arena, "global_average");
	struct shape full = *nn_shape(b, x);
	full.d[1] = c.filters;
	op_attr_int(&keep, "keep", true);
	as_pytorch(&c);
	TRY(nn_op(b, nn_join(b, path, "0"), "global_average", keep.data, 1, &x, y));
	TRY(nn_conv(b, nn_join(b, path, "1"), &c, *y, y));
	TRY(affine(b, nn_join(b, path, "2"), *y, y));
	TRY(relu(b, path, *y, y));
	return broadcast(b, "bottleneck.tile", &full, *y, y);
}

static int bottleneck(struct model_build *b, tid x, tid *y)
{
	const struct deepcam *c = config(b);
	struct nn_conv merge = layer(c->aspp_filters, 1, 1, 1);
	tid branch[5];
	as_pytorch(&merge);
	for (int i = 0; i < 4; i++) {
		const char *path = arena_printf(b->arena, "bottleneck.aspp%d", i + 1);
		struct nn_conv conv = i ? layer(c->aspp_filters, 3, 1, c->rates.v[i - 1])
		                        : layer(c->aspp_filters, 1, 1, 1);
		TRY(conv_norm_relu(b, nn_join(b, path, "atrous_convolution"), nn_join(b, path, "bn"), &conv,
		                   x, &branch[i]));
	}
	TRY(image_level(b, x, &branch[4]));
	TRY(nn_concat(b, "bottleneck.concat", 5, branch, y));
	return conv_norm_relu(b, "bottleneck.conv", "bottleneck.bn", &merge, *y, y);
}

/* Twice the resolution, to the size of `like`; the odd row and column of padding at the start. */
static int deconv(struct model_build *b, const char *path, int64_t filters, tid like, tid x, tid *y)
{
	struct nn_conv up = layer(filters, 3, 2, 1);
	as_pytorch(&up);
	for (int i = 0; i < nn_shape(b, x)->nd - 2; i++)
		up.output_padding[i] = nn_shape(b, like)->d[2 + i] % 2 == 0;
	return nn_conv_transpose(b, path, &up, x, y);
}

static int upsample(struct model_build *b, const tid *size, tid low_level, tid x, tid *out)
{
	int64_t filters = config(b)->aspp_filters;
	struct nn_conv conv = layer(filters, 3, 1, 1), mix = layer(filters, 1, 1, 1);
	as_pytorch(&conv);
	as_pytorch(&mix);
	mix.bias = true;
	TRY(deconv(b, "upsample.deconv1.0", filters, size[2], x, &x));
	TRY(norm_relu(b, "upsample.deconv1.1", x, &x));
	TRY(deconv(b, "upsample.deconv1.3", filters, size[1], x, &x));
	TRY(norm_relu(b, "upsample.deconv1.4", x, &x));
	TRY(nn_concat(b, "upsample.concat", 2, (tid[]){ x, low_level }, &x));
	TRY(conv_norm_relu(b, "upsample.conv1.0", "upsample.conv1.1", &conv, x, &x));
	TRY(conv_norm_relu(b, "upsample.conv1.3", "upsample.conv1.4", &conv, x, &x));
	TRY(nn_conv(b, "upsample.conv1.6", &mix, x, &x));
	TRY(deconv(b, "upsample.deconv2.0", filters, size[0], x, &x));
	TRY(norm_relu(b, "upsample.deconv2.1", x, &x));
	return deconv(b, "upsample.last_deconv.0", b->classes, b->input, x, out);
}

int deepcam_check(struct arena *a, const void *config, const struct loc *loc)
{
	const struct deepcam *c = config;
	if (c->widths.n != WIDTHS)
		return ERR(E_CONFIG, loc, "'widths' has %d numbers instead of %d", c->widths.n, WIDTHS);
	if (c->rates.n != 3)
		return ERR(E_CONFIG, loc,
		           "'rates' has %d numbers instead of 3, one for each 3x3 convolution", c->rates.n);
	return 0;
}

int deepcam_build(struct model_build *b, tid *out)
{
	struct nn_conv low = layer(config(b)->low_level_filters, 1, 1, 1);
	tid x, low_level, size[4];
	TRY(deepcam_check(b->arena, config(b), &b->loc));
	as_pytorch(&low);
	TRY(entry(b, size, &low_level, &x));
	TRY(middle_and_exit(b, x, &x));
	TRY(bottleneck(b, x, &x));
	TRY(conv_norm_relu(b, "conv2", "bn2", &low, low_level, &low_level));
	return upsample(b, size, low_level, x, out);
}
