/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DeepLabv3+ (Chen et al. 2018, arXiv:1802.02611) on a pre-activation ResNet of output stride 8,
 * with the full-resolution decoder of Kurth et al. 2018 (arXiv:1810.01993), whose network the
 * defaults are.
 *
 *   conv1 7x7/2, max pool 3x3/2
 *   block1 (last unit strided), block2, block3 (dilation 2), block4 (dilation 4)
 *   aspp       1x1 | 3x3 at three rates | mean of the image, 1x1; concat, 1x1
 *   low level  what the first convolution of block1's last unit makes, 1x1 to 48
 *   decoder    up 2x, concat with low level, conv, conv, up 2x, up 2x; concat with the input after
 *              two convolutions of its own, conv, conv; logits
 *
 *   unit       norm relu ("preact") conv 1x1 norm relu, conv 3x3 norm relu, conv 1x1; plus the
 *              unit's input, strided, or the preact through a 1x1 convolution where the width
 *              changes
 *
 * Any input size works: each resolution is half of the one above it, rounded up, and a way up
 * produces the size that the way down had. */
#include "base/err.h"
#include "model/deeplab.h"
#include "model/op_attr.h"

static const char *const backbone_names[] = {
	[DEEPLAB_RESNET50] = "resnet50", [DEEPLAB_RESNET101] = "resnet101", NULL
};
static const char *const decoder_names[] = { [DEEPLAB_DECONV1X] = "deconv1x",
	                                         [DEEPLAB_DECONV] = "deconv",
	                                         [DEEPLAB_BILINEAR] = "bilinear",
	                                         NULL };
static const char *const alignment_names[] = { [DEEPLAB_TENSORFLOW] = "tensorflow",
	                                           [DEEPLAB_PYTORCH] = "pytorch",
	                                           NULL };

const struct field deeplab_fields[] = {
	MODEL_COMMON_FIELDS(struct deeplab),
	FIELD_ENUM(struct deeplab, backbone, "resnet50", backbone_names,
	           "3, 4, 6, 3 units in the four blocks, or 3, 4, 23, 3"),
	FIELD_ENUM(struct deeplab, decoder, "deconv1x", decoder_names,
	           "upsampling of the logits to full resolution: transposed "
	           "convolutions, and convolutions at "
	           "full resolution that read the input again; transposed "
	           "convolutions; bilinear resizing "
	           "(pixel centres aligned; the shifted grid of early TensorFlow is not copied)"),
	FIELD_INT(struct deeplab, filters, "64", 4, 1 << 12,
	          "feature maps of the first convolution; the blocks have 4, "
	          "8, 16 and 32 times as many"),
	FIELD_INT(struct deeplab, aspp_filters, "256", 1, 1 << 16,
	          "feature maps of the pyramid's branches and of the decoder"),
	FIELD_INT(struct deeplab, low_level_filters, "48", 1, 1 << 16,
	          "feature maps of the decoder's low-level input"),
	FIELD_INTS(struct deeplab, rates, "[12, 24, 36]", 1, 1 << 16,
	           "dilations of the pyramid's three 3x3 convolutions"),
	FIELD_BOOL(struct deeplab, batch_norm, "true",
	           "false: a multiplication with norm_factor wherever batch norm would be"),
	FIELD_FLOAT(struct deeplab, norm_factor, "0.5", 1e-6, 1e6,
	            "stands in for batch norm when batch_norm is false"),
	FIELD_BOOL(struct deeplab, image_affine, "false",
	           "a trained scale and shift of each channel instead of the image "
	           "level's batch norm, which "
	           "needs more than one image in a batch"),
	FIELD_BOOL(struct deeplab, preact_relu, "true",
	           "ReLU in the pre-activation of a unit; false in the "
	           "published runs without batch norm"),
	FIELD_BOOL(struct deeplab, postnorm, "false",
	           "keep the parameters of the unused batch norm after block4; they are never updated"),
	FIELD_FLOAT(struct deeplab, eps, "1e-5", 1e-12, 1, "batch norm: added to the variance"),
	FIELD_FLOAT(struct deeplab, momentum, "3e-4", 0, 1,
	            "batch norm: share of the new batch in the running statistics"),
	FIELD_ENUM(struct deeplab, alignment, "tensorflow", alignment_names,
	           "place of the odd row and column of padding of a max pool or a "
	           "transposed convolution: at "
	           "the end, or at the start"),
	FIELD_ENUM(struct deeplab, init, "he_normal", weight_init_names,
	           "initial values of all weights but the decoder's (published: "
	           "he_normal truncated at two "
	           "standard deviations; this one is not truncated)"),
	FIELD_ENUM(struct deeplab, decoder_init, "he_uniform", weight_init_names,
	           "initial values of the decoder's transposed and full-resolution convolutions"),
	FIELD_END
};

