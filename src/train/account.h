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
/* Both numbers, and what the planned one is made of, as an object of JSON. */
void account_json(const struct session *s, struct buf *out);

#endif
