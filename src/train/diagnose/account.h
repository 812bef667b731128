/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that a run has allocated as much memory as was planned. */
#ifndef DLX_TRAIN_ACCOUNT_H
#define DLX_TRAIN_ACCOUNT_H

#include "base/buf.h"
#include "plan/session.h"

/* Call it after memory was allocated for plans. Compares the bytes that the device has allocated
 * with the planned bytes. A difference is a bug in dlx, but no reason to end a run: it is a
 * warning, or E_BUG with DLX_DEBUG=strict=yes, which tests set. */
int account_check(const struct session *s);
/* On a GPU, records the bytes of its memory that libraries and other programs use once the run's
 * own memory is allocated. Only the first call has an effect. */
void account_outside(struct session *s);
/* *later: bytes by which this has grown since, by loaded code, the captured step, NCCL's buffers
 * and other programs. *aside: bytes that the plans left free for these. Returns false if
 * unknown. */
bool account_later(const struct session *s, int64_t *later, int64_t *aside);
/* Warns if it has grown by more than was left free. */
void account_warn_later(const struct session *s);
/* Appends the planned and the allocated bytes, and the parts of the planned bytes, as a JSON
 * object. */
void account_json(const struct session *s, struct buf *out);

#endif
