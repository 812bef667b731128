/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Why no rank sees half a sum. Let e be the number of starts of a bucket.
 *
 * - A rank writes its block, then adds 1 to `arrived` (release). A thread that reads e * ranks
 *   there (acquire; all additions are one release sequence) sees all blocks as written for start e.
 * - `claimed` goes from (e - 1) * pieces to e * pieces by compare-and-swap, so that each piece has
 *   one holder. It cannot pass e * pieces before all have arrived for e + 1, which no rank does
 *   before `done` says that all pieces of e are finished: a claimer that was preempted finds its
 *   own bound reached.
 * - The holder writes sums into the blocks, then adds 1 to `finished` (release and acquire):
 *   the thread that makes it e * pieces has seen all holders' writes, and passes them on by adding
 *   1 to `done`.
 * - A waiter reads `done` (acquire), and so sees all sums in its block; it alone writes there until
 *   it arrives again.
 * - The owner of a shard reads `finished` of the first round (acquire), has MPI sum in its block,
 *   and stores `sent` (release), which the claimers of the second round read (acquire). */
#include "comm/host_reducer.h"

#include <string.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/model_clock.h"
#include "base/round.h"
#include "comm/liveness.h"
#include "comm/sum.h"

#define WORK (256 << 10)       /* bytes of all blocks that a piece has: some ten microseconds */
#define LEAST (8 << 10)        /* bytes of one block; for less a claim costs more than it spreads */

size_t host_reducer_bytes(int ranks, int buckets, int shards)
{
	return mem_pages(sizeof(struct host_head)) +
	       mem_pages((size_t)buckets * sizeof(struct host_bucket)) +
	       mem_pages((size_t)buckets * (size_t)shards * sizeof(struct host_shard)) +
	       mem_pages((size_t)ranks * sizeof(struct host_rank)) +
	       (size_t)ranks * mem_pages((size_t)buckets * sizeof(uint64_t));
}

static int64_t least_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* In whole cache lines, so that no two write the same one. */
static int64_t lines(int64_t n, int64_t per_line)
{
	return ceil_div(n, per_line) * per_line;
}

static void cut(struct host_reducer *d, int k)
{
	const struct reducer_bucket *g = &d->bucket[k];
	int64_t size = (int64_t)dtype_size(g->dtype), per_line = 64 / size;
	int64_t each = lines((g->n + d->shards - 1) / d->shards, per_line);
	int64_t piece = least_of(WORK / d->n, g->n * size / (2 * d->n));
	piece = lines((piece < LEAST ? LEAST : piece) / size, per_line);
	for (int s = 0; s < d->shards; s++) {
		struct host_share *u = &d->share[k * d->shards + s];
		u->first = least_of(s * each, g->n);
		u->n = least_of(each, g->n - u->first);
		/* alone there is nothing to sum */
		u->piece = d->n == 1 ? lines(u->n + 1, per_line) : piece;
		u->pieces = (uint64_t)((u->n + u->piece - 1) / u->piece);
		d->whole[k] += u->pieces > 0;
	}
}

void host_reducer_init(struct host_reducer *d, void *memory, size_t block_bytes, int me, int ranks,
                       const struct reducer_bucket *bucket, int buckets, int hosts, int shards)
{
	char *p = memory;
	*d = (struct host_reducer){ .me = me, .n = ranks, .buckets = buckets, .shards = shards,
	                    .rounds = hosts > 1 ? 2 : 1, .bucket = bucket };
	d->share = mem_calloc((size_t)buckets * (size_t)shards + 1, sizeof *d->share);
	d->whole = mem_calloc((size_t)buckets + 1, sizeof *d->whole);
	d->block = mem_calloc((size_t)ranks, sizeof *d->block);
	d->began = mem_calloc((size_t)buckets + 1, sizeof *d->began);
	for (int i = 0; i < 2; i++)
		d->lane[i] = mem_calloc((size_t)ranks, sizeof **d->lane);
	for (int k = 0; k < buckets; k++)
		cut(d, k);
	d->head = (struct host_head *)p;
	p += mem_pages(sizeof *d->head);
	d->post = (struct host_bucket *)p;
	p += mem_pages((size_t)buckets * sizeof *d->post);
	d->unit = (struct host_shard *)p;
	p += mem_pages((size_t)buckets * (size_t)shards * sizeof *d->unit);
	d->rank = (struct host_rank *)p;
	p += mem_pages((size_t)ranks * sizeof *d->rank);
	d->started = (_Atomic uint64_t *)p;
	p += (size_t)ranks * mem_pages((size_t)buckets * sizeof *d->started);
	for (int r = 0; r < ranks; r++)
		d->block[r] = p + (size_t)r * block_bytes;
}