#define SC18 \
	"backbone: resnet50, decoder: deconv1x, filters: 64, aspp_filters: 256, "              \
	"low_level_filters: 48, rates: [12, 24, 36], norm_factor: 0.5, eps: 1e-5, "            \
	"momentum: 3e-4, alignment: tensorflow, init: he_normal, decoder_init: he_uniform, "
const struct preset deeplab_presets[] = {
	{ "sc18", "Kurth et al. 2018 with batch norm, its unread last one among the parameters; weight "
	          "decay and dropout, which had no effect there, are left out",
	  SC18 "batch_norm: true, image_affine: false, preact_relu: true, postnorm: true" },
	{ "sc18-no-batch-norm", "Kurth et al. 2018 as its convergence runs had it: a factor of 0.5 for "
	                        "each batch norm, no ReLU in pre-activations",
	  SC18 "batch_norm: false, image_affine: false, preact_relu: false, postnorm: false" },
	{ 0 }
};

#define BLOCKS 4
static const int units[][BLOCKS] = { [DEEPLAB_RESNET50] = { 3, 4, 6, 3 },
	                                 [DEEPLAB_RESNET101] = { 3, 4, 23, 3 } };
static const int dilations[BLOCKS] = { 1, 1, 2, 4 };

/* --- parts --- */

static const struct deeplab *config(const struct model_build *b)
{
	return b->config;
}

/* A convolution with (kernel - 1) / 2 * dilation of padding on both sides, whatever the stride. */
static struct nn_conv layer(const struct model_build *b, int64_t filters, int64_t kernel)
{
	int64_t pad = kernel / 2;
	return (struct nn_conv){ .filters = filters,
		                     .kernel = { kernel, kernel, kernel },
		                     .padding = PADDING_EXPLICIT,
		                     .pad_lo = { pad, pad, pad },
		                     .pad_hi = { pad, pad, pad },
		                     .init = (enum weight_init)config(b)->init };
}

static struct nn_conv linear_layer(const struct model_build *b, int64_t filters, int64_t kernel)
{
	struct nn_conv c = layer(b, filters, kernel);
	c.bias = true;
	return c;
}

static void dilate(struct nn_conv *c, int64_t rate)
{
	for (int i = 0; i < 3; i++) {
		c->dilation[i] = rate;
		c->pad_lo[i] *= rate;
		c->pad_hi[i] *= rate;
	}
}

/* Batch norm or what stands in for it. */
static int norm(struct model_build *b, const char *path, tid x, tid *y)
{
	const struct deeplab *c = config(b);
	struct nn_batch_norm n = { c->eps, c->momentum, 1 };
	struct op_attr t = op_attr_new(b->g->arena, "scale");
	if (c->batch_norm)
		return nn_batch_norm(b, path, &n, x, y);
	op_attr_float(&t, "factor", c->norm_factor);
	return nn_op(b, path, "scale", t.data, 1, &x, y);
}

/* PATH.conv, PATH.norm, PATH.relu */
static int conv_norm_relu(struct model_build *b, const char *path, const struct nn_conv *c, tid x,
                          tid *y)
{
	TRY(nn_conv(b, nn_join(b, path, "conv"), c, x, y));
	TRY(norm(b, nn_join(b, path, "norm"), *y, y));
	return nn_relu(b, nn_join(b, path, "relu"), *y, y);
}

static int resize(struct model_build *b, const char *path, tid like, tid x, tid *y)
{
	struct op_attr t = op_attr_new(b->g->arena, "resize");
	op_attr_ints(&t, "size", nn_shape(b, like)->nd - 2, nn_shape(b, like)->d + 2);
	return nn_op(b, path, "resize", t.data, 1, &x, y);
}

/* Max over every other 3x3 window. TensorFlow pads an even size at its end only. */
static int max_pool(struct model_build *b, const char *path, tid x, tid *y)
{
	struct op_attr t = op_attr_new(b->g->arena, "max_pool");
	const struct shape *s = nn_shape(b, x);
	int64_t lo[3], hi[3] = { 1, 1, 1 };
	for (int i = 2; i < s->nd; i++)
		lo[i - 2] = config(b)->alignment == DEEPLAB_PYTORCH || s->d[i] % 2;
	op_attr_ints(&t, "kernel", 1, (const int64_t[]){ 3 });
	op_attr_ints(&t, "stride", 1, (const int64_t[]){ 2 });
	op_attr_ints(&t, "pad_lo", s->nd - 2, lo);
	op_attr_ints(&t, "pad_hi", s->nd - 2, hi);
	return nn_op(b, path, "max_pool", t.data, 1, &x, y);
}

