/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of points that are resampled by a residual: candidates of a draw, what the residual is there
 * for the parameters as they are, and the picks, which the store keeps. So they are in checkpoints,
 * and a run that resumes within a draw has the same points. */
#ifndef DLX_TRAIN_RESAMPLE_H
#define DLX_TRAIN_RESAMPLE_H

#include "plan/session.h"

struct resample;

/* For set k of the config's physics. In a. */
struct resample *resample_new(struct arena *a, const struct session *s, int k);
/* Fills the coordinates, normals and values, as points_draw and points_values do, of points first
 * .. first + n - 1 of those picked of draw `number`; those that are not in the store yet are picked
 * now. normals: NULL where the set has none; values: one array after the other. Collective.
 * E_DIVERGED where the residual is not finite. */
int resample_draw(struct resample *r, int64_t number, int64_t first, int64_t n, double *coordinates,
                  double *normals, double *values);

#endif
