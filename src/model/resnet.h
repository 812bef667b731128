/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys of the `resnet` family. */
#ifndef DLX_MODEL_RESNET_H
#define DLX_MODEL_RESNET_H

#include "model/nn.h"

struct resnet {
	MODEL_COMMON
	int depth; /* index of the table in resnet.c */
	bool zero_init_residual;
	double eps, momentum;
};

extern const struct field resnet_fields[];
#define resnet_presets NULL        /* each depth is one network */
#define resnet_check NULL          /* the table says it all */
int resnet_build(struct model_build *b, tid *out);

#endif
