/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The clock of a rank whose kernels and links are modelled (DLX_DEBUG=sleep=yes,link=...). Kernels,
 * messages and sums advance it by the times that they should take, so that what the host does late
 * is in none of these times: a sleep ends late by some ten microseconds, and by more where ranks
 * share processors. The host's clock follows it (backend/exec_sleep.c). Times are
 * io_nanoseconds. */
#ifndef DLX_BASE_MODEL_CLOCK_H
#define DLX_BASE_MODEL_CLOCK_H

#include "base/debug.h"
#include "base/io.h"

extern int64_t model_clock;

static inline bool model_clock_on(void)
{
	return debug.sleep && debug.link.bandwidth > 0;
}

/* The host's time if the clock is off. */
static inline int64_t model_clock_now(void)
{
	return model_clock_on() ? model_clock : io_nanoseconds();
}

/* Sets the clock to this time, if it is later; if the clock is off, sleeps until then. */
static inline void model_clock_wait(int64_t until)
{
	if (!model_clock_on())
		io_sleep_until(until);
	else if (until > model_clock)
		model_clock = until;
}

#endif
