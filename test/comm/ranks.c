/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What several ranks do together, run under mpiexec by the scripts next to it: `ranks SUBJECT
 * [ARGUMENT...]`. Rank 0 prints "ok" at the end; a mistake ends all with a line that names the
 * rank and the place. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "subjects.h"

#include "base/err.h"
#include "base/io.h"
#include "comm/fetch.h"
#include "comm/linkmodel.h"
#include "comm/reducer.h"

/* --- set-up --- */

static void collectives(void)
{
	double v[3] = { c->rank, 1, -c->rank }, n = c->size;
	int64_t *all = calloc((size_t)c->size, sizeof *all), mine = 100 + c->rank;
	char text[1000] = "";
	comm_sum(c, v, 3, "a sum");
	CHECK(v[0] == n * (n - 1) / 2 && v[1] == n && v[2] == -n * (n - 1) / 2);
	v[0] = c->rank;
	v[1] = -c->rank;
	comm_max(c, v, 2, "a maximum");
	CHECK(v[0] == n - 1 && v[1] == 0);
	comm_all_gather(c, &mine, sizeof mine, all, "a number");
	for (int i = 0; i < c->size; i++)
		CHECK(all[i] == 100 + i);
	if (c->rank == c->size - 1)
		memset(text, 'x', sizeof text - 1);
	comm_broadcast(c, text, sizeof text, c->size - 1, "a text");
	CHECK(strlen(text) == sizeof text - 1 && text[500] == 'x');
	comm_barrier(c, "a barrier");
	free(all);
}

static void agreement(void)
{
	char expected[200];
	CHECK(comm_agree(c, 0, "all is well") == 0);
	int last = c->size - 1, rc = c->rank == last ? ERR(E_DATA, NULL, "'x' is bad") : 0;
	CHECK(comm_agree(c, rc, "a failure") == E_DATA);
	CHECK(err_count() == 1 && comm_prints(c) == (c->rank == last));
	snprintf(expected, sizeof expected, "rank %d (host ", last);
	if (c->rank != last)
		CHECK(strncmp(err_get(0)->text, expected, strlen(expected)) == 0 &&
		      strstr(err_get(0)->text, ") failed: 'x' is bad"));
	err_clear();
}

/* places HOSTS: how the ranks are dealt to hosts, such as "0,0,0,1". */
static void places(const char *hosts)
{
	int at = 0, before = 0;
	const char *p = hosts;
	for (int i = 0; i <= c->rank; i++, p += *p != '\0') {
		int host = (int)strtol(p, (char **)&p, 10);
		before = i > 0 && host == at ? before + 1 : 0;
		at = host;
	}
	CHECK(c->host == at && c->local_rank == before);
	CHECK(c->library && strlen(c->host_name) > 0);
}

static void setup(int argc, char **argv)
{
	if (argc > 0)
		places(argv[0]);
	for (int i = 0; i < 5; i++)
		collectives();
	agreement();
	CHECK(comm_counts(c).setup_collectives == 5 * 5 + 3);
}

/* One rank does not come: gone, stopped or elsewhere. The others say so and end. */
static void absent(int argc, char **argv)
{
	comm_barrier(c, "the start");
	c->timeout = SOON;
	if (c->rank == 1)
		lose(argv[0]);
	comm_barrier(c, "the size of the plan");
}

/* --- sums in steps --- */

#define GROUPS 7
#define BYTES (1 << 20)

static const struct reducer_bucket groups[GROUPS] = {
	{ 0, 70001, DTYPE_F32, "conv1" }, { 280064, 1, DTYPE_F32, "scale" },
	{ 280128, 0, DTYPE_F32, "empty" },
	{ 280192, 12345, DTYPE_F64, "statistics" }, { 379008, 33333, DTYPE_BF16, "conv2" },
	{ 445696, 20011, DTYPE_F16, "conv3" }, { 485760, 100000, DTYPE_F32, "dense" },
};

/* Whole numbers that every type holds, and so do the sums of eight. */
static double value(int rank, int step, int64_t i)
{
	return (double)((i * 7 + rank * 3 + step) % 15 - 7);
}

static void dawdle(int step)
{
	static unsigned seed;
	if (seed == 0)
		seed = (unsigned)c->rank * 77 + (unsigned)step + 1;
	if (rand_r(&seed) % 6 == 0)
		nanosleep(&(struct timespec){ 0, rand_r(&seed) % 1000000 }, NULL);
}

static void write_values(struct reducer *r, int k, int step)
{
	for (int64_t i = 0; i < groups[k].n; i++)
		dtype_set(groups[k].dtype, reducer_bucket_memory(r, k), i, value(c->rank, step, i));
}

