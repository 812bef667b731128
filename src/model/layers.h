/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys of the `layers` family: a network written down layer by layer. */
#ifndef DLX_MODEL_LAYERS_H
#define DLX_MODEL_LAYERS_H

#include "model/model.h"

struct layers {
	MODEL_COMMON
	struct ynode *layers; /* the list */
	struct ynode *blocks; /* name -> list, or NULL */
};

extern const struct field layers_fields[];
#define layers_presets NULL        /* every key is the user's */
int layers_check(struct arena *a, const void *config, const struct loc *loc);
int layers_build(struct model_build *b, tid *out);

#endif
