/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steps of L-BFGS. A step is one evaluation of the loss and its gradient by a plan without updates,
 * after which the host moves the parameters. Between steps the parameters are those that the line
 * search accepted last, so validations and checkpoints use these. */
#ifndef DLX_TRAIN_SEARCH_H
#define DLX_TRAIN_SEARCH_H

#include "plan/session.h"

struct search;

/* Moves the parameters to the point that step `own` of this phase evaluates; creates *s for the
 * first step. p: the phase's plan. E_UNSUPPORTED on a GPU. */
int search_propose(struct search **s, const struct session *session, const struct plan *p,
                   const struct objective *o, int64_t own);
/* Call it after the plan has run: moves the parameters according to the loss and gradient found.
 * *reason: why the phase ends here, or NULL if it goes on. */
int search_report(struct search *s, const char **reason);
void search_free(struct search *s);      /* NULL is fine */

#endif