void host_reducer_release(struct host_reducer *d)
{
	mem_free(d->share);
	mem_free(d->whole);
	mem_free(d->block);
	mem_free(d->began);
	for (int i = 0; i < 2; i++)
		mem_free(d->lane[i]);
}

/* A row a rank, of whole pages, so that ranks do not write each other's lines. */
static _Atomic uint64_t *started(const struct host_reducer *d, int rank, int k)
{
	size_t row = mem_pages((size_t)d->buckets * sizeof *d->started) / sizeof *d->started;
	return d->started + (size_t)rank * row + k;
}

uint64_t host_reducer_starts(const struct host_reducer *d, int rank, int k)
{
	return atomic_load_explicit(started(d, rank, k), memory_order_relaxed);
}

uint64_t host_reducer_started(const struct host_reducer *d, int k)
{
	return host_reducer_starts(d, d->me, k);
}

static int wake_for(const struct host_share *u)
{
	return u->pieces < INT_MAX ? (int)u->pieces : INT_MAX;
}

static void raise_to(_Atomic int64_t *at, int64_t v)
{
	int64_t now = atomic_load_explicit(at, memory_order_relaxed);
	while (now < v && !atomic_compare_exchange_weak_explicit(at, &now, v, memory_order_relaxed,
	                                                         memory_order_relaxed))
		;
}

void host_reducer_arrive(struct host_reducer *d, int k)
{
	struct host_rank *mine = &d->rank[d->me];
	atomic_store_explicit(&mine->last, k + 1, memory_order_relaxed);
	d->began[k] = io_nanoseconds();
	atomic_store_explicit(&mine->since, d->began[k], memory_order_relaxed);
	uint64_t e = atomic_fetch_add_explicit(started(d, d->me, k), 1, memory_order_relaxed) + 1;
	atomic_store_explicit(&d->post[k].came_at[e % 2], d->began[k], memory_order_relaxed);
	atomic_store_explicit(&d->post[k].came[e % 2], d->me, memory_order_relaxed);
	if (debug.link.bandwidth > 0)
		raise_to(&d->post[k].began_at[e % 2], model_clock_now());
	uint64_t arrived = atomic_fetch_add_explicit(&d->post[k].arrived, 1, memory_order_acq_rel) + 1;
	if (arrived % (uint64_t)d->n != 0 || d->whole[k] == 0)
		return;
	futex_event_signal(&d->head->news, INT_MAX);
	futex_event_signal(&d->head->work,
	                   d->shards > 1 ? INT_MAX : wake_for(&d->share[k * d->shards]));
}

bool host_reducer_done(const struct host_reducer *d, int k)
{
	uint64_t done = atomic_load_explicit(&d->post[k].done, memory_order_acquire);
	return done >= host_reducer_started(d, k) * d->whole[k];
}

int64_t host_reducer_began(const struct host_reducer *d, int k)
{
	return atomic_load_explicit(&d->post[k].began_at[host_reducer_started(d, k) % 2],
	                            memory_order_relaxed);
}

struct host_times host_times(const struct host_reducer *d, int k)
{
	int odd = host_reducer_started(d, k) % 2;
	return (struct host_times){ d->began[k],
		atomic_load_explicit(&d->post[k].came_at[odd], memory_order_relaxed),
		atomic_load_explicit(&d->post[k].done_at, memory_order_relaxed),
		atomic_load_explicit(&d->post[k].came[odd], memory_order_relaxed) };
}

/* Claims a piece of round `round` of start e, or says that none is left. */
static bool claim(struct host_shard *u, int round, uint64_t e, uint64_t pieces, uint64_t *piece)
{
	uint64_t c = atomic_load_explicit(&u->claimed[round], memory_order_relaxed);
	while (c < e * pieces)
		if (atomic_compare_exchange_weak_explicit(&u->claimed[round], &c, c + 1,
		                                          memory_order_relaxed, memory_order_relaxed)) {
			*piece = c - (e - 1) * pieces;
			return true;
		}
	return false;
}

