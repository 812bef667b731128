/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread that sleeps until time_limit_end, and checks the time now and then. */
#include "base/time_limit.h"

#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/err.h"
#include "base/thread.h"

static void nap(struct time_limit *l)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)(DEADLINE_ROUND * 1e9);
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&l->event, &l->lock, &t);
}

static void *watch(void *arg)
{
	struct time_limit *l = arg;
	struct deadline d = deadline_begin();
	pthread_mutex_lock(&l->lock);
	while (!l->over && deadline_waited(&d) < l->seconds)
		nap(l);
	const bool over = l->over;
	pthread_mutex_unlock(&l->lock);
	if (over)
		return NULL;
	l->late(l->arg);
	/* time for the launcher to forward the message */
	nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
	_exit(err_exit_status(E_UNAVAILABLE));
}

void time_limit_begin(struct time_limit *l)
{
	pthread_condattr_t monotonic;
	l->over = false;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->event, &monotonic);
	pthread_condattr_destroy(&monotonic);
	l->running = thread_start(&l->thread, watch, l) == 0;
}

void time_limit_end(struct time_limit *l)
{
	pthread_mutex_lock(&l->lock);
	l->over = true;
	pthread_cond_signal(&l->event);
	pthread_mutex_unlock(&l->lock);
	if (l->running)
		pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->event);
	pthread_mutex_destroy(&l->lock);
}
