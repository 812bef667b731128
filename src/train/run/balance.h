/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weights of an objective's terms that are balanced by their gradients, every N steps: with n_i the
 * norm of term i's gradient by all that the objective trains,
 *
 *   w_i = keep w_i + (1 - keep) sum_j n_j / n_i     over the balanced terms j
 *
 * (Wang, Sankaran, Wang and Perdikaris 2023, An expert's guide to training physics-informed neural
 * networks, arXiv:2308.08468, section 4.1), so that all weighted gradients come to have one norm.
 * The first update has no average yet: it takes the sum. The weights are in the store. */
#ifndef DLX_TRAIN_BALANCE_H
#define DLX_TRAIN_BALANCE_H

#include "data/loader.h"
#include "plan/session.h"

struct balance;

/* Of objective k, the first phase of one, in a. Adds the arrays of its weights to `array`, which
 * has *n. */
struct balance *balance_new(struct arena *a, const struct session *s, int k,
                            struct batch_array *array, int *n);
/* Before a step, at whose points, which b has: updates the weights if they are due, and makes the
 * arrays those of the store. A phase of L-BFGS keeps the weights with which it begins. A term whose
 * gradient is 0 or not finite keeps its weight. Collective. */
int balance_update(struct balance *w, struct turn turn, const struct batch *b);

#endif
