/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys of the `deepcam` family. The defaults are MLPerf HPC's network. */
#ifndef DLX_MODEL_DEEPCAM_H
#define DLX_MODEL_DEEPCAM_H

#include "model/nn.h"

enum deepcam_low_level { DEEPCAM_RELU, DEEPCAM_RAW };

struct deepcam {
	MODEL_COMMON
	struct ints widths;        /* eight, from the first convolution to the encoder's output */
	int64_t middle_blocks;
	struct ints rates;         /* three */
	int64_t aspp_filters, low_level_filters;
	int low_level;             /* enum deepcam_low_level */
	double eps, momentum;
};

extern const struct field deepcam_fields[];
extern const struct preset deepcam_presets[];
int deepcam_check(struct arena *a, const void *config, const struct loc *loc);
int deepcam_build(struct model_build *b, tid *out);

#endif
