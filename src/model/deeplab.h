/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys of the `deeplabv3+` family. The defaults are the network of Kurth et al. 2018. */
#ifndef DLX_MODEL_DEEPLAB_H
#define DLX_MODEL_DEEPLAB_H

#include "model/nn.h"

enum deeplab_backbone { DEEPLAB_RESNET50, DEEPLAB_RESNET101 };
enum deeplab_decoder { DEEPLAB_DECONV1X, DEEPLAB_DECONV, DEEPLAB_BILINEAR };
enum deeplab_alignment { DEEPLAB_TENSORFLOW, DEEPLAB_PYTORCH };

struct deeplab {
	MODEL_COMMON
	int backbone;      /* enum deeplab_backbone */
	int decoder;       /* enum deeplab_decoder */
	int64_t filters, aspp_filters, low_level_filters;
	struct ints rates; /* three */
	bool batch_norm, image_affine, preact_relu, postnorm;
	double norm_factor, eps, momentum;
	int alignment;             /* enum deeplab_alignment */
	int init, decoder_init;    /* enum weight_init */
};

extern const struct field deeplab_fields[];
extern const struct preset deeplab_presets[];
int deeplab_check(struct arena *a, const void *config, const struct loc *loc);
int deeplab_build(struct model_build *b, tid *out);

#endif
