/* SPDX-License-Identifier: BSD-3-Clause
 *
 * float32 and float64 use MPI_Iallreduce, which adds in an order of its own. 16-bit
 * elements, which MPI cannot add and which stay 16-bit on the wire, and buckets with
 * a fixed order use three steps: each host gets its part of all others' shards
 * (MPI_Ialltoall), adds them in the order of sum.h and rounds once, and sends the
 * sums to all (MPI_Iallgather). The threads that make progress test all requests. */
#include "comm/across.h"

#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "comm/sum.h"
#include "comm/world_mpi.h"

struct across_sum {
	MPI_Request request;
	enum dtype dtype;
	size_t size;                 /* bytes of an element */
	bool by_mpi;                 /* MPI adds */
	void *p;
	int64_t n;
	/* Else parts, one a host. */
	int64_t part;                /* elements */
	char *send, *receive;        /* buffers of `hosts` parts each */
	void **lane;                 /* the parts received */
	int64_t ticket;
	bool gathering;
};

struct across {
	/* MPI matches the collectives of a communicator by their order. So the second collectives have
	 * their own communicator, and follow in the order of the first (tickets). */
	MPI_Comm peers, gathers;
	int64_t sent, gathered;
	_Atomic int64_t *messages;   /* how many, of all reducers */
	int buckets, hosts;
	struct across_sum *sum;      /* by bucket */
};

int across_shards(struct comm *c)
{
	double most[2] = { c->local_size, -c->local_size };
	comm_max(c, most, 2, "the ranks of each host");
	return most[0] == -most[1] ? c->local_size : 1;
}

static bool mpi_adds(const struct reducer_bucket *g)
{
	return (g->dtype == DTYPE_F32 || g->dtype == DTYPE_F64) && !g->ordered;
}

/* Elements; MPI counts in int. Types that MPI cannot add are sent as bytes. */
static int64_t most_at_once(const struct reducer_bucket *g)
{
	return mpi_adds(g) ? INT_MAX : INT_MAX / (int64_t)dtype_size(g->dtype);
}

static void prepare(struct across *a, struct across_sum *s, const struct reducer_bucket *g,
                    int64_t most)
{
	s->dtype = g->dtype;
	s->size = dtype_size(g->dtype);
	s->by_mpi = mpi_adds(g);
	if (s->by_mpi)
		return;
	s->part = (most + a->hosts - 1) / a->hosts;
	s->send = mem_calloc((size_t)a->hosts * (size_t)s->part + 1, s->size);
	s->receive = mem_calloc((size_t)a->hosts * (size_t)s->part + 1, s->size);
	s->lane = mem_calloc((size_t)a->hosts, sizeof *s->lane);
	for (int h = 0; h < a->hosts; h++)
		s->lane[h] = s->receive + s->size * (size_t)h * (size_t)s->part;
}

int across_new(struct across **out, struct comm *c, const int64_t *most,
               const struct reducer_bucket *bucket, int buckets, int shards)
{
	bool part = shards > 1 || c->local_rank == 0;
	struct across *a = mem_calloc(1, sizeof *a);
	*a = (struct across){ .messages = &comm_whole(c)->state->messages, .buckets = buckets,
		.hosts = c->hosts };
	a->sum = mem_calloc((size_t)buckets + 1, sizeof *a->sum);
	MPI_MUST(Comm_split, c->state->world->all, part ? c->local_rank : MPI_UNDEFINED, c->host,
	         &a->peers);
	a->gathers = mpi.none;
	if (part)
		MPI_MUST(Comm_dup, a->peers, &a->gathers);
	for (int k = 0; k < buckets && part; k++) {
		if (most[k] > most_at_once(&bucket[k])) {
			across_free(a);
			return ERR(E_UNSUPPORTED, NULL,
			           "a group of %lld elements on a rank is more than MPI can sum at once",
			           (long long)most[k]);
		}
		prepare(a, &a->sum[k], &bucket[k], most[k]);
	}
	if (!part) {
		across_free(a);
		a = NULL;
	}
	*out = a;
	return 0;
}

void across_free(struct across *a)
{
	if (!a)
		return;
	if (a->gathers != mpi.none)
		MPI_MUST(Comm_free, &a->gathers);
	if (a->peers != mpi.none)
		MPI_MUST(Comm_free, &a->peers);
	for (int k = 0; k < a->buckets; k++) {
		mem_free(a->sum[k].send);
		mem_free(a->sum[k].receive);
		mem_free(a->sum[k].lane);
	}
	mem_free(a->sum);
	mem_free(a);
}

void across_start(struct across *a, int k, void *p, int64_t n)
{
	struct across_sum *s = &a->sum[k];
	s->p = p;
	s->n = n;
	s->gathering = false;
	atomic_fetch_add_explicit(a->messages, 1, memory_order_relaxed);
	if (s->by_mpi) {
		MPI_MUST(Iallreduce, MPI_IN_PLACE, p, (int)n, s->dtype == DTYPE_F64 ? mpi.f64 : mpi.f32,
		         mpi.sum, a->peers, &s->request);
		return;
	}
	int bytes = (int)s->size * (int)s->part;
	s->ticket = a->sent++;
	memcpy(s->send, p, s->size * (size_t)n);
	MPI_MUST(Ialltoall, s->send, bytes, mpi.byte, s->receive, bytes, mpi.byte, a->peers,
	         &s->request);
}

/* Sums this host's part in place in the send buffer. */
static void gather(struct across *a, struct across_sum *s)
{
	int bytes = (int)s->size * (int)s->part;
	void *sum = s->send;
	sum_blocks(s->dtype, s->lane, a->hosts, &sum, 1, 0, s->part);
	s->gathering = true;
	a->gathered++;
	atomic_fetch_add_explicit(a->messages, 1, memory_order_relaxed);
	MPI_MUST(Iallgather, s->send, bytes, mpi.byte, s->receive, bytes, mpi.byte, a->gathers,
	         &s->request);
}

bool across_test(struct across *a, int k)
{
	struct across_sum *s = &a->sum[k];
	int done;
	MPI_MUST(Test, &s->request, &done, MPI_STATUS_IGNORE);
	if (!done || s->by_mpi)
		return done;
	if (!s->gathering) {
		if (s->ticket == a->gathered)
			gather(a, s);
		return false;
	}
	memcpy(s->p, s->receive, s->size * (size_t)s->n);
	return true;
}
