/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets up a reducer: memory that the host's ranks share,
 * each block touched first by its own rank, and a thread. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/model_clock.h"
#include "base/thread.h"
#include "comm/meet.h"
#include "comm/reducer_nccl.h"
#include "comm/reducer_state.h"

#define SLEEPING 16              /* elements that are summed where kernels sleep */

static void check(const struct reducer_bucket *bucket, int n, size_t bytes)
{
	for (int k = 0; k < n; k++) {
		const struct reducer_bucket *g = &bucket[k];
		BUG_IF(!dtype_is_float(g->dtype) || g->offset % 64 != 0 || g->offset < 0 || g->n < 0 ||
		       (size_t)g->offset + (size_t)g->n * dtype_size(g->dtype) > bytes,
		       "reducer's group %d, '%s'", k, g->name);
	}
}

static struct reducer *allocate(struct comm *c, size_t bytes, const struct reducer_bucket *bucket,
                                int n)
{
	struct reducer *r = mem_calloc(1, sizeof *r);
	check(bucket, n, bytes);
	r->c = c;
	r->buckets = n;
	r->block_bytes = mem_pages(bytes + 1);
	r->bucket = mem_calloc((size_t)n + 1, sizeof *r->bucket);
	memcpy(r->bucket, bucket, (size_t)n * sizeof *bucket);
	r->waited = mem_calloc((size_t)n + 1, sizeof *r->waited);
	r->queue = mem_calloc((size_t)n + 1, sizeof *r->queue);
	r->sending = mem_calloc((size_t)n + 1, sizeof *r->sending);
	r->due = mem_calloc((size_t)n + 1, sizeof *r->due);
	r->link_bytes = mem_calloc((size_t)n + 1, sizeof *r->link_bytes);
	for (int k = 0; k < n; k++) {
		struct reducer_bucket *b = &r->bucket[k];
		r->link_bytes[k] = b->n * (int64_t)dtype_size(b->dtype);
		if (model_clock_on() && b->n > SLEEPING)
			b->n = SLEEPING;
	}
	pthread_mutex_init(&r->sender, NULL);
	return r;
}

static void release(struct reducer *r)
{
	pthread_mutex_destroy(&r->sender);
	mem_unmap(r->plain, r->block_bytes);
	mem_free(r->bucket);
	mem_free(r->waited);
	mem_free(r->queue);
	mem_free(r->sending);
	mem_free(r->due);
	mem_free(r->link_bytes);
	mem_free(r);
}

static int start_thread(struct reducer *r)
{
	int failed = thread_start(&r->thread, reducer_run, r);
	r->threaded = !failed;
	return r->threaded ? 0 : ERR(E_NOMEM, NULL, "cannot start the thread that sums gradients: %s",
	                             strerror(failed));
}

static int alone(struct reducer *r)
{
	r->plain = mem_map(r->block_bytes);
	return r->plain ? 0 : ERR(E_NOMEM, NULL, "no memory for %.1f MB of gradients",
	                          (double)r->block_bytes / 1e6);
}

int reducer_of_ranks(struct reducer **out, struct comm *c, void *memory, size_t bytes,
                     const struct reducer_bucket *bucket, int n, bool background)
{
	struct reducer *r = allocate(c, bytes, bucket, n);
	host_reducer_init(&r->host, memory, r->block_bytes, c->local_rank, c->local_size, r->bucket,
	                  n, 1, 1);
	*out = r;
	return background ? start_thread(r) : 0;
}

static int send_between_hosts(struct reducer *r, int shards)
{
	int64_t *most = mem_calloc((size_t)r->buckets + 1, sizeof *most);
	r->shard = shards > 1 ? r->c->local_rank : 0;
	for (int k = 0; k < r->buckets; k++)
		most[k] = r->host.share[k * shards + r->shard].n;
	int rc = across_new(&r->across, r->c, most, r->bucket, r->buckets, shards);
	mem_free(most);
	return rc;
}

/* The first rank zeroes shared state, and each rank its own block, so that its memory is near the
 * cores that use it most. */
static int share(struct reducer *r, bool background)
{
	struct comm *c = r->c;
	int shards = c->hosts > 1 ? across_shards(c) : 1;
	size_t head = host_reducer_bytes(c->local_size, r->buckets, shards);
	void *memory = NULL;
	int rc = meet_share(c, head + (size_t)c->local_size * r->block_bytes, &r->memory, &memory);
	if (rc > 0)
		rc = ERR(E_UNAVAILABLE, NULL, "the ranks of host %s timed out while sharing memory",
		         c->host_name);
	TRY(comm_agree(c, rc, "memory for sums"));
	host_reducer_init(&r->host, memory, r->block_bytes, c->local_rank, c->local_size, r->bucket,
	                  r->buckets, c->hosts, shards);
	if (c->local_rank == 0)
		memset(memory, 0, head);
	memset(r->host.block[c->local_rank], 0, r->block_bytes);
	rc = c->hosts > 1 ? send_between_hosts(r, shards) : 0;
	TRY(comm_agree(c, rc, "sums between hosts"));
	r->ready = true;
	return comm_agree(c, background ? start_thread(r) : 0, "threads for sums");
}

int reducer_new(struct reducer **out, struct comm *c, size_t bytes,
                const struct reducer_bucket *bucket, int n, bool background)
{
	struct reducer *r = allocate(c, bytes, bucket, n);
	int rc = c->size > 1 ? share(r, background) : alone(r);
	if (rc < 0) {
		reducer_free(r);
		r = NULL;
	}
	*out = r;
	return rc;
}

int reducer_new_gpu(struct reducer **out, const struct reducer_place *where, size_t bytes,
                    const struct reducer_bucket *bucket, int n)
{
	struct reducer *r = mem_calloc(1, sizeof *r);
	check(bucket, n, bytes);
	r->bucket = mem_calloc((size_t)n + 1, sizeof *r->bucket);
	memcpy(r->bucket, bucket, (size_t)n * sizeof *bucket);
	int rc = reducer_nccl_new(&r->gpu, where, bytes, bucket, n);
	if (rc < 0) {
		mem_free(r->bucket);
		mem_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

static void stop_thread(struct reducer *r)
{
	if (!r->threaded)
		return;
	atomic_store(&r->stop, 1);
	futex_event_signal(&r->host.head->work, INT_MAX);
	pthread_join(r->thread, NULL);
}

void reducer_free(struct reducer *r)
{
	if (!r)
		return;
	if (r->gpu) {
		reducer_nccl_free(r->gpu);
		mem_free(r->bucket);
		mem_free(r);
		return;
	}
	stop_thread(r);
	if (r->ready)
		comm_barrier(r->c, "the end of sums");
	across_free(r->across);
	world_unshare(r->memory);
	host_reducer_release(&r->host);
	release(r);
}

void *reducer_memory(const struct reducer *r)
{
	if (r->gpu)
		return reducer_nccl_memory(r->gpu);
	return r->plain ? r->plain : r->host.block[r->host.me];
}

void *reducer_bucket_memory(const struct reducer *r, int k)
{
	return (char *)reducer_memory(r) + r->bucket[k].offset;
}

struct reducer_stats reducer_stats(const struct reducer *r)
{
	struct reducer_stats s = r->stats;
	if (r->gpu)
		return reducer_nccl_stats(r->gpu);
	s.busy = (double)(atomic_load(&r->busy[HOST_THREAD]) + atomic_load(&r->busy[HOST_WAITER])) *
	         1e-9;
	return s;
}

int reducer_keep(struct reducer *r)
{
	return r->gpu ? reducer_nccl_keep(r->gpu) : 0;
}
