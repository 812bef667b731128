/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Resamples a set of points by a residual: draws candidates, evaluates the residual there with the
 * current parameters, and chooses points by it. The store keeps the indices of the chosen points,
 * so checkpoints contain them, and a run resumed within a draw has the same points. */
#ifndef DLX_TRAIN_RESAMPLE_H
#define DLX_TRAIN_RESAMPLE_H

#include "plan/session.h"

struct resample;

/* For set k of the config's physics; in arena a. */
struct resample *resample_new(struct arena *a, const struct session *s, int k);
/* Fills the coordinates, normals and values, like points_draw and points_values, of points first ..
 * first + n - 1 among those chosen in draw `number`. If the store has no points of this draw yet,
 * they are chosen now. normals: NULL if the set has none; values: one array after the other.
 * E_DIVERGED if the residual is not finite. Collective. */
int resample_draw(struct resample *r, int64_t number, int64_t first, int64_t n, double *coordinates,
                  double *normals, double *values);

#endif
