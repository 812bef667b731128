/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a run of equations (plan/physics/physics.h) has in the place of data: the points of each
 * step, and points with known values that its networks are compared with. */
#ifndef DLX_TRAIN_EQUATIONS_H
#define DLX_TRAIN_EQUATIONS_H

#include "plan/session.h"
#include "train/predict/evaluate.h"

struct equations;
struct session_options;

/* Reads the records of points and of `data.validation`, and checks all expressions; before
 * equations_begin, which makes s->train, of steps, and room for this rank's share of the points.
 * E_CONFIG where ranks cannot share them evenly. */
int equations_open(struct session *s, const struct session_options *o);
int equations_begin(struct session *s);
void equations_free(struct equations *e);              /* NULL is fine */

/* Gives a batch the arrays of a step: coordinates, normals and given values of its points, and
 * weights of terms that are balanced, in memory that stays until the next call. Points that are
 * picked by a residual, and weights, are computed now where they are due. Collective. */
int equations_fill(struct equations *e, int64_t step, struct batch *b);
/* As evaluate, where s->compares. The loss is the mean square of all differences. */
int equations_evaluate(struct session *s, struct evaluation *out);

#endif
