/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between ranks (comm/exchange.h), run under mpiexec by the script next to it: `messages
 * SUBJECT [ARGUMENT...]`. Rank 0 prints "ok" at the end; a mistake ends all with a line that names
 * the rank and the place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "subjects.h"

#include "base/err.h"
#include "comm/exchange.h"
#include "comm/reducer.h"

/* --- all to all --- */

/* Small ones, those of some cache lines, and more than MPI sends at once without its receiver. */
static const int64_t sizes[] = { 1, 48, 49, 4099, 300000 };
#define EACH 5
#define MOST_RANKS 8

static int64_t number(int from, int to, int i)
{
	return 1000 * from + 100 * to + i;
}

static unsigned char pattern(int64_t id, int64_t round, int64_t at)
{
	uint64_t h = ((uint64_t)id * 0x9E3779B97F4A7C15u) ^ ((uint64_t)round * 0xBF58476D1CE4E5B9u);
	return (unsigned char)((h >> (8 * (at % 8))) + (uint64_t)at / 8);
}

static int64_t stride(int64_t bytes)
{
	return bytes > 4096 ? 61 : 1;
}

static int edges_of(const struct comm *t, struct exchange_edge *edge)
{
	int n = 0;
	for (int peer = 0; peer < t->size; peer++)
		for (int i = 0; i < 2 * EACH && peer != t->rank; i++) {
			bool sends = i % 2;
			edge[n++] = (struct exchange_edge){ .peer = peer, .sends = sends,
				.bytes = sizes[i / 2], .depth = 1 + i / 2 % 3, .name = "halo",
				.id = sends ? number(t->rank, peer, i / 2) : number(peer, t->rank, i / 2) };
		}
	exchange_lay_out(edge, n);
	return n;
}

static int write_all(struct exchange *x, const struct exchange_edge *edge, int n, int64_t round)
{
	void *p;
	for (int k = 0; k < n; k++) {
		const struct exchange_edge *e = &edge[k];
		if (!e->sends)
			continue;
		if (exchange_room(x, k, &p) < 0)
			return -1;
		for (int64_t i = 0; i < e->bytes; i += stride(e->bytes))
			((unsigned char *)p)[i] = pattern(e->id, round, i);
		exchange_send(x, k);
	}
	return 0;
}

static int read_all(struct exchange *x, const struct exchange_edge *edge, int n, int64_t round)
{
	const void *p;
	for (int k = n - 1; k >= 0; k--) {
		const struct exchange_edge *e = &edge[k];
		if (e->sends)
			continue;
		if (exchange_wait(x, k, &p) < 0)
			return -1;
		for (int64_t i = 0; i < e->bytes; i += stride(e->bytes))
			CHECK(((const unsigned char *)p)[i] == pattern(e->id, round, i));
		exchange_taken(x, k);
	}
	return 0;
}

static const struct reducer_bucket bucket = { 0, 70000, DTYPE_F32, "conv1.weight" };

/* A sum is under way meanwhile; or some ranks wait for one which the others start after they have
 * read what those have sent, so that a rank that waits for a sum has to send. */
static int round_of(struct exchange *x, struct reducer *r, const struct exchange_edge *edge, int n,
                    int64_t round)
{
	const bool before = round % 2 || c->rank % 2 == 0;
	float *v = reducer_bucket_memory(r, 0);
	for (int64_t i = 0; i < bucket.n; i++)
		v[i] = (float)(c->rank + round % 7);
	if (before)
		reducer_start(r, 0);
	if (write_all(x, edge, n, round) < 0)
		return -1;
	if (round % 2 == 0 && before && reducer_wait(r, 0) < 0)
		return -1;
	if (read_all(x, edge, n, round) < 0)
		return -1;
	if (!before)
		reducer_start(r, 0);
	if (reducer_wait(r, 0) < 0)
		return -1;
	for (int64_t i = 0; i < bucket.n; i += 997)
		CHECK(v[i] == (float)(c->size * (c->size - 1) / 2 + c->size * (round % 7)));
	return 0;
}

/* pass ROUNDS COLOURS: ranks of a team, to which ranks are dealt in turn, send to all others of it,
 * next to sums of all ranks. */
