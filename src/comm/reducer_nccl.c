/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All-reduces on a side stream or on the compute stream. One-thread kernels before and after each
 * write to memory that the host sees, since a graph launch reports no progress otherwise. While the
 * host waits for the GPU it checks that memory, NCCL's errors and the other ranks. */
#include "comm/reducer_nccl.h"

#include <string.h>

#include "backend/cuda/cuda.h"
#include "backend/cuda/cuda_side.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/mem.h"
#include "comm/reducer_nccl_state.h"

/* --- waiting, seen from the host --- */

static void count(struct reducer_nccl *r)
{
	struct comm_counts *counts = &comm_whole(r->c)->state->counts;
	const struct cuda_progress now = cuda_side_progress(r->side);
	if (now.done == r->counted.done)
		return;
	counts->step_reductions += r->marks ? 0 : (int64_t)(now.done - r->counted.done);
	counts->bytes += (double)(now.bytes - r->counted.bytes);
	r->stats.reductions += (int64_t)(now.done - r->counted.done);
	r->stats.bytes += (double)(now.bytes - r->counted.bytes);
	r->stats.waited += (double)(now.waited - r->counted.waited) * 1e-9;
	if (r->concurrent && now.wanted_at != r->counted.wanted_at && now.done_at > now.wanted_at &&
	    now.done == now.begun)
		r->stats.waited += (double)(now.done_at - now.wanted_at) * 1e-9;
	if (now.done == now.begun)
		r->counted = now;
	else
		r->counted.done = now.done, r->counted.bytes = now.bytes, r->counted.waited = now.waited;
}

static void tell_where(struct reducer_nccl *r)
{
	struct gpu_slot *s = gpu_slot(r);
	const struct cuda_progress now = cuda_side_progress(r->side);
	if (now.begun != atomic_load_explicit(&s->begun, memory_order_relaxed)) {
		atomic_store_explicit(&s->bucket, now.number, memory_order_relaxed);
		atomic_store_explicit(&s->since, io_nanoseconds(), memory_order_relaxed);
		atomic_store_explicit(&s->begun, now.begun, memory_order_release);
	}
	atomic_store_explicit(&s->done, now.done, memory_order_release);
}

/* At the deadline, a host whose ranks are all present
 * leaves the report to a host with missing ranks. */
static bool too_late(const struct reducer_nccl *r, double waited)
{
	const struct comm *c = r->c;
	const struct liveness *b = &c->state->liveness;
	if (waited <= c->timeout)
		return liveness_gone(b) >= 0;
	if (waited > c->timeout + liveness_patience(c->host) || c->hosts == 1 || liveness_halted(b))
		return true;
	for (int i = 0; i < c->local_size; i++)
		if (atomic_load(&r->slot[i].begun) < atomic_load(&gpu_slot(r)->begun))
			return true;
	return false;
}

static bool overdue(struct reducer_nccl *r)
{
	const struct gpu_slot *s = gpu_slot(r);
	const uint64_t begun = atomic_load(&s->begun);
	if (begun == atomic_load(&s->done))
		return false;
	if (begun != r->watched) {
		r->watched = begun;
		r->deadline = deadline_begin();
		r->round = DEADLINE_ROUND;
	}
	double waited = deadline_waited(&r->deadline);
	if (waited < r->round)
		return false;
	r->round = waited + DEADLINE_ROUND;
	return too_late(r, waited);
}

static int poll(void *argument)
{
	struct reducer_nccl *r = argument;
	tell_where(r);
	count(r);
	const char *trouble = nccl_trouble(r->nccl);
	if (trouble)
		return reducer_nccl_report(r, trouble);
	return overdue(r) ? reducer_nccl_report(r, NULL) : 0;
}

/* --- sums --- */

