/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes the values of the networks of equations, at places that the user chooses, to one file. */
#ifndef DLX_TRAIN_PREDICT_GRID_H
#define DLX_TRAIN_PREDICT_GRID_H

#include "plan/session.h"

/* given: either "grid: {x: 201, t: 101}" (see places_of_grid), or "record: FILE" or just FILE. For
 * a record the networks are evaluated at its points, or with "sensors: FIELD" at that field's
 * sensors, and the record's own values are written too. For networks that read noise, given may add
 * "realizations: N", "seed: N" and "samples: true", which writes the realizations instead of their
 * statistics. path ends in .nc, .h5, .npy or .csv, or for a grid in .png or .svg. *written: the
 * number of places. E_USAGE for another name, and for a mistake in given, with its place in the
 * argument of "--predict". Rank 0 writes. */
int predict_grid(struct session *s, const char *given, const char *path, int64_t *written);
/* E_USAGE if path does not end in the name of a format that predict_grid writes. */
int predict_grid_check(const char *path);

#endif
