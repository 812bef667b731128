/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys of the `unet3d` family. The defaults are the network of Oyama et al. 2020. */
#ifndef DLX_MODEL_UNET3D_H
#define DLX_MODEL_UNET3D_H

#include "model/nn.h"

struct unet3d {
	MODEL_COMMON
	int64_t filters, levels;
	bool conv_bias, output_bias;
	bool batch_norm;
	double eps, momentum;
	double slope;
	int init;                  /* enum weight_init */
};

extern const struct field unet3d_fields[];
extern const struct preset unet3d_presets[];
int unet3d_check(struct arena *a, const void *config, const struct loc *loc);
int unet3d_build(struct model_build *b, tid *out);

#endif
