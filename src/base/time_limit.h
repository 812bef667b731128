/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An end for calls of libraries that may never come back: nothing can stop such a call, and a
 * thread that is left in it may hold locks, so that the process ends. */
#ifndef DLX_BASE_TIME_LIMIT_H
#define DLX_BASE_TIME_LIMIT_H

#include <pthread.h>
#include <stdbool.h>

struct time_limit {
	double seconds;              /* that count while the process runs (base/deadline.h) */
	void (*late)(void *arg);     /* what is to be said and done then, on a thread of its own */
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
