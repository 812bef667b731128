/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For how long a process has worked, on a machine that may have more to do: seconds in which it
 * did not get a processor do not count, those in which it waits without a reason do. */
#ifndef DLX_BACKEND_PROOF_PROOF_WATCH_H
#define DLX_BACKEND_PROOF_PROOF_WATCH_H

#include <sys/types.h>

struct proof_watch {
	pid_t pid;
	double at, used;             /* when it was looked at last; its processor time until then */
	double spent;
};

void proof_watch_begin(struct proof_watch *w, pid_t pid);
/* Seconds since the beginning. The more often this is asked, the better it knows. */
double proof_watch_spent(struct proof_watch *w);

#endif
