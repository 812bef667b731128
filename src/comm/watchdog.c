/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread that sleeps until it is told that all is well. */
#include "comm/watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"

#define LATER 0.1              /* seconds for each rank, up to ten */

static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell;
static bool running, over;
static struct timespec end;
static double patience;
static const char *name;

static void *watch(void *nothing)
{
	int rc = 0;
	pthread_mutex_lock(&lock);
	while (!over && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&bell, &lock, &end);
	pthread_mutex_unlock(&lock);
	if (over)
		return NULL;
	fprintf(stderr, "%s: a rank does not come: the others wait in %s for %.1f s\n", log_program(),
	        name, patience);
	fflush(stderr);
	nanosleep(&(struct timespec){ 0, 200000000 }, NULL);     /* in which the launcher passes it on */
	_exit(err_exit_status(E_UNAVAILABLE));
}

static void set_end(double seconds)
{
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)seconds;
	end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (end.tv_nsec >= 1000000000) {
		end.tv_nsec -= 1000000000;
		end.tv_sec++;
	}
}

void watchdog_begin(double seconds, int rank, const char *what)
{
	pthread_condattr_t monotonic;
	sigset_t all, before;
	patience = seconds;
	name = what;
	over = false;
	set_end(seconds + LATER * (rank < 10 ? rank : 10));
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&bell, &monotonic);
	pthread_condattr_destroy(&monotonic);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	running = pthread_create(&thread, NULL, watch, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void watchdog_end(void)
{
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_signal(&bell);
	pthread_mutex_unlock(&lock);
	if (running)
		pthread_join(thread, NULL);
	pthread_cond_destroy(&bell);
}