static void check_sums(struct reducer *r, int k, int step)
{
	double sum[15] = { 0 };
	for (int i = 0; i < 15; i++)
		for (int rank = 0; rank < c->size; rank++)
			sum[i] += value(rank, step, i);
	for (int64_t i = 0; i < groups[k].n; i++)
		CHECK(dtype_get(groups[k].dtype, reducer_bucket_memory(r, k), i) == sum[i % 15]);
}

static int one_step(struct reducer *r, int step)
{
	for (int k = 0; k < GROUPS; k++) {
		write_values(r, k, step);
		dawdle(step);
		reducer_start(r, k);
	}
	for (int i = 0; i < GROUPS; i++) {
		int k = step % 2 ? i : GROUPS - 1 - i;
		dawdle(step);
		if (reducer_wait(r, k) < 0)
			return -1;
		check_sums(r, k, step);
	}
	return 0;
}

/* reduce STEPS BACKGROUND: two reducers at once, as for gradients and statistics. The counters
 * of collectives and messages grow with the number of steps alone. */
static void reduce(int argc, char **argv)
{
	struct reducer *r, *other;
	int steps = atoi(argv[0]);
	CHECK(reducer_new(&r, c, BYTES, groups, GROUPS, atoi(argv[1])) == 0);
	CHECK(reducer_new(&other, c, BYTES, groups, GROUPS, false) == 0);
	struct comm_counts before = comm_counts(c), after;
	for (int i = 0; i < steps; i++)
		CHECK(one_step(i % 3 == 2 ? other : r, i) == 0);
	after = comm_counts(c);
	CHECK(after.setup_collectives == before.setup_collectives);
	CHECK(after.step_reductions - before.step_reductions == (int64_t)steps * GROUPS);
	/* one message for each bucket that is not empty, two where its values have 16 bits */
	int64_t messages = after.messages - before.messages,
	        most = c->hosts > 1 ? (int64_t)steps * (GROUPS + 1) : 0;
	CHECK(c->local_rank > 0 ? messages <= most : messages == most);
	reducer_free(r);
	reducer_free(other);
}

/* What no order but one gives these bits: numbers of very different sizes. */
static double uneven(int rank, int64_t i)
{
	double v = (double)((i * 31 + rank * 17) % 97 - 48) / 7;
	return (i + rank) % 5 == 0 ? v * 1e7 : v;
}

/* Pairs, pairs of pairs and so on of ranks from .. from + 2^height - 1, as far as there are any. */
static double tree(enum dtype t, int from, int height, int64_t i)
{
	if (height == 0)
		return t == DTYPE_F32 ? (double)(float)uneven(from, i) : uneven(from, i);
	double a = tree(t, from, height - 1, i);
	if (from + (1 << (height - 1)) >= c->size)
		return a;
	double b = tree(t, from + (1 << (height - 1)), height - 1, i);
	return t == DTYPE_F32 ? (double)((float)a + (float)b) : a + b;
}

/* Ordered groups have the same bits whatever hosts the ranks are on. */
static void order(int argc, char **argv)
{
	static const struct reducer_bucket two[2] = {
		{ .offset = 0, .n = 10007, .dtype = DTYPE_F32, .name = "a", .ordered = true },
		{ .offset = 40064, .n = 1234, .dtype = DTYPE_F64, .name = "b", .ordered = true },
	};
	struct reducer *r;
	CHECK(reducer_new(&r, c, 1 << 16, two, 2, true) == 0);
	for (int step = 0; step < 3; step++) {
		for (int k = 0; k < 2; k++) {
			for (int64_t i = 0; i < two[k].n; i++)
				dtype_set(two[k].dtype, reducer_bucket_memory(r, k), i, uneven(c->rank, i));
			reducer_start(r, k);
		}
		for (int k = 0; k < 2; k++) {
			CHECK(reducer_wait(r, k) == 0);
			for (int64_t i = 0; i < two[k].n; i++)
				CHECK(dtype_get(two[k].dtype, reducer_bucket_memory(r, k),
				                i) == tree(two[k].dtype, 0, 6, i));
		}
	}
	reducer_free(r);
}

/* part SIZE STEPS [APART]: ranks sum among themselves, next to sums of all; hosts are those of all
 * ranks. Teams are of neighbours, or of ranks that are so far apart. */
