/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys of the `fcn` family. The defaults are the network of Laanait et al. 2019. */
#ifndef DLX_MODEL_FCN_H
#define DLX_MODEL_FCN_H

#include "model/nn.h"

enum fcn_pooling { FCN_MAX, FCN_AVERAGE };
enum fcn_norm { FCN_NORM_NONE, FCN_NORM_TRANSITION_DOWN, FCN_NORM_ALL };

struct fcn {
	MODEL_COMMON
	int64_t growth, kernel;
	int64_t poolings;
	struct ints layers_per_block;      /* 2 * poolings + 1, or one number for all */
	int pooling;                       /* enum fcn_pooling */
	int64_t transition_up_kernel;
	double dropout;
	int batch_norm;                    /* enum fcn_norm */
	double gamma_init, eps, momentum;
	int64_t initial_filters, initial_kernel;     /* 0: growth, kernel */
	bool initial_bias;
	int64_t output_kernel;
	bool output_bias;
	int64_t width_multiple;
	int init;                          /* enum weight_init */
};

extern const struct field fcn_fields[];
extern const struct preset fcn_presets[];
int fcn_check(struct arena *a, const void *config, const struct loc *loc);
int fcn_build(struct model_build *b, tid *out);

#endif