/* --- encoder --- */

/* y: the sum; first: what the first convolution makes, after its ReLU. */
static int unit(struct model_build *b, const char *path, int64_t filters, int64_t stride,
                int64_t dilation, tid x, tid *y, tid *first)
{
	struct nn_conv narrow = layer(b, filters, 1), middle = layer(b, filters, 3);
	struct nn_conv wide = linear_layer(b, 4 * filters, 1);
	tid preact, sum[2] = { x };
	TRY(norm(b, nn_join(b, path, "preact"), x, &preact));
	if (config(b)->preact_relu)
		TRY(nn_relu(b, nn_join(b, path, "preact_relu"), preact, &preact));
	if (nn_shape(b, x)->d[1] != 4 * filters)
		TRY(nn_conv(b, nn_join(b, path, "shortcut"), &wide, preact, &sum[0]));
	if (stride > 1)
		TRY(nn_pool(b, nn_join(b, path, "subsample"), "max_pool", 1, stride, sum[0], &sum[0]));
	for (int i = 0; i < 3; i++)
		middle.stride[i] = stride;
	dilate(&middle, dilation);
	TRY(conv_norm_relu(b, nn_join(b, path, "conv1"), &narrow, preact, first));
	TRY(conv_norm_relu(b, nn_join(b, path, "conv2"), &middle, *first, &sum[1]));
	TRY(nn_conv(b, nn_join(b, path, "conv3"), &wide, sum[1], &sum[1]));
	return nn_op(b, nn_join(b, path, "add"), "add", NULL, 2, sum, y);
}

/* half, low_level: what the decoder sees of it, at a half and a quarter of the input's
 * resolution. */
static int encoder(struct model_build *b, tid *half, tid *low_level, tid *y)
{
	const struct deeplab *c = config(b);
	struct nn_conv stem = linear_layer(b, c->filters, 7);
	tid x, first, unread;
	for (int i = 0; i < 3; i++)
		stem.stride[i] = 2;
	TRY(nn_conv(b, "conv1", &stem, b->input, half));
	TRY(max_pool(b, "pool1", *half, &x));
	for (int block = 0; block < BLOCKS; block++)
		for (int i = 0; i < units[c->backbone][block]; i++) {
			bool strided = block == 0 && i == units[c->backbone][block] - 1;
			TRY(unit(b, arena_printf(b->arena, "block%d.%d", block + 1, i), c->filters << block,
			         strided ? 2 : 1, dilations[block], x, &x, &first));
			if (strided)
				*low_level = first;
		}
	*y = x;
	return c->postnorm && c->batch_norm ? norm(b, "postnorm", x, &unread) : 0;
}

/* --- pyramid and decoder --- */

/* The mean of the image through a 1x1 convolution, at every pixel. */
static int image_level(struct model_build *b, tid x, tid *y)
{
	struct nn_conv c = layer(b, config(b)->aspp_filters, 1);
	struct op_attr keep = op_attr_new(b->g->arena, "global_average");
	struct op_attr size = op_attr_new(b->g->arena, "broadcast");
	struct shape full = *nn_shape(b, x);
	full.d[1] = c.filters;
	op_attr_int(&keep, "keep", true);
	op_attr_ints(&size, "shape", full.nd, full.d);
	TRY(nn_op(b, "aspp.image.mean", "global_average", keep.data, 1, &x, y));
	if (config(b)->image_affine) {
		struct nn_conv affine = linear_layer(b, c.filters, 1);
		affine.groups = c.filters;
		affine.init = WI_CONSTANT;
		affine.init_value = 1;
		TRY(nn_conv(b, "aspp.image.conv", &c, *y, y));
		TRY(nn_conv(b, "aspp.image.norm", &affine, *y, y));
		TRY(nn_relu(b, "aspp.image.relu", *y, y));
	} else {
		TRY(conv_norm_relu(b, "aspp.image", &c, *y, y));
	}
	return nn_op(b, "aspp.image.broadcast", "broadcast", size.data, 1, y, y);
}

