/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The networks of equations at places that the user names, as one file: what they have learned, to
 * look at. */
#ifndef DLX_TRAIN_PREDICT_GRID_H
#define DLX_TRAIN_PREDICT_GRID_H

#include "plan/session.h"

/* given: "grid: {x: 201, t: 101}" (see places_of_grid), or "record: FILE" or the name alone, at
 * whose points, or with "sensors: FIELD" those of these, the networks are evaluated, next to the
 * record's own values; of networks of noise also "realizations: N", "seed: N" and "samples: true",
 * which writes the realizations instead of their statistics. path: .nc, .h5,
 * .npy or .csv, or of a grid .png or .svg. *written: how many places. E_USAGE for another name, and
 * for a mistake in given, which has its place in "--predict". Rank 0 writes. */
int predict_grid(struct session *s, const char *given, const char *path, int64_t *written);
/* Whether the name is that of a format that it writes; E_USAGE. */
int predict_grid_check(const char *path);

#endif
