/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Asynchronous readback of small results: the host reads the results of a run while the device goes
 * on with the next one. Results are copied to the host, and waited for, in the order of the runs.
 *
 *   exec_run(e), readback_request(a), exec_run(e), readback_request(a), readback_wait(a),
 *   readback_get(a, ...) */
#ifndef DLX_BACKEND_READBACK_H
#define DLX_BACKEND_READBACK_H

#include "backend/exec.h"

#define READBACK_DEPTH 2         /* readbacks in flight, at most */

struct readback;
/* t: the n tensors of g to read; NONE entries are skipped. Borrows g, t and dev. E_NOMEM. */
int readback_new(struct readback **out, const struct graph *g, const struct device *dev,
                 const tid *t, int n);
void readback_free(struct readback *a);               /* NULL is fine */
/* Requests a readback of the results of the run launched last. */
int readback_request(struct readback *a, const struct exec *e);
/* Waits for the oldest requested readback. */
int readback_wait(struct readback *a);
/* Tensor i of the readback that was waited for last, plain layout, converted to dtype t. */
void readback_get(const struct readback *a, int i, enum dtype t, void *plain);

#endif
