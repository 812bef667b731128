/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DLX_DEBUG=link=LATENCY:BANDWIDTH: messages and sums are held back until a link of that kind would
 * have brought them, so that overlap, and what is predicted of it, can be tested where ranks share
 * a host. Each rank has one link, on which its messages follow one another, and one for its sums.
 * Times are those of io_nanoseconds. Only for src/comm/. */
#ifndef DLX_COMM_LINK_DELAY_H
#define DLX_COMM_LINK_DELAY_H

#include "base/debug.h"
#include "base/io.h"

static inline bool link_delay_on(void)
{
	return debug.link.bandwidth > 0;
}

/* When a message that is sent now may be read; 0: at once. By the thread of one rank. */
static inline int64_t link_delay_message(int64_t bytes)
{
	static _Thread_local int64_t busy;
	if (!link_delay_on())
		return 0;
	int64_t now = io_nanoseconds();
	busy = (busy > now ? busy : now) + (int64_t)((double)bytes / debug.link.bandwidth * 1e9);
	return busy + (int64_t)(debug.link.latency * 1e9);
}

/* Until when a sum of ranks is under way that the last of them started at `from`: a ring's time,
 * after that of the sum before, in *busy. */
static inline int64_t link_delay_sum(int64_t *busy, int64_t from, int64_t bytes, int ranks)
{
	double sent = 2.0 * (ranks - 1) / ranks * (double)bytes;
	*busy = (*busy > from ? *busy : from) + (int64_t)(sent / debug.link.bandwidth * 1e9);
	return *busy + (int64_t)(debug.link.latency * 1e9);
}

/* Whether that time has come; also true for what is not held back. */
static inline bool link_delay_over(int64_t due)
{
	return due <= 0 || io_nanoseconds() >= due;
}

#endif
