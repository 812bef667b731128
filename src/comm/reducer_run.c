/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The progress of all-reduces on the host. The reducer's thread and every thread that waits for a
 * sum take pieces of complete buckets first; then one of them at a time drives MPI between hosts. A
 * thread without work polls for a few microseconds, then sleeps on a futex: on shared cores a
 * spinning thread steals time from the threads that it waits for, which also stalls MPI's own
 * all-reduce concurrently with computation. */
#include <errno.h>
#include <string.h>

#include "base/deadline.h"
#include "base/err.h"
#include "base/trace.h"
#include "comm/board.h"
#include "comm/exchange_mpi.h"
#include "comm/link_delay.h"
#include "comm/reducer_nccl.h"
#include "comm/reducer_state.h"

#define SPIN 3000              /* nanoseconds of looking before the first sleep */
#define SHORT_NAP 20e-6        /* between looks at what MPI does: from here, */
#define LONG_NAP 500e-6        /* doubled up to here */

static bool under_way(const struct reducer *r, int k)
{
	return host_reducer_started(&r->host, k) != atomic_load_explicit(&r->waited[k],
	                                                                 memory_order_relaxed);
}

/* --- between hosts --- */

/* Starts MPI on the oldest bucket whose shard has not been
 * sent; all hosts must use the same order. */
static bool send_next(struct reducer *r)
{
	uint64_t popped = atomic_load_explicit(&r->popped, memory_order_relaxed);
	if (popped == atomic_load_explicit(&r->pushed, memory_order_acquire))
		return false;
	uint64_t next = atomic_load_explicit(&r->queue[popped % (uint64_t)r->buckets],
	                                     memory_order_relaxed);
	int k = (int)(next % (uint64_t)r->buckets);
	const struct host_share *s = &r->host.share[k * r->host.shards + r->shard];
	if (!host_reducer_summed(&r->host, k, r->shard, next / (uint64_t)r->buckets))
		return false;
	atomic_store_explicit(&r->popped, popped + 1, memory_order_release);
	char *values = reducer_bucket_memory(r, k);
	values += s->first * (int64_t)dtype_size(r->bucket[k].dtype);
	across_start(r->across, k, values, s->n);
	r->sending[k] = true;
	r->nsending++;
	return true;
}

static bool receive(struct reducer *r)
{
	bool any = false;
	for (int k = 0; k < r->buckets && r->nsending > 0; k++)
		if (r->sending[k] && across_test(r->across, k)) {
			r->sending[k] = false;
			r->nsending--;
			host_reducer_sent(&r->host, k, r->shard);
			any = true;
		}
	return any;
}

/* *pending: MPI has to be polled again although no event was signalled. */
static bool between_hosts(struct reducer *r, bool *pending)
{
	bool any = false;
	*pending = false;
	if (!r->across || pthread_mutex_trylock(&r->sender) != 0)
		return false;
	while (send_next(r))
		any = true;
	any = receive(r) || any;
	*pending = r->nsending > 0;
	pthread_mutex_unlock(&r->sender);
	return any;
}

/* --- progress --- */

static bool progress(struct reducer *r, int first, enum host_caller caller, bool *pending)
{
	bool any = first >= 0 && host_reducer_work(&r->host, first, caller);
	*pending = false;
	for (int k = 0; k < r->buckets && !any; k++)
		any = under_way(r, k) && host_reducer_work(&r->host, k, caller);
	return between_hosts(r, pending) || any;
}

/* Works while there is work or bucket `k` (if >= 0) is in
 * flight; true: some work was done, or k is done. */
static bool work(struct reducer *r, int k, enum host_caller caller, bool *pending)
{
	int64_t begin = io_nanoseconds(), now = begin;
	bool any = false;
	while (progress(r, k, caller, pending)) {
		any = true;
		if (k >= 0 && host_reducer_done(&r->host, k))
			break;
	}
	if (any) {
		now = io_nanoseconds();
		atomic_fetch_add_explicit(&r->busy[caller], now - begin, memory_order_relaxed);
	}
	return any || (k >= 0 && host_reducer_done(&r->host, k));
}

