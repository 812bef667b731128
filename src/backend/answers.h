/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asynchronous readback of small results: the host reads the results of a run while the device goes
 * on with the next one. Results are copied to the host, and waited for, in the order of the runs.
 *
 *   exec_run(e), answers_ask(a), exec_run(e), answers_ask(a), answers_wait(a), answers_get(a, ...) */
#ifndef DLX_BACKEND_ANSWERS_H
#define DLX_BACKEND_ANSWERS_H

#include "backend/exec.h"

#define ANSWERS_DEEP 2           /* readbacks in flight, at most */

struct answers;
/* n tensors of g; those that are NONE are left out. Borrows g, t and dev. E_NOMEM. */
int answers_new(struct answers **out, const struct graph *g, const struct device *dev, const tid *t, int n);
void answers_free(struct answers *a);                 /* NULL is fine */
/* Requests a readback of the results of the run launched last. */
int answers_ask(struct answers *a, const struct exec *e);
/* Waits for the oldest requested readback. */
int answers_wait(struct answers *a);
/* Tensor i of the readback that was waited for last, plain layout, converted to dtype t. */
void answers_get(const struct answers *a, int i, enum dtype t, void *plain);

#endif
