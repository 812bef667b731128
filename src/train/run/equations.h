/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data of a run of equations (plan/physics/physics.h): the points of each step, and points with
 * known values, with which the networks are compared. */
#ifndef DLX_TRAIN_EQUATIONS_H
#define DLX_TRAIN_EQUATIONS_H

#include "plan/session.h"
#include "train/predict/evaluate.h"

struct equations;
struct session_options;

/* equations_open reads the records of points and of `data.validation`, and checks all expressions.
 * equations_begin, called later, creates s->train, a loader of steps, and allocates this rank's
 * share of the points. E_CONFIG if the points cannot be divided evenly among the ranks. */
int equations_open(struct session *s, const struct session_options *o);
int equations_begin(struct session *s);
void equations_free(struct equations *e);              /* NULL is fine */

/* Sets b's arrays for a step: coordinates, normals and given values of its points, and the weights
 * of balanced terms. Their memory is valid until the next call. If points are due to be resampled
 * by a residual, or weights to be updated, this call does it. Collective. */
int equations_fill(struct equations *e, int64_t step, struct batch *b);
/* Computes the metrics like evaluate, for a session with s->compares. The loss is the mean square
 * of all differences. */
int equations_evaluate(struct session *s, struct evaluation *out);

#endif