static bool look(struct reducer *r, int k, enum host_caller caller, bool *pending)
{
	int64_t begin = io_nanoseconds();
	do {
		if (work(r, k, caller, pending))
			return true;
	} while (io_nanoseconds() - begin < SPIN);
	return false;
}

void *reducer_run(void *reducer)
{
	struct reducer *r = reducer;
	struct futex_event *b = &r->host.head->work;
	double pause = SHORT_NAP;
	bool pending;
	while (!atomic_load(&r->stop)) {
		if (look(r, -1, HOST_THREAD, &pending)) {
			pause = SHORT_NAP;
			continue;
		}
		uint32_t signals = futex_event_approach(b);
		if (!atomic_load(&r->stop) && !work(r, -1, HOST_THREAD, &pending)) {
			futex_event_wait(b, signals, pending ? pause : 3600);
			pause = pause < LONG_NAP / 2 ? 2 * pause : LONG_NAP;
		}
		futex_event_leave(b);
	}
	return NULL;
}

/* --- start and wait --- */

/* There is room: a bucket leaves the queue before it is done, and is started again after that. */
static void push(struct reducer *r, int k)
{
	uint64_t pushed = atomic_load_explicit(&r->pushed, memory_order_relaxed),
	         n = (uint64_t)r->buckets;
	uint64_t start = host_reducer_started(&r->host, k) + 1;
	atomic_store_explicit(&r->queue[pushed % n], start * n + (uint64_t)k, memory_order_relaxed);
	atomic_store_explicit(&r->pushed, pushed + 1, memory_order_release);
}

/* One rank with modelled peers, which arrive when it does: the end of the sum is known. */
static void start_modelled(struct reducer *r, int k)
{
	if (link_delay_peers(r->c->size) && r->link_bytes[k] > 0)
		r->due[k] = link_delay_sum(&r->link_busy, model_clock_now(), r->link_bytes[k],
		                            r->c->size);
}

void reducer_start(struct reducer *r, int k)
{
	if (r->gpu) {
		reducer_nccl_start(r->gpu, k);
		return;
	}
	struct comm_counts *counts = &comm_whole(r->c)->state->counts;
	double bytes = (double)r->bucket[k].n * (double)dtype_size(r->bucket[k].dtype);
	BUG_IF(!r->plain && under_way(r, k), "group %d is started before it was waited for", k);
	counts->step_reductions++;
	counts->bytes += bytes;
	r->stats.reductions++;
	r->stats.bytes += bytes;
	if (r->plain) {
		start_modelled(r, k);
		return;
	}
	if (r->across && r->host.share[k * r->host.shards + r->shard].pieces > 0)
		push(r, k);
	host_reducer_arrive(&r->host, k);
}

/* Whether all ranks of this host have started bucket k and go on. */
static bool all_here(const struct reducer *r, int k)
{
	for (int i = 0; i < r->host.n; i++)
		if (host_reducer_starts(&r->host, i, k) < host_reducer_started(&r->host, k))
			return false;
	return !liveness_halted(&r->c->state->liveness);
}

static bool too_late(const struct reducer *r, int k, double waited)
{
	const struct comm *c = r->c;
	if (waited <= c->timeout)
		return liveness_gone(&c->state->liveness) >= 0;
	return waited > c->timeout + liveness_patience(c->host) || c->hosts == 1 || !all_here(r, k);
}

/* The first rank that has not started bucket k. */
static int missing_rank(const struct reducer *r, int k)
{
	for (int i = 0; i < r->host.n; i++)
		if (host_reducer_starts(&r->host, i, k) < host_reducer_started(&r->host, k))
			return comm_rank_of(r->c, i);
	return -1;
}

