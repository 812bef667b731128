/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The handler only notes the signal; SA_RESETHAND gives the second one its default meaning. */
#include "train/signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t pending;
static const int watched[] = { SIGINT, SIGTERM, SIGUSR1 };

static void on_signal(int sig)
{
	pending = sig;
	/* Any of them ends the process from now on. */
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		signal(watched[i], SIG_DFL);
}

void signals_install(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	sigemptyset(&sa.sa_mask);
	pending = 0;
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		sigaction(watched[i], &sa, NULL);
}

int signals_pending(void)
{
	return pending;
}

const char *signals_name(int sig)
{
	switch (sig) {
	case SIGINT:  return "SIGINT";
	case SIGTERM: return "SIGTERM";
	case SIGUSR1: return "SIGUSR1";
	}
	return "signal";
}
