/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The alarm is SIGALRM (base/signals.h). It is set again whenever a step or save takes longer than
 * all before. */
#include "train/save/job_end.h"

#include <math.h>

#include "base/io.h"
#include "base/launcher.h"
#include "base/signals.h"

static void set_alarm(const struct job_end *j)
{
	if (isfinite(j->at))
		signals_alarm(j->at - io_seconds() - j->reserve - 2 * (j->step + j->save));
}

double job_end_ask(struct job_end *j, double reserve)
{
	double left = launcher_time_left();
	j->at = io_seconds() + left;
	/* Caps the reserve at a quarter of a short job. */
	j->reserve = fmin(reserve, left / 4);
	set_alarm(j);
	return left;
}

void job_end_longest(struct job_end *j, double *longest, double seconds)
{
	if (seconds <= *longest)
		return;
	*longest = seconds;
	set_alarm(j);
}