static void part(int argc, char **argv)
{
	int size = atoi(argv[0]), apart = argc > 2 ? atoi(argv[2]) : 1,
	    first = apart > 1 ? c->rank % apart : c->rank / size * size;
	struct comm *p;
	struct reducer *own, *all;
	comm_subgroup(&p, c, first);
	CHECK(p->size == size && p->rank == (c->rank - first) / apart &&
	      p->local_size <= c->local_size && p->hosts <= c->hosts);
	for (int i = 0; i < size; i++)
		CHECK(comm_whole_rank(p, i) == first + i * apart);
	CHECK(p->timeout == c->timeout && strcmp(p->host_name, c->host_name) == 0);
	double v[2] = { c->rank, 1 };
	comm_sum(p, v, 2, "a sum of a part");
	CHECK(v[0] == size * first + apart * size * (size - 1) / 2 && v[1] == size);
	static const struct reducer_bucket statistics[2] = { { 0, 1001, DTYPE_F64, "norm1" },
		{ 8064, 65, DTYPE_F64, "norm2" } };
	CHECK(reducer_new(&own, p, 16384, statistics, 2, false) == 0);
	CHECK(reducer_new(&all, c, BYTES, groups, GROUPS, true) == 0);
	struct comm_counts before = comm_counts(c), after;
	for (int s = 0; s < atoi(argv[1]); s++) {
		for (int k = 0; k < 2; k++) {
			double *x = reducer_bucket_memory(own, k);
			for (int64_t i = 0; i < statistics[k].n; i++)
				x[i] = value(c->rank, s, i);
			reducer_start(own, k);
			CHECK(reducer_wait(own, k) == 0);
			for (int64_t i = 0; i < statistics[k].n; i++) {
				double sum = 0;
				for (int r = first; r < first + size * apart; r += apart)
					sum += value(r, s, i);
				CHECK(x[i] == sum);
			}
		}
		CHECK(one_step(all, s) == 0);
	}
	after = comm_counts(c);
	CHECK(after.setup_collectives == before.setup_collectives);
	CHECK(after.step_reductions - before.step_reductions == (int64_t)atoi(argv[1]) * (GROUPS + 2));
	reducer_free(own);
	reducer_free(all);
	/* A failure is reported with the number that the launcher gave to the rank. */
	int last = c->size - 1, rc = c->rank == last ? ERR(E_DATA, NULL, "'x' is bad") : 0;
	char expected[40];
	snprintf(expected, sizeof expected, "rank %d (host ", last);
	if (comm_whole_rank(p, size - 1) == last) {
		CHECK(comm_agree(p, rc, "a failure") == E_DATA && comm_prints(c) == (c->rank == last));
		CHECK(c->rank == last || strncmp(err_get(0)->text, expected, strlen(expected)) == 0);
	}
	err_clear();
	comm_subgroup_close(p);
}

static void one_step_or_end(struct reducer *r, int step)
{
	if (one_step(r, step) == 0)
		return;
	if (comm_prints(c))
		err_print(stderr, "ranks");
	comm_abort(c, 69);
}

/* endless: steps until a signal from outside reaches a rank; each rank leaves its process id
 * in a file. */
static void endless(int argc, char **argv)
{
	struct reducer *r;
	c->timeout = 2 * SOON;
	CHECK(reducer_new(&r, c, BYTES, groups, GROUPS, true) == 0);
	write_pid();
	for (int i = 0;; i++)
		one_step_or_end(r, i);
}

/* lost HOW: in the third step rank 1 goes, stops or stays away; the others report and end. */
static void lost(int argc, char **argv)
{
	struct reducer *r;
	CHECK(reducer_new(&r, c, BYTES, groups, GROUPS, true) == 0);
	CHECK(one_step(r, 0) == 0 && one_step(r, 1) == 0);
	comm_barrier(c, "the third step");
	c->timeout = SOON;
	if (c->rank == 1)
		lose(argv[0]);
	one_step_or_end(r, 2);
}

/* --- bytes of other ranks --- */

#define MOST 300000
#define THREADS 3

static unsigned char byte_at(int rank, int64_t file, uint64_t at)
{
	return (unsigned char)(at * 7 + (uint64_t)(rank + 13 * file) + at / 251);
}

/* File 9 is one that cannot be read; of file 8 the bytes are damaged at first. */
static int answer_range(void *self, const struct fetch_range *r, void *p)
{
	const bool damaged = r->file == 8 && !r->fresh;
	unsigned char *out = p;
	CHECK(self == &c && r->n <= FETCH_MOST);
	if (r->file == 9)
		return ERR(E_IO, NULL, "'file 9' is gone");
	for (uint64_t i = 0; i < r->n; i++)
		out[i] = (unsigned char)(byte_at(c->rank, r->file, r->at + i) ^ damaged);
	return 0;
}

struct asker {
	struct fetch *f;
	unsigned seed;
	int rounds;
	int64_t bytes;
};