static void finish(struct host_reducer *d, int k, struct host_shard *u,
                   const struct host_share *share, int round, uint64_t e)
{
	uint64_t finished = atomic_fetch_add_explicit(&u->finished[round], 1, memory_order_acq_rel) + 1;
	if (finished != e * share->pieces)
		return;
	if (round + 1 < d->rounds) {
		futex_event_signal(&d->head->news, INT_MAX);
		futex_event_signal(&d->head->work, INT_MAX); /* the owner's thread has to see it */
		return;
	}
	atomic_store_explicit(&d->post[k].done_at, io_nanoseconds(), memory_order_relaxed);
	if (atomic_fetch_add_explicit(&d->post[k].done, 1, memory_order_acq_rel) + 1 == e * d->whole[k])
		futex_event_signal(&d->head->news, INT_MAX);
}

/* The rank that owns shard s, which is all-reduced with other hosts. */
static int owner(const struct host_reducer *d, int s)
{
	return d->shards > 1 ? s : 0;
}

static void compute(struct host_reducer *d, int k, int s, int round, uint64_t piece, void **lane)
{
	const struct reducer_bucket *g = &d->bucket[k];
	const struct host_share *u = &d->share[k * d->shards + s];
	size_t size = dtype_size(g->dtype);
	int64_t first = u->first + (int64_t)piece * u->piece;
	int64_t n = least_of(u->piece, u->first + u->n - first);
	void **own = &lane[owner(d, s)];
	if (d->n == 1)
		return;
	for (int r = 0; r < d->n; r++)
		lane[r] = d->block[r] + g->offset;
	if (round == 0) {
		bool all = d->rounds == 1;
		sum_blocks(g->dtype, lane, d->n, all ? lane : own, all ? d->n : 1, first, n);
		return;
	}
	for (int r = 0; r < d->n; r++)
		if (&lane[r] != own)
			memcpy((char *)lane[r] + (size_t)first * size, (char *)*own + (size_t)first * size,
			       (size_t)n * size);
}

static bool work_round(struct host_reducer *d, int k, int s, int round, uint64_t e,
                       enum host_caller caller)
{
	int at = k * d->shards + s;
	struct host_shard *u = &d->unit[at];
	uint64_t piece;
	if (round == 1 && atomic_load_explicit(&u->sent, memory_order_acquire) != e)
		return false;
	if (!claim(u, round, e, d->share[at].pieces, &piece))
		return false;
	_Atomic int *mark = &d->rank[d->me].works_on[caller];
	atomic_store_explicit(mark, k + 1, memory_order_relaxed);
	compute(d, k, s, round, piece, d->lane[caller]);
	finish(d, k, u, &d->share[at], round, e);
	atomic_store_explicit(mark, 0, memory_order_relaxed);
	return true;
}

bool host_reducer_work(struct host_reducer *d, int k, enum host_caller caller)
{
	uint64_t arrived = atomic_load_explicit(&d->post[k].arrived, memory_order_acquire);
	uint64_t e = arrived / (uint64_t)d->n;
	if (arrived == 0 || arrived % (uint64_t)d->n != 0)
		return false;
	for (int i = 0; i < d->shards; i++) {
		int s = (i + d->me) % d->shards;         /* each begins with its own */
		for (int round = d->rounds; round-- > 0;)
			if (work_round(d, k, s, round, e, caller))
				return true;
	}
	return false;
}

bool host_reducer_summed(const struct host_reducer *d, int k, int s, uint64_t start)
{
	int at = k * d->shards + s;
	uint64_t finished = atomic_load_explicit(&d->unit[at].finished[0], memory_order_acquire);
	return finished >= start * d->share[at].pieces;
}

void host_reducer_sent(struct host_reducer *d, int k, int s)
{
	atomic_store_explicit(&d->unit[k * d->shards + s].sent, host_reducer_started(d, k),
	                      memory_order_release);
	futex_event_signal(&d->head->news, INT_MAX);
	futex_event_signal(&d->head->work, INT_MAX);
}
