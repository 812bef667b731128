/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Balances the weights of an objective's terms by their gradients, every N steps. With n_i the norm
 * of the gradient of term i with respect to all parameters that the objective trains,
 *
 *   w_i = keep w_i + (1 - keep) sum_j n_j / n_i     over the balanced terms j
 *
 * (Wang, Sankaran, Wang and Perdikaris 2023, An expert's guide to training physics-informed neural
 * networks, arXiv:2308.08468, section 4.1), so that the norms of all weighted gradients become
 * equal. The first update has no old weight, and sets w_i to the quotient. The weights are in the
 * store. */
#ifndef DLX_TRAIN_BALANCE_H
#define DLX_TRAIN_BALANCE_H

#include "data/loader.h"
#include "plan/session.h"

struct balance;

/* For objective k, or the first of its phases; in arena a. Appends the arrays of its weights to
 * `array`, which has *n entries. */
struct balance *balance_new(struct arena *a, const struct session *s, int k,
                            struct batch_array *array, int *n);
/* Call it before a step, whose points are in b. Updates the weights if they are due, and copies
 * them from the store to the batch arrays. A phase of L-BFGS keeps the weights with which it
 * begins. A term whose gradient is 0 or not finite keeps its weight. Collective. */
int balance_update(struct balance *w, struct turn turn, const struct batch *b);

#endif
