/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handler only notes the signal and gives the next one its default meaning. Time that runs out
 * is a signal too (SIGALRM), so that whatever looks for signals looks for both. */
#include "train/signals.h"

#include <signal.h>
#include <math.h>
#include <stddef.h>
#include <sys/time.h>

static volatile sig_atomic_t pending;
/* LSF announces the end of a job's time by SIGUSR2. */
static const int watched[] = { SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGALRM };
#define NWATCHED (sizeof watched / sizeof *watched)

static void on_signal(int sig)
{
	pending = sig;
	/* Our own alarm only comes before what the scheduler is going to send. */
	if (sig == SIGALRM)
		return;
	/* Any of them ends the process from now on. */
	for (size_t i = 0; i < NWATCHED; i++)
		signal(watched[i], watched[i] == SIGALRM ? SIG_IGN : SIG_DFL);
}

/* nohup starts programs with SIGHUP ignored, and means it. SIGINT is ignored in the background of every script,
 * where nobody meant that it cannot be sent. */
static void watch(int sig)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, before;
	sigemptyset(&sa.sa_mask);
	if (sig == SIGHUP && sigaction(sig, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
		return;
	sigaction(sig, &sa, NULL);
}

void signals_install(void)
{
	pending = 0;
	signals_alarm(INFINITY);
	for (size_t i = 0; i < NWATCHED; i++)
		watch(watched[i]);
	/* Whoever read the progress is gone; that is no reason to lose the run. Writing then fails. */
	signal(SIGPIPE, SIG_IGN);
}

void signals_alarm(double seconds)
{
	struct itimerval t = { { 0, 0 }, { 0, 0 } };
	if (seconds < 1e9) {
		double s = fmax(seconds, 1e-3);
		t.it_value.tv_sec = (time_t)s;
		t.it_value.tv_usec = (suseconds_t)(1e6 * (s - floor(s)));
	}
	setitimer(ITIMER_REAL, &t, NULL);
}

int signals_pending(void)
{
	return pending;
}
