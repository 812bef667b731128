/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The key `class_weights` of a loss: none, a list, the name of a frequency, or {power: P} of it. */
#ifndef DLX_OPTIM_CLASS_WEIGHTS_H
#define DLX_OPTIM_CLASS_WEIGHTS_H

#include "graph/graph.h"
#include "yaml/ytree.h"

/* n may be NULL: none. Errors are placed. */
int class_weights_check(struct ynode *n);
/* Whether they are made of how often each class is in the training set. */
bool class_weights_need_counts(struct ynode *n);
/* *weights: F32 (classes), or NONE. by_sum: divided by their sum. counts: of each class; may be
 * NULL if they are not needed. E_CONFIG: not as many as classes. */
int class_weights_emit(struct graph *g, struct ynode *n, bool by_sum, int64_t classes,
                       const int64_t *counts, tid *weights);

#endif
