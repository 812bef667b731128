/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys of the `tiramisu` family. The defaults are the network of Kurth et al. 2018. */
#ifndef DLX_MODEL_TIRAMISU_H
#define DLX_MODEL_TIRAMISU_H

#include "model/nn.h"

enum tiramisu_order { TIRAMISU_CONV_FIRST, TIRAMISU_NORM_FIRST };
enum tiramisu_down { TIRAMISU_STRIDED, TIRAMISU_MAX_POOL };

struct tiramisu {
	MODEL_COMMON
	struct ints blocks;                /* layers, down to the bottleneck; mirrored on the way up */
	int64_t growth, kernel, initial_filters;
	int order;                         /* enum tiramisu_order */
	int transition_down;               /* enum tiramisu_down */
	bool unused_transition;
	bool batch_norm;
	double eps, momentum;
	double dropout;
	bool output_dropout;
	int init;                          /* enum weight_init */
};

extern const struct field tiramisu_fields[];
extern const struct preset tiramisu_presets[];
int tiramisu_check(struct arena *a, const void *config, const struct loc *loc);
int tiramisu_build(struct model_build *b, tid *out);

#endif