static int aspp(struct model_build *b, tid x, tid *y)
{
	const struct deeplab *c = config(b);
	struct nn_conv point = layer(b, c->aspp_filters, 1);
	tid branch[5];
	TRY(conv_norm_relu(b, "aspp.point", &point, x, &branch[0]));
	for (int i = 0; i < 3; i++) {
		struct nn_conv wide = layer(b, c->aspp_filters, 3);
		dilate(&wide, c->rates.v[i]);
		TRY(conv_norm_relu(b, arena_printf(b->arena, "aspp.rate%d", i + 1), &wide, x,
		                   &branch[1 + i]));
	}
	TRY(image_level(b, x, &branch[4]));
	TRY(nn_concat(b, "aspp.concat", 5, branch, y));
	return conv_norm_relu(b, "aspp.merge", &point, *y, y);
}

/* Twice the resolution, to the size of `like`. */
static int deconv(struct model_build *b, const char *path, tid like, tid x, tid *y)
{
	const struct deeplab *c = config(b);
	struct nn_conv up = linear_layer(b, c->aspp_filters, 3);
	up.init = (enum weight_init)c->decoder_init;
	for (int i = 0; i < nn_shape(b, x)->nd - 2; i++) {
		up.stride[i] = 2;
		up.output_size[i] = nn_shape(b, like)->d[2 + i];
		up.output_padding[i] = up.output_size[i] % 2 == 0;
	}
	if (c->alignment == DEEPLAB_TENSORFLOW) {
		up.padding = PADDING_SAME;
		for (int i = 0; i < 3; i++)
			up.output_padding[i] = 0;
	}
	return nn_conv_transpose(b, path, &up, x, y);
}

/* The stack at full resolution is linear, as published. */
static int full_resolution(struct model_build *b, tid x, tid *y)
{
	const struct deeplab *c = config(b);
	static const char *const path[] = { "decoder.skip1", "decoder.skip2", "decoder.full1",
		                                "decoder.full2" };
	int64_t filters[] = { c->filters, 2 * c->filters, c->aspp_filters, c->aspp_filters };
	tid in[2] = { x, b->input };
	*y = b->input;
	for (int i = 0; i < 4; i++) {
		struct nn_conv conv = linear_layer(b, filters[i], 3);
		conv.init = (enum weight_init)c->decoder_init;
		if (i == 2) {
			in[1] = *y;
			TRY(nn_concat(b, "decoder.full_concat", 2, in, y));
		}
		TRY(nn_conv(b, path[i], &conv, *y, y));
	}
	return 0;
}

static int decoder(struct model_build *b, tid low_level, tid half, tid x, tid *out)
{
	const struct deeplab *c = config(b);
	struct nn_conv low = layer(b, c->low_level_filters, 1), conv = layer(b, c->aspp_filters, 3);
	struct nn_conv logits = linear_layer(b, b->classes, 1);
	bool bilinear = c->decoder == DEEPLAB_BILINEAR;
	tid in[2];
	TRY(conv_norm_relu(b, "low_level", &low, low_level, &in[1]));
	if (bilinear)
		TRY(resize(b, "decoder.resize1", low_level, x, &in[0]));
	else
		TRY(deconv(b, "decoder.deconv1", low_level, x, &in[0]));
	TRY(nn_concat(b, "decoder.concat", 2, in, &x));
	TRY(conv_norm_relu(b, "decoder.conv1", &conv, x, &x));
	TRY(conv_norm_relu(b, "decoder.conv2", &conv, x, &x));
	if (bilinear) {
		TRY(nn_conv(b, "logits", &logits, x, &x));
		return resize(b, "decoder.resize2", b->input, x, out);
	}
	TRY(deconv(b, "decoder.deconv2", half, x, &x));
	TRY(deconv(b, "decoder.deconv3", b->input, x, &x));
	if (c->decoder == DEEPLAB_DECONV1X)
		TRY(full_resolution(b, x, &x));
	return nn_conv(b, "logits", &logits, x, out);
}

int deeplab_check(struct arena *a, const void *config, const struct loc *loc)
{
	const struct deeplab *c = config;
	if (c->rates.n != 3)
		return ERR(E_CONFIG, loc,
		           "'rates' has %d numbers instead of 3, one for each 3x3 convolution", c->rates.n);
	return 0;
}

int deeplab_build(struct model_build *b, tid *out)
{
	tid x, half, low_level;
	TRY(deeplab_check(b->arena, config(b), &b->loc));
	TRY(encoder(b, &half, &low_level, &x));
	TRY(aspp(b, x, &x));
	return decoder(b, low_level, half, x, out);
}
