/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between two ranks that are threads (comm/exchange.h) next to what the machine does
 * without them, in turns: a cache line to and fro between two threads that look for it all the
 * time, and memcpy by one thread. Prints both of each and their ratio, by minima of some TURNS. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "comm/exchange.h"
#include "comm/rank_threads.h"

#define TRIPS 200              /* there and back, in a turn */
#define BYTES ((int64_t)4 << 20)
#define STREAM 24              /* messages of a turn, */
#define PLACES 16              /* of as many places in turn, as in a step: no cache holds them */

struct line {
	_Alignas(64) _Atomic int64_t n;
};

static struct line line[2];
static struct {
	double bare, message, copy, stream;      /* seconds, the least: one way; a message of BYTES */
} least = { 1e9, 1e9, 1e9, 1e9 };

static void keep(double *least_of, double seconds)
{
	if (seconds < *least_of)
		*least_of = seconds;
}

static double bare(int rank, int64_t from)
{
	int64_t begin = io_nanoseconds();
	for (int64_t i = from + 1; i <= from + TRIPS; i++) {
		if (rank == 0)
			atomic_store_explicit(&line[0].n, i, memory_order_release);
		while (atomic_load_explicit(&line[!rank].n, memory_order_acquire) != i)
			;
		if (rank == 1)
			atomic_store_explicit(&line[1].n, i, memory_order_release);
	}
	return (double)(io_nanoseconds() - begin) * 1e-9 / (2 * TRIPS);
}

static int take(struct exchange *x, int k, void *to, int64_t bytes)
{
	const void *p;
	TRY(exchange_wait(x, k, &p));
	memcpy(to, p, (size_t)bytes);
	exchange_taken(x, k);
	return 0;
}

static int give(struct exchange *x, int k, const void *from, int64_t bytes)
{
	void *p;
	TRY(exchange_room(x, k, &p));
	memcpy(p, from, (size_t)bytes);
	exchange_send(x, k);
	return 0;
}

static int messages(struct exchange *x, int rank, double *seconds)
{
	char own[EXCHANGE_SMALL] = "";
	int64_t begin = io_nanoseconds();
	for (int i = 0; i < TRIPS; i++) {
		TRY(rank == 0 ? give(x, 0, own, sizeof own) : take(x, 1, own, sizeof own));
		TRY(rank == 0 ? take(x, 1, own, sizeof own) : give(x, 0, own, sizeof own));
	}
	*seconds = (double)(io_nanoseconds() - begin) * 1e-9 / (2 * TRIPS);
	return 0;
}

/* Packing, the way and unpacking; the last one is over when it is unpacked. */
static int stream(struct exchange *x, int rank, char *own, double *seconds)
{
	int64_t begin = io_nanoseconds();
	for (int i = 0; i < STREAM; i++)
		TRY(rank == 0 ? give(x, 2, own + i % PLACES * BYTES, BYTES) :
		    take(x, 2, own + i % PLACES * BYTES, BYTES));
	*seconds = (double)(io_nanoseconds() - begin) * 1e-9 / STREAM;
	return 0;
}

static double copy(char *own, char *to)
{
	int64_t begin = io_nanoseconds();
	for (int i = 0; i < STREAM; i++)
		memcpy(to + i % PLACES * BYTES, own + i % PLACES * BYTES, (size_t)BYTES);
	return (double)(io_nanoseconds() - begin) * 1e-9 / STREAM;
}

static int measure(struct comm *c, struct exchange *x, char *own, int turns)
{
	double seconds;
	for (int64_t i = 0; i < turns; i++) {
		comm_barrier(c, "a turn");
		seconds = bare(c->rank, i * TRIPS);
		if (c->rank == 0)
			keep(&least.bare, seconds);
		comm_barrier(c, "a turn");
		TRY(messages(x, c->rank, &seconds));
		if (c->rank == 0)
			keep(&least.message, seconds);
	}
	for (int i = 0; i < turns; i++) {
		comm_barrier(c, "a turn");
		if (c->rank == 0)
			keep(&least.copy, copy(own, own + PLACES * BYTES));
		comm_barrier(c, "a turn");
		TRY(stream(x, c->rank, own, &seconds));
		if (c->rank == 1)
			keep(&least.stream, seconds);
	}
	return 0;
}

static int rank_of(struct comm *c, void *arg)
{
	const bool first = c->rank == 0;
	struct exchange_edge edge[] = {
		{ 1 - c->rank, true, 0, EXCHANGE_SMALL, c->rank, 1, "to" },
		{ 1 - c->rank, false, 0, EXCHANGE_SMALL, 1 - c->rank, 1, "fro" },
		{ 1 - c->rank, first, 0, BYTES, 2, 2, "stream" },
	};
	struct exchange *x;
	char *own = mem_map(2 * PLACES * (size_t)BYTES);
	memset(own, c->rank + 1, 2 * PLACES * (size_t)BYTES);
	exchange_lay_out(edge, 3);
	TRY(exchange_new(&x, c, edge, 3));
	int rc = measure(c, x, own, *(int *)arg);
	exchange_free(x);
	mem_unmap(own, 2 * PLACES * (size_t)BYTES);
	return rc;
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 400;
	if (rank_threads_run(2, 300, rank_of, &turns) < 0) {
		err_print(stderr, "message_times");
		return 1;
	}
	printf("cache line, one way: bare %.0f ns, message %.0f ns: %.2f times\n", least.bare * 1e9,
	       least.message * 1e9, least.message / least.bare);
	printf("4 MiB at depth 2, packed and unpacked: memcpy %.2f GB/s, stream %.2f GB/s: %.2f\n",
	       BYTES / least.copy * 1e-9, BYTES / least.stream * 1e-9, least.copy / least.stream);
	return 0;
}
