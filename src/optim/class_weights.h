/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The key `class_weights` of a loss: none, a list of numbers, the name of a formula of class
 * frequencies, or {power: P} of them. */
#ifndef DLX_OPTIM_CLASS_WEIGHTS_H
#define DLX_OPTIM_CLASS_WEIGHTS_H

#include "graph/graph.h"
#include "yaml/ytree.h"

/* Checks the value; n may be NULL: none. Errors have a location. */
int class_weights_check(struct ynode *n);
/* Whether the weights depend on how often each class occurs in the training set. */
bool class_weights_need_counts(struct ynode *n);
/* Emits the weights. *weights: F32 (classes), or NONE. by_sum: normalise them by their sum. counts:
 * occurrences of each class; may be NULL if not needed. E_CONFIG if their number is not that of the
 * classes. */
int class_weights_emit(struct graph *g, struct ynode *n, bool by_sum, int64_t classes,
                       const int64_t *counts, tid *weights);

#endif
