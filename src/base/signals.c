/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The thread that receives signals. The end of the time limit is a signal too (SIGALRM), so that
 * code that checks for signals checks for both. */
#include "base/signals.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "base/err.h"
#include "base/io.h"

/* LSF announces the end of a job's time by SIGUSR2. */
static const int requests[] = { SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGALRM };
/* Signals that are not blocked: faults, which are delivered to the thread that caused them even if
 * blocked; and those that a read or write raises in its own thread, on a closed pipe or from a
 * background job at the terminal, where blocking would turn them into errors. */
static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE,
	SIGTTIN, SIGTTOU };
#define NREQUESTS (sizeof requests / sizeof *requests)
#define NOWN (sizeof own / sizeof *own)

static bool begun;
static atomic_bool watching;
static atomic_bool ending;
static atomic_int pending;
static atomic_int linger;          /* milliseconds */

void signals_block(void)
{
	sigset_t blocked;
	sigfillset(&blocked);
	for (size_t i = 0; i < NOWN; i++)
		sigdelset(&blocked, own[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, NULL);
}

static bool ignored(int sig)
{
	struct sigaction now;
	return sigaction(sig, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void leave_time(void)
{
	const int ms = atomic_load(&linger);
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

/* The default action of a signal that no thread waits for: it ends the process, unless ignored. */
static void by_default(int sig)
{
	sigset_t one;
	if (ignored(sig))
		return;
	atomic_store(&ending, true);
	io_abandon();
	if (!atomic_load(&watching))
		leave_time();
	sigemptyset(&one);
	sigaddset(&one, sig);
	pthread_kill(pthread_self(), sig);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

/* Whether sig is the first request to stop, which the program will handle. The scheduler's signal
 * that follows dlx's own alarm belongs to the same request. */
static bool note_request(int sig)
{
	int before = atomic_load(&pending);
	if (!atomic_load(&watching) || ignored(sig))
		return false;
	if (sig == SIGALRM && before)
		return true;
	if (before && before != SIGALRM)
		return false;
	atomic_store(&pending, sig);
	return true;
}

static void *take(void *nothing)
{
	sigset_t set;
	int sig;
	(void)nothing;
	sigemptyset(&set);
	for (size_t i = 0; i < NREQUESTS; i++)
		sigaddset(&set, requests[i]);
	/* all others are this thread's, as the process has them */
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	for (;;)
		if (sigwait(&set, &sig) == 0 && !note_request(sig))
			by_default(sig);
	return NULL;
}

int signals_begin(void)
{
	pthread_t thread;
	int failed = pthread_create(&thread, NULL, take, NULL);
	if (failed)
		return ERR(E_UNAVAILABLE, NULL, "cannot start the thread that takes signals: %s",
		           strerror(failed));
	pthread_detach(thread);
	begun = true;
	return 0;
}

/* nohup starts programs with SIGHUP ignored, and means it. SIGINT is ignored in the background of
 * every script, which does not mean that it shall have no effect. */
void signals_watch(void)
{
	if (!begun)
		return;
	signals_alarm(INFINITY);
	for (size_t i = 0; i < NREQUESTS; i++)
		if (requests[i] != SIGHUP)
			signal(requests[i], SIG_DFL);
	/* If the reader of the progress output ends, the run should go on: writing then fails with an
	 * error instead. */
	signal(SIGPIPE, SIG_IGN);
	atomic_store(&pending, 0);
	atomic_store(&watching, true);
}

void signals_linger(int milliseconds)
{
	atomic_store(&linger, milliseconds);
}

int signals_pending(void)
{
	return atomic_load(&pending);
}

void signals_await_end(bool likely)
{
	const struct timespec moment = { .tv_nsec = 10 * 1000 * 1000 };
	for (int i = likely ? 100 : 0; i > 0 || atomic_load(&ending); i--)
		nanosleep(&moment, NULL);
}

void signals_alarm(double seconds)
{
	struct itimerval t = { { 0, 0 }, { 0, 0 } };
	if (!begun)
		return;
	if (seconds < 1e9) {
		double s = fmax(seconds, 1e-3);
		t.it_value.tv_sec = (time_t)s;
		t.it_value.tv_usec = (suseconds_t)(1e6 * (s - floor(s)));
	}
	setitimer(ITIMER_REAL, &t, NULL);
}

void signals_spawn(posix_spawnattr_t *how)
{
	sigset_t none, usual;
	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawnattr_init(how);
	posix_spawnattr_setsigmask(how, &none);
	posix_spawnattr_setsigdefault(how, &usual);
	posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}