static int begin_sum(struct reducer_nccl *r, int k)
{
	const struct reducer_bucket *a = &r->bucket[k];
	uint64_t bytes = (uint64_t)a->n * dtype_size(a->dtype);
	void *stream = cuda_side_stream(r->side);
	void *p = (char *)r->block + a->offset;
	TRY(cuda_side_note_begin(r->side, k));
	if (a->ordered && r->c->size > 1)
		TRY(reducer_nccl_ordered(r, p, a->n));
	else if (a->n > 0)
		TRY(nccl_sum(r->nccl, p, a->n, a->dtype, stream));
	TRY(cuda_side_note_done(r->side, bytes));
	return cuda_side_mark(r->side, k);
}

/* Lagged buckets of the step before come before all of this step. */
static int begin_lagged(struct reducer_nccl *r)
{
	if (!r->lagged || r->lagged_begun)
		return 0;
	r->lagged_begun = true;
	TRY(cuda_side_fork(r->side, true));
	for (int k = 0; k < r->buckets; k++)
		if (r->bucket[k].lagged)
			TRY(begin_sum(r, k));
	return 0;
}

static int start(struct reducer_nccl *r, int k)
{
	TRY(begin_lagged(r));
	TRY(cuda_side_fork(r->side, false));
	return begin_sum(r, k);
}

void reducer_nccl_start(struct reducer_nccl *r, int k)
{
	if (r->bucket[k].lagged)
		r->lagged_begun = false;
	else if (r->failed == 0)
		r->failed = start(r, k);
}

int reducer_nccl_wait(struct reducer_nccl *r, int k)
{
	TRY(r->failed);
	if (k == 0)
		TRY(cuda_side_note_wanted(r->side));
	if (r->bucket[k].lagged)
		TRY(begin_lagged(r));
	return cuda_side_join(r->side, k);
}

int reducer_nccl_mark(struct reducer_nccl *r, int k, int (*enqueue)(void *argument, void *stream),
                      void *argument, int64_t bytes)
{
	TRY(cuda_side_note_begin(r->side, k));
	TRY(enqueue(argument, cuda_side_stream(r->side)));
	return cuda_side_note_done(r->side, (uint64_t)bytes);
}

/* -0 is the identity of addition to the bit. */
static void fill_with_nothing(void *p, size_t bytes, enum dtype t)
{
	const size_t size = dtype_size(t);
	memset(p, 0, bytes);
	for (size_t i = size - 1; i < bytes; i += size)
		((uint8_t *)p)[i] = 0x80;
}

/* Keeps the sums on rank 0 and zeros elsewhere: the next all-reduce gives the same bits. */
int reducer_nccl_keep(struct reducer_nccl *r)
{
	int rc = 0;
	for (int k = 0; k < r->buckets && r->c->rank > 0 && rc == 0; k++) {
		size_t bytes = (size_t)r->bucket[k].n * dtype_size(r->bucket[k].dtype);
		if (!r->bucket[k].lagged)
			continue;
		void *zero = mem_calloc(1, bytes + 1);
		fill_with_nothing(zero, bytes, r->bucket[k].dtype);
		rc = device_put(r->dev, (char *)r->block + r->bucket[k].offset, zero, bytes);
		mem_free(zero);
	}
	r->lagged_begun = false;
	return rc;
}

/* --- setting up --- */

static size_t slots_bytes(const struct comm *c)
{
	return (size_t)c->local_size * sizeof(struct gpu_slot);
}

static int open_slots(struct reducer_nccl *r)
{
	struct comm *c = r->c;
	size_t bytes = slots_bytes(c);
	void *p = NULL;
	int rc = 0;
	if (c->state->world)
		rc = world_share(c, bytes, &r->shared, &p);
	else if (!(p = mem_map(bytes)))
		rc = ERR(E_NOMEM, NULL, "no memory for the state of sums");
	if (rc > 0)
		rc = ERR(E_UNAVAILABLE, NULL, "the ranks of host %s timed out while sharing memory",
		         c->host_name);
	TRY(comm_agree(c, rc, "memory for sums"));
	r->slot = p;
	if (c->local_rank == 0)
		memset(p, 0, bytes);
	comm_barrier(c, "memory for sums");
	return 0;
}

