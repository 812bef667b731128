/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The networks of equations on a grid of their coordinates, as one file: what they have learned,
 * to look at. */
#ifndef DLX_TRAIN_PREDICT_GRID_H
#define DLX_TRAIN_PREDICT_GRID_H

#include "plan/session.h"

/* given: "grid: {x: 201, t: 101}", points along each coordinate, over the range that the sets of
 * points have of it, or [LOW, HIGH, POINTS]; the axes of the output are in this order. path: .nc,
 * .h5, .npy or .csv. *written: how many points. E_USAGE for another name, and for a mistake in
 * given, which has its place in "--predict". Rank 0 writes. */
int predict_grid(struct session *s, const char *given, const char *path, int64_t *written);
/* Whether the name is that of a format that it writes; E_USAGE. */
int predict_grid_check(const char *path);

#endif
