/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The other processes that the launcher started on this host, found in /proc: for an error report
 * before ranks have connected, when nothing else is known of them. */
#ifndef DLX_COMM_SIBLINGS_H
#define DLX_COMM_SIBLINGS_H

#include "base/buf.h"

/* Appends the processes that will never connect: "; rank 1 (process 4711) is stopped; rank 2
 * (process 4712) is '/bin/sleep'", and how many have ended, if the launcher gives their number.
 * Appends nothing if the parent of this process is a shell rather than the launcher. */
void siblings_text(struct buf *out);

#endif
