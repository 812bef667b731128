/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DLX_DEBUG=link=LATENCY:BANDWIDTH: delays messages and sums until a link with this latency and
 * bandwidth would have transferred them, so that overlap and its predictions can be tested with all
 * ranks on one host. Each rank has one link on which its messages queue, and one for its sums.
 * With DLX_DEBUG=ranks=N one rank sums as if with N - 1 others. Times are those of the model clock,
 * in io_nanoseconds. Internal to src/comm/. */
#ifndef DLX_COMM_LINK_DELAY_H
#define DLX_COMM_LINK_DELAY_H

#include "base/model_clock.h"
#include "comm/linkmodel.h"

static inline bool link_delay_on(void)
{
	return debug.link.bandwidth > 0;
}

/* The time from which a message sent now may be read; 0: at once. One thread of the rank calls
 * this. */
static inline int64_t link_delay_message(int64_t bytes)
{
	static _Thread_local int64_t busy;
	if (!link_delay_on())
		return 0;
	int64_t now = model_clock_now();
	busy = (busy > now ? busy : now) + (int64_t)((double)bytes / debug.link.bandwidth * 1e9);
	return busy + (int64_t)(debug.link.latency * 1e9);
}

/* Whether this process is one rank whose peers are only modelled. */
static inline bool link_delay_peers(int ranks)
{
	return ranks == 1 && debug.ranks > 1 && link_delay_on();
}

/* The time at which a sum over ranks ends, if the last rank started it at `from`: it begins when
 * the link is free, and takes the time of the fastest algorithm. *busy: until when the link is
 * busy, updated. */
static inline int64_t link_delay_sum(int64_t *busy, int64_t from, int64_t bytes, int ranks)
{
	const struct link l = { .latency = debug.link.latency, .bandwidth = debug.link.bandwidth };
	struct linkmodel m;
	linkmodel_of_each(&m, link_delay_peers(ranks) ? (int)debug.ranks : ranks, &l);
	*busy = (*busy > from ? *busy : from) +
	        (int64_t)(linkmodel_seconds(&m, (double)bytes) * 1e9);
	return *busy;
}

/* Whether the time `due` has come, or can be waited for by model_clock_wait; true if there is no
 * delay. */
static inline bool link_delay_over(int64_t due)
{
	return due <= 0 || model_clock_on() || io_nanoseconds() >= due;
}

#endif
