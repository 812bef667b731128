/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small results of runs, which the host reads while the device goes on with the next run: each run's
 * are copied to the host in the order of the runs, and waited for in that order.
 *
 *   exec_run(e), answers_ask(a), exec_run(e), answers_ask(a), answers_wait(a), answers_get(a, ...) */
#ifndef DLX_BACKEND_ANSWERS_H
#define DLX_BACKEND_ANSWERS_H

#include "backend/exec.h"

#define ANSWERS_DEEP 2           /* asked and not waited for, at most */

struct answers;
/* n tensors of g; those that are NONE are left out. Borrows g, t and dev. E_NOMEM. */
int answers_new(struct answers **out, const struct graph *g, struct device *dev, const tid *t, int n);
void answers_free(struct answers *a);                 /* NULL is fine */
/* What the run before has made of them. */
int answers_ask(struct answers *a, const struct exec *e);
/* Until the oldest that was asked is there. */
int answers_wait(struct answers *a);
/* Tensor i of the one that was waited for last, plain layout, converted to dtype t. */
void answers_get(const struct answers *a, int i, enum dtype t, void *plain);

#endif