static int sleep_until_done(struct reducer *r, int k, int64_t begin)
{
	struct futex_event *b = &r->host.head->news;
	struct deadline d = { begin, begin };
	double pause = SHORT_NAP, round = DEADLINE_ROUND;
	bool pending;
	while (!look(r, k, HOST_WAITER, &pending) || !host_reducer_done(&r->host, k)) {
		uint32_t signals = futex_event_approach(b);
		exchange_mpi_progress();
		if (!work(r, k, HOST_WAITER, &pending)) {
			pending = pending || exchange_mpi_pending();
			futex_event_wait(b, signals, pending ? pause : DEADLINE_ROUND);
			pause = pause < LONG_NAP / 2 ? 2 * pause : LONG_NAP;
		} else {
			pause = SHORT_NAP;
		}
		futex_event_leave(b);
		double waited = deadline_waited(&d);
		if (waited < round)
			continue;
		round = waited + DEADLINE_ROUND;
		if (!host_reducer_done(&r->host, k) && too_late(r, k, waited))
			return reducer_report(r, k, d.begin);
		board_wait(r->c, BOARD_SUM, r->bucket[k].name, missing_rank(r, k));
	}
	return 0;
}

/* The board is written only if there is no sum after a look. */
static int wait_asleep(struct reducer *r, int k, int64_t begin)
{
	bool pending;
	if (look(r, k, HOST_WAITER, &pending) && host_reducer_done(&r->host, k))
		return 0;
	board_wait(r->c, BOARD_SUM, r->bucket[k].name, missing_rank(r, k));
	TRY(sleep_until_done(r, k, begin));
	board_go(r->c);
	return 0;
}

bool reducer_under_way(const struct reducer *r, int k)
{
	return r->gpu ? reducer_nccl_under_way(r->gpu, k) : r->plain ? r->due[k] != 0 : under_way(r, k);
}

/* Records the all-reduce: from this rank's start to the
 * end, its share of the work, the last rank to arrive. */
static void trace(const struct reducer *r, int k, double waited)
{
	const struct reducer_bucket *g = &r->bucket[k];
	struct host_times t = host_times(&r->host, k);
	int last = comm_rank_of(r->c, t.last);
	int64_t late = last != r->c->rank && t.came > t.began ? t.came - t.began : 0;
	trace_add(&(struct trace_span){ .lane = TRACE_COMMUNICATION, .name = g->name,
		.start = (double)t.began * 1e-9,
		.end = (double)(t.done > t.began ? t.done : t.began) * 1e-9, .of = "bytes",
		.number = g->n * (int64_t)dtype_size(g->dtype), .more_of = { "waited_ms", "last_rank",
			"last_ms" },
		.more = { waited * 1e3, last, (double)late * 1e-6 } });
}

/* Of a modelled link: until the sum would have come by it. */
static void hold_back(struct reducer *r, int k)
{
	model_clock_wait(link_delay_sum(&r->link_busy, host_reducer_began(&r->host, k),
	                                r->link_bytes[k], r->c->size));
}

/* A sum with modelled peers, whose values are those of this rank. */
static void wait_modelled(struct reducer *r, int k)
{
	const int64_t begin = model_clock_now();
	model_clock_wait(r->due[k]);
	r->due[k] = 0;
	r->stats.waited += (double)(model_clock_now() - begin) * 1e-9;
}

int reducer_wait(struct reducer *r, int k)
{
	if (r->gpu)
		return reducer_nccl_wait(r->gpu, k);
	if (!reducer_under_way(r, k))
		return 0;
	if (r->plain) {
		wait_modelled(r, k);
		return 0;
	}
	int rc = 0;
	double waited = 0;
	if (link_delay_on() || !host_reducer_done(&r->host, k)) {
		const int64_t begin = model_clock_now();
		rc = wait_asleep(r, k, io_nanoseconds());
		if (rc == 0 && link_delay_on() && r->bucket[k].n > 0)
			hold_back(r, k);
		waited = (double)(model_clock_now() - begin) * 1e-9;
		r->stats.waited += waited;
	}
	if (trace_on() && rc == 0 && r->bucket[k].n > 0)
		trace(r, k, waited);
	atomic_store_explicit(&r->waited[k], host_reducer_started(&r->host, k), memory_order_relaxed);
	return rc;
}