static void pass(int argc, char **argv)
{
	struct exchange_edge edge[2 * EACH * MOST_RANKS];
	struct exchange *x;
	struct reducer *r;
	struct comm *team = c;
	const int rounds = atoi(argv[0]), colours = atoi(argv[1]);
	if (colours > 1)
		comm_subgroup(&team, c, c->rank % colours);
	const int n = edges_of(team, edge);
	CHECK(exchange_new(&x, team, edge, n) == 0);
	CHECK(reducer_new(&r, c, 1 << 19, &bucket, 1, true) == 0);
	const struct comm_counts before = comm_counts(c);
	for (int64_t i = 0; i < rounds; i++)
		CHECK(round_of(x, r, edge, n, i) == 0);
	const struct comm_counts after = comm_counts(c);
	CHECK(after.setup_collectives == before.setup_collectives);
	CHECK(exchange_stats(x).messages == (int64_t)rounds * n / 2);
	CHECK(c->hosts > 1 || after.messages == before.messages);
	if (c->hosts == c->size)             /* and those of sums, at most two each */
		CHECK(after.messages - before.messages >= (int64_t)rounds * n / 2 &&
		      after.messages - before.messages <= (int64_t)rounds * (n / 2 + 2));
	exchange_free(x);
	reducer_free(r);
	if (team != c)
		comm_subgroup_close(team);
}

static void round_or_end(struct exchange *x, struct reducer *r, const struct exchange_edge *edge,
                         int n, int64_t round)
{
	if (round_of(x, r, edge, n, round) == 0)
		return;
	if (comm_prints(c))
		err_print(stderr, "messages");
	comm_abort(c, 69);
}

/* endless: rounds until a signal from outside reaches a rank; each leaves its process id in a
 * file. */
static void endless(int argc, char **argv)
{
	struct exchange_edge edge[2 * EACH * MOST_RANKS];
	struct exchange *x;
	struct reducer *r;
	const int n = edges_of(c, edge);
	c->timeout = 2 * SOON;
	CHECK(exchange_new(&x, c, edge, n) == 0);
	CHECK(reducer_new(&r, c, 1 << 19, &bucket, 1, true) == 0);
	write_pid();
	for (int64_t i = 0;; i++)
		round_or_end(x, r, edge, n, i);
}

/* --- a chain --- */

static const char *const rows[] = { "conv3: row 16", "conv3: row 32", "conv3: row 48" };

/* Rank r takes a message of rank r - 1, then sends one to rank r + 1. */
static int chain_round(struct exchange *x)
{
	const void *q;
	void *p;
	if (c->rank > 0) {
		if (exchange_wait(x, 0, &q) < 0)
			return -1;
		exchange_taken(x, 0);
	}
	if (c->rank < c->size - 1) {
		const int k = c->rank > 0;
		if (exchange_room(x, k, &p) < 0)
			return -1;
		memset(p, 0, 8);
		exchange_send(x, k);
	}
	return 0;
}

/* lost HOW: in the third round rank 1 goes, stops or stays away; the others report and end. */
static void lost(int argc, char **argv)
{
	struct exchange_edge edge[2];
	struct exchange *x;
	int n = 0;
	CHECK(c->size <= 4);
	if (c->rank > 0)
		edge[n++] = (struct exchange_edge){ .peer = c->rank - 1, .bytes = 8, .depth = 1,
			.name = rows[c->rank - 1] };
	if (c->rank < c->size - 1)
		edge[n++] = (struct exchange_edge){ .peer = c->rank + 1, .sends = true, .bytes = 8,
			.depth = 1, .name = rows[c->rank] };
	exchange_lay_out(edge, n);
	CHECK(exchange_new(&x, c, edge, n) == 0);
	CHECK(chain_round(x) == 0 && chain_round(x) == 0);
	comm_barrier(c, "the third round");
	c->timeout = SOON;
	if (c->rank == 1)
		lose(argv[0]);
	while (chain_round(x) == 0)
		;
	if (comm_prints(c))
		err_print(stderr, "messages");
	comm_abort(c, 69);
}

static const struct subject subjects[] = {
	{ "pass", pass },
	{ "endless", endless },
	{ "lost", lost },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_subject("messages", subjects, argc, argv);
}
