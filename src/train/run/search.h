/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steps of L-BFGS: a step is one evaluation of the loss and its gradient by a plan without updates,
 * after which the host moves the parameters. Between steps they are where the search's last step
 * ended, so that validations and checkpoints see what was found. */
#ifndef DLX_TRAIN_SEARCH_H
#define DLX_TRAIN_SEARCH_H

#include "plan/session.h"

struct search;

/* Moves the parameters to where the objective's step `own` of this phase evaluates; makes *s for
 * the first. p: the phase's plan. E_UNSUPPORTED on a GPU. */
int search_propose(struct search **s, const struct session *session, const struct plan *p,
                   const struct objective *o, int64_t own);
/* After the plan has run there: what was found decides where the parameters are now. *reason: why
 * there is no further step, or NULL. */
int search_report(struct search *s, const char **reason);
void search_free(struct search *s);      /* NULL is fine */

#endif
