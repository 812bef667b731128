/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--predict --tile": samples that are predicted window by window (plan/extent/tiles.h) and written
 * slab by slab, so that neither the network's tensors nor the output of a whole sample are ever
 * in memory. */
#ifndef DLX_TRAIN_PREDICT_TILES_H
#define DLX_TRAIN_PREDICT_TILES_H

#include <stdint.h>

#include "train/predict/predict_as.h"

struct session;

/* Writes the file `out` as predict() does; its name ends in .npy, .nc, .h5 or .hdf5. s needs
 * SESSION_PREDICT | SESSION_RUN and s->tiles. The windows of a sample are divided among the ranks.
 * E_USAGE for pictures. Collective; rank 0 writes. */
int predict_tiles(struct session *s, const char *out, enum predict_as as, int64_t *written);

#endif
