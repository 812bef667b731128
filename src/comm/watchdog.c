/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A time limit that reports which ranks are missing. */
#include "comm/watchdog.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/shown.h"
#include "base/time_limit.h"
#include "comm/liveness.h"
#include "comm/siblings.h"

#define LATER 0.1              /* seconds for each rank, up to ten */

static struct time_limit limit;
static double patience;
static const char *name, *said;      /* said: in place of a sentence about name */

static void report(void *nothing)
{
	struct buf text = BUF_INIT;
	(void)nothing;
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
}

static void begin(double seconds)
{
	limit = (struct time_limit){ .seconds = seconds, .late = report };
	time_limit_begin(&limit);
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
	time_limit_end(&limit);
}