static void ask_one(struct asker *a, unsigned char *p)
{
	const int rank = rand_r(&a->seed) % c->size;
	const struct fetch_range r = { rand_r(&a->seed) % 10, (uint64_t)rand_r(&a->seed),
		1 + (uint64_t)rand_r(&a->seed) % MOST, rand_r(&a->seed) % 2 };
	const int rc = fetch_ask(a->f, rank, &r, p);
	if (r.file == 9) {
		CHECK(rc == E_IO && strstr(err_get(0)->text, "'file 9' is gone"));
		err_clear();
		return;
	}
	CHECK(rc == 0);
	a->bytes += (int64_t)r.n;
	for (uint64_t i = 0; i < r.n; i++)
		CHECK(p[i] == (byte_at(rank, r.file, r.at + i) ^ (r.file == 8 && !r.fresh)));
}

static void *ask_all(void *arg)
{
	struct asker *a = arg;
	unsigned char *p = malloc(MOST);
	for (int i = 0; i < a->rounds; i++)
		ask_one(a, p);
	free(p);
	return NULL;
}

/* fetch ROUNDS: threads of all ranks ask all ranks, themselves too, next to sums. */
static void fetch(int argc, char **argv)
{
	struct asker a[THREADS];
	struct reducer *r;
	struct fetch *f;
	pthread_t thread[THREADS];
	double sum[2] = { 0 };
	CHECK(reducer_new(&r, c, BYTES, groups, GROUPS, true) == 0);
	CHECK(fetch_open(&f, c, 2, answer_range, &c) == 0);
	for (int i = 0; i < THREADS; i++) {
		a[i] = (struct asker){ f, (unsigned)(c->rank * THREADS + i + 1), atoi(argv[0]), 0 };
		CHECK(pthread_create(&thread[i], NULL, ask_all, &a[i]) == 0);
	}
	for (int i = 0; i < 20; i++)
		CHECK(one_step(r, i) == 0);
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_join(thread[i], NULL) == 0);
		sum[0] += (double)a[i].bytes;
	}
	CHECK((double)fetch_counts(f).received == sum[0]);
	comm_barrier(c, "the end of questions");
	sum[1] = (double)fetch_counts(f).sent;
	comm_sum(c, sum, 2, "bytes");
	CHECK(sum[0] > 0 && sum[0] == sum[1]);
	fetch_close(f, false);
	reducer_free(r);
}

static int answer_late(void *self, const struct fetch_range *r, void *p)
{
	pause();
	return 0;
}

/* unfetched HOW: rank 1 stops or ends, or does not answer; the others ask it, say so and end. */
static void unfetched(int argc, char **argv)
{
	static const struct fetch_range r = { 1, 0, 1000, false };
	char bytes[1000];
	struct fetch *f;
	CHECK(fetch_open(&f, c, 2, answer_late, NULL) == 0);
	comm_barrier(c, "the start");
	c->timeout = SOON;
	if (c->rank == 1)
		lose(argv[0]);
	CHECK(fetch_ask(f, 1, &r, bytes) == E_UNAVAILABLE);
	if (comm_prints(c))
		err_print(stderr, "ranks");
	fetch_close(f, true);
	comm_abort(c, 69);
}

/* More memory than there is: all ranks hear of it. */
static void large(int argc, char **argv)
{
	struct reducer *r;
	CHECK(reducer_new(&r, c, (size_t)1 << 50, groups, GROUPS, true) == E_NOMEM);
	CHECK(err_count() == 1 && strstr(err_get(0)->text, "/dev/shm has "));
	err_clear();
	CHECK(reducer_new(&r, c, BYTES, groups, GROUPS, true) == 0);
	reducer_free(r);
}

/* The cost of sums is the same numbers on all ranks, and corrected by powers of eight at most. */
static void cost(int argc, char **argv)
{
	struct linkmodel m, first;
	double begin = io_seconds(), most = c->local_size;
	comm_max(c, &most, 1, "the ranks of each host");
	linkmodel_of_hosts(&m, c->hosts, (int)most, 1, false, 1);
	CHECK(linkmodel_measure(&m, c) == 0);
	double took = io_seconds() - begin;
	first = m;
	comm_broadcast(c, &first, sizeof first, 0, "what rank 0 found");
	CHECK(memcmp(&m, &first, sizeof m) == 0);
	for (int i = 0; i < 2; i++) {
		double eighths = log2(m.slower[i]) / 3;
		CHECK(eighths == round(eighths) && (c->hosts > 1 || eighths == 0));
	}
	if (c->rank == 0)
		printf("latency x %g, bytes x %g, in %.0f ms\n", m.slower[0], m.slower[1], took * 1e3);
}

static const struct subject subjects[] = {
	{ "setup", setup },
	{ "absent", absent },
	{ "reduce", reduce },
	{ "part", part },
	{ "endless", endless },
	{ "lost", lost },
	{ "fetch", fetch },
	{ "unfetched", unfetched },
	{ "large", large },
	{ "cost", cost },
	{ "order", order },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_subject("ranks", subjects, argc, argv);
}
