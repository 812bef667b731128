/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread that sleeps until either has come. */
#include "backend/cuda/cudnn_limit.h"

#include <errno.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/thread.h"

static struct timespec in_seconds(double seconds)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	const double whole = floor(seconds);
	t.tv_nsec += (long)((seconds - whole) * 1e9);
	t.tv_sec += (time_t)whole + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void *watch(void *arg)
{
	struct cudnn_limit *l = arg;
	const struct timespec end = in_seconds(l->seconds);
	int rc = 0;
	pthread_mutex_lock(&l->mutex);
	while (!l->over && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&l->ended, &l->mutex, &end);
	const bool over = l->over;
	pthread_mutex_unlock(&l->mutex);
	if (over)
		return NULL;
	l->note(l->arg);
	/* in which a launcher passes on what was said */
	nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
	_exit(err_exit_status(E_UNAVAILABLE));
}

void cudnn_limit_begin(struct cudnn_limit *l)
{
	pthread_condattr_t monotonic;
	l->over = false;
	pthread_mutex_init(&l->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&l->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	l->running = thread_start(&l->thread, watch, l) == 0;
}

void cudnn_limit_end(struct cudnn_limit *l)
{
	pthread_mutex_lock(&l->mutex);
	l->over = true;
	pthread_cond_signal(&l->ended);
	pthread_mutex_unlock(&l->mutex);
	if (l->running)
		pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->ended);
	pthread_mutex_destroy(&l->mutex);
}
