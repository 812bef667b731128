/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handler only notes the signal and gives the next one its default meaning. */
#include "train/signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t pending;
static const int watched[] = { SIGINT, SIGTERM, SIGUSR1, SIGHUP };
#define NWATCHED (sizeof watched / sizeof *watched)

static void on_signal(int sig)
{
	pending = sig;
	/* Any of them ends the process from now on. */
	for (size_t i = 0; i < NWATCHED; i++)
		signal(watched[i], SIG_DFL);
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
	for (size_t i = 0; i < NWATCHED; i++)
		watch(watched[i]);
	/* Whoever read the progress is gone; that is no reason to lose the run. Writing then fails. */
	signal(SIGPIPE, SIG_IGN);
}

int signals_pending(void)
{
	return pending;
}
