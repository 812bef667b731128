/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A timer for another process that is fair on a busy machine: seconds in which the process was
 * ready but got no processor do not count; seconds in which it is idle do. */
#ifndef DLX_BACKEND_PROOF_PROOF_WATCH_H
#define DLX_BACKEND_PROOF_PROOF_WATCH_H

#include <sys/types.h>

struct proof_watch {
	pid_t pid;
	double at, used;             /* time of the latest look; the process's CPU seconds then */
	double spent;
};

void proof_watch_begin(struct proof_watch *w, pid_t pid);
/* Seconds counted since proof_watch_begin. The result is more accurate the more often this is
 * called. */
double proof_watch_spent(struct proof_watch *w);

#endif
