/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processes that the launcher started on this host in addition to this one, as /proc has them:
 * for a report at a time when ranks have not met, and nothing else is known of them. */
#ifndef DLX_COMM_SIBLINGS_H
#define DLX_COMM_SIBLINGS_H

#include "base/buf.h"

/* Appends those that cannot be waited for, "; rank 1 (process 4711) is stopped; rank 2 (process
 * 4712) is '/bin/sleep'", and how many have ended where the launcher says how many there were.
 * Nothing where a shell that did not exec is between the launcher and this process. */
void siblings_text(struct buf *out);

#endif
