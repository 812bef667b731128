/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A thread that sleeps until watchdog_end, and checks the time now and then. */
#include "comm/watchdog.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/shown.h"
#include "base/thread.h"
#include "comm/liveness.h"
#include "comm/deadline.h"
#include "comm/siblings.h"

#define LATER 0.1              /* seconds for each rank, up to ten */

static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t event;
static bool running, over;
static double patience, most;
static const char *name, *said;      /* said: in place of a sentence about name */

static void nap(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)(DEADLINE_ROUND * 1e9);
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&event, &lock, &t);
}

static void *watch(void *nothing)
{
	struct deadline d = deadline_begin();
	pthread_mutex_lock(&lock);
	while (!over && deadline_waited(&d) < most)
		nap();
	pthread_mutex_unlock(&lock);
	if (over)
		return NULL;
	struct buf text = BUF_INIT;
	if (said)
		buf_puts(&text, said);
	else
		buf_printf(&text, "a rank is missing in %s; the others have waited %.1f s", name, patience);
	siblings_text(&text);
	struct buf visible = BUF_INIT;      /* siblings are named by their command lines */
	buf_shown_lines(&visible, text.data);
	fprintf(stderr, "%s: %s\n", log_program(), visible.data);
	fflush(stderr);
	liveness_end_halted();
	/* in which the launcher passes it on */
	nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
	_exit(err_exit_status(E_UNAVAILABLE));
}

static void begin(double seconds)
{
	pthread_condattr_t monotonic;
	over = false;
	most = seconds;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&event, &monotonic);
	pthread_condattr_destroy(&monotonic);
	running = thread_start(&thread, watch, NULL) == 0;
}

void watchdog_begin(double seconds, int rank, const char *what)
{
	patience = seconds;
	name = what;
	said = NULL;
	begin(seconds + LATER * (rank < 10 ? rank : 10));
}

void watchdog_say(double seconds, const char *text)
{
	said = text;
	begin(seconds);
}

void watchdog_end(void)
{
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_signal(&event);
	pthread_mutex_unlock(&lock);
	if (running)
		pthread_join(thread, NULL);
	pthread_cond_destroy(&event);
}
