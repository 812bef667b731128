/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a run has taken the memory that was planned. */
#ifndef DLX_TRAIN_ACCOUNT_H
#define DLX_TRAIN_ACCOUNT_H

#include "base/buf.h"
#include "plan/session.h"

/* After memory was taken for plans: that it is as much as the plans say, by what the device has
 * given. A difference is a mistake of dlx and no reason to end a run: a warning, but E_BUG with
 * DLX_DEBUG=strict=yes, as tests have it. */
int account_check(const struct session *s);
/* On a GPU: what libraries and other programs have of its memory now that the run has its own; the
 * first call counts. */
void account_outside(struct session *s);
/* By how much that has grown, with steps that have run: code that was loaded, the captured step,
 * buffers of NCCL, other programs; *aside: what was left to them. False: not known. */
bool account_later(const struct session *s, int64_t *later, int64_t *aside);
/* A warning where that is more than was left. */
void account_warn_later(const struct session *s);
/* Both numbers, and what the planned one is made of, as an object of JSON. */
void account_json(const struct session *s, struct buf *out);

#endif