static int obtain(struct reducer_nccl *r)
{
	r->block = device_alloc(r->dev, r->block_bytes);
	r->scratch_bytes = reducer_nccl_scratch(r->bucket, r->buckets, r->c->size);
	if (r->scratch_bytes)
		r->scratch = device_alloc(r->dev, r->scratch_bytes);
	if (!r->block || (r->scratch_bytes && !r->scratch))
		return ERR(E_NOMEM, NULL, "the GPU has no room for %.1f MB of all-reduces; make "
		           "'train.batch_size' smaller", (double)(r->block_bytes + r->scratch_bytes) / 1e6);
	return cuda_side_new(&r->side, r->dev, r->buckets, r->concurrent);
}

/* NCCL connects at the first all-reduce of a size; this keeps that out of the first step. */
static int warm_up(struct reducer_nccl *r)
{
	for (int k = 0; k < r->buckets; k++)
		TRY(start(r, k));
	for (int k = 0; k < r->buckets; k++)
		TRY(cuda_side_join(r->side, k));
	TRY(r->dev->driver->finish(r->dev));
	return poll(r);
}

static struct reducer_nccl *allocate(const struct reducer_place *where, size_t bytes,
                                     const struct reducer_bucket *bucket, int n)
{
	struct reducer_nccl *r = mem_calloc(1, sizeof *r);
	r->c = where->comm;
	r->buckets = n;
	r->block_bytes = bytes + REDUCER_NCCL_SLACK;
	r->bucket = mem_calloc((size_t)n + 1, sizeof *r->bucket);
	memcpy(r->bucket, bucket, (size_t)n * sizeof *bucket);
	r->dev = where->dev;
	r->nccl = where->nccl;
	r->concurrent = where->concurrent;
	for (int k = 0; k < n; k++)
		r->lagged |= bucket[k].lagged;
	return r;
}

static int set_up(struct reducer_nccl *r)
{
	TRY(nccl_ready(r->nccl));
	TRY(comm_agree(r->c, obtain(r), "memory for sums"));
	TRY(open_slots(r));
	r->ready = true;
	cuda_poll(r->dev, poll, r);
	TRY(warm_up(r));
	r->lagged_begun = false;
	return 0;
}

int reducer_nccl_new(struct reducer_nccl **out, const struct reducer_place *where, size_t bytes,
                     const struct reducer_bucket *bucket, int n)
{
	struct reducer_nccl *r = allocate(where, bytes, bucket, n);
	int rc = set_up(r);
	if (rc < 0)
		reducer_nccl_free(r);
	else
		*out = r;
	return rc;
}

int reducer_nccl_new_marks(struct reducer_nccl **out, const struct reducer_place *where,
                           const struct reducer_bucket *bucket, int n)
{
	TRY(reducer_nccl_new(out, where, 0, bucket, n));
	(*out)->marks = true;
	return 0;
}

void reducer_nccl_free(struct reducer_nccl *r)
{
	if (r->ready)
		comm_barrier(r->c, "the end of sums");
	cuda_unpoll(r->dev, r);
	device_free(r->dev, r->block, r->block_bytes);
	device_free(r->dev, r->scratch, r->scratch_bytes);
	cuda_side_free(r->side);
	if (r->shared)
		world_unshare(r->shared);
	else
		mem_unmap(r->slot, slots_bytes(r->c));
	mem_free(r->bucket);
	mem_free(r);
}

bool reducer_nccl_under_way(const struct reducer_nccl *r, int k)
{
	return r->bucket[k].lagged;
}

void *reducer_nccl_memory(const struct reducer_nccl *r)
{
	return r->block;
}

struct reducer_stats reducer_nccl_stats(const struct reducer_nccl *r)
{
	return r->stats;
}
