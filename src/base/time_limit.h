/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A time limit for library calls that may never return. Such a call cannot be cancelled, and its
 * thread may hold locks, so at the limit the process is ended. */
#ifndef DLX_BASE_TIME_LIMIT_H
#define DLX_BASE_TIME_LIMIT_H

#include <pthread.h>
#include <stdbool.h>

struct time_limit {
	double seconds;              /* the limit; time while the process is stopped does not count
	                              * (base/deadline.h) */
	void (*late)(void *arg);     /* called at the limit, on a separate thread, to report */
	void *arg;
	/* private */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t event;
	bool running, over;
};
/* If l->seconds pass before time_limit_end, calls late, and ends the process with the status of
 * E_UNAVAILABLE. l: with its first three members set; stays where it is meanwhile. */
void time_limit_begin(struct time_limit *l);
void time_limit_end(struct time_limit *l);

#endif
