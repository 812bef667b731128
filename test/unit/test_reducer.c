/* SPDX-License-Identifier: BSD-3-Clause
 *
 * reducer.h with ranks that are threads of this process, over memory that they share anyway: sums
 * of all types and odd sizes, again and again, in random order of arrival; one that never comes.
 * Real ranks: test/comm/. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "cases.h"
#include "base/err.h"
#include "base/mem.h"
#include "comm/reducer_state.h"
#include "comm/sum.h"

#define RANKS 8
#define GROUPS 7
#define BYTES (1 << 20)

static const struct reducer_bucket groups[GROUPS] = {
	{ 0, 70001, DTYPE_F32, "a" }, { 280064, 1, DTYPE_F32, "b" }, { 280128, 0, DTYPE_F32, "empty" },
	{ 280192, 12345, DTYPE_F64, "c" }, { 379008, 33333, DTYPE_BF16, "d" },
	{ 445696, 20011, DTYPE_F16, "e" },
	{ 485760, 100000, DTYPE_F32, "f" },
};

struct team {
	void *memory;
	size_t bytes;
	int ranks, steps;
	bool background;
	int absent;                    /* the rank that does not start group 4, or -1 */
};

struct member {
	struct team *team;
	struct comm c;
	struct comm_state state;
	struct reducer *r;
	uint64_t random;
	pthread_t thread;
	int wrong, rc;
	char text[400];
};

/* Whole numbers, so that every sum is exact in every type. */
static double value(int rank, int step, int64_t i)
{
	return (double)((i * 7 + rank * 3 + step) % 15 - 7);
}

static uint64_t draw(struct member *m)
{
	m->random = m->random * 6364136223846793005u + 1442695040888963407u;
	return m->random >> 40;
}

static void dawdle(struct member *m)
{
	if (draw(m) % 8 == 0)
		nanosleep(&(struct timespec){ 0, (long)(draw(m) % 300000) }, NULL);
}

static void write_values(struct member *m, int k, int step)
{
	for (int64_t i = 0; i < groups[k].n; i++)
		dtype_set(groups[k].dtype, reducer_bucket_memory(m->r, k), i, value(m->c.rank, step, i));
}

static void check_sums(struct member *m, int k, int step)
{
	double sum[15] = { 0 };
	for (int i = 0; i < 15; i++)
		for (int rank = 0; rank < m->c.size; rank++)
			sum[i] += value(rank, step, i);
	for (int64_t i = 0; i < groups[k].n; i++)
		m->wrong += dtype_get(groups[k].dtype, reducer_bucket_memory(m->r, k), i) != sum[i % 15];
}

static void step(struct member *m, int at)
{
	for (int k = 0; k < GROUPS; k++) {
		write_values(m, k, at);
		dawdle(m);
		reducer_start(m->r, k);
	}
	for (int i = 0; i < GROUPS && m->rc == 0; i++) {
		int k = at % 2 ? i : GROUPS - 1 - i;
		dawdle(m);
		m->rc = reducer_wait(m->r, k);
		if (m->rc == 0)
			check_sums(m, k, at);
	}
}

static void *run(void *member)
{
	struct member *m = member;
	struct team *t = m->team;
	if (reducer_of_ranks(&m->r, &m->c, t->memory, BYTES, groups, GROUPS, t->background) != 0)
		return NULL;
	for (int s = 0; s < t->steps && m->rc == 0; s++)
		step(m, s);
	if (t->absent >= 0 && m->c.rank != t->absent) {
		reducer_start(m->r, 4);
		m->rc = reducer_wait(m->r, 4);
		if (m->rc < 0)
			snprintf(m->text, sizeof m->text, "%s", err_get(0)->text);
	}
	err_clear();
	return NULL;
}

static void start_team(struct team *t, struct member *m)
{
	t->bytes = host_reducer_bytes(t->ranks, GROUPS, 1) + (size_t)t->ranks * (BYTES + 4096);
	t->memory = mem_map(t->bytes);
	assert_non_null(t->memory);
	for (int r = 0; r < t->ranks; r++) {
		m[r].team = t;
		m[r].random = (uint64_t)r * 977 + 5;
		m[r].c = (struct comm){ .rank = r, .size = t->ranks, .local_rank = r,
			.local_size = t->ranks, .hosts = 1,
		                        .host_name = "here", .timeout = t->absent >= 0 ? 0.5 : 60,
		                        .state = &m[r].state };
		assert_int_equal(pthread_create(&m[r].thread, NULL, run, &m[r]), 0);
	}
	for (int r = 0; r < t->ranks; r++)
		pthread_join(m[r].thread, NULL);
}

static void end_team(struct team *t, struct member *m)
{
	for (int r = 0; r < t->ranks; r++)
		reducer_free(m[r].r);
	mem_unmap(t->memory, t->bytes);
}

static void sums(void **state)
{
	for (int ranks = 1; ranks <= RANKS; ranks += ranks < 4 ? 1 : 4)
		for (int background = 0; background < 2; background++) {
			struct team t = { .ranks = ranks, .steps = 6, .background = background, .absent = -1 };
			struct member m[RANKS] = { 0 };
			start_team(&t, m);
			for (int r = 0; r < ranks; r++) {
				assert_int_equal(m[r].rc, 0);
				assert_int_equal(m[r].wrong, 0);
				assert_int_equal(comm_counts(&m[r].c).step_reductions, 6 * GROUPS);
				assert_int_equal(reducer_stats(m[r].r).reductions, 6 * GROUPS);
			}
			end_team(&t, m);
		}
}

/* A tiny group very often: arrivals, claims and bells. */
static void *race(void *member)
{
	static const struct reducer_bucket tiny[2] = { { 0, 3, DTYPE_F32, "tiny" },
		{ 64, 5000, DTYPE_F32, "small" } };
	struct member *m = member;
	if (reducer_of_ranks(&m->r, &m->c, m->team->memory, BYTES, tiny, 2, m->team->background) != 0)
		return NULL;
	for (int s = 0; s < m->team->steps; s++) {
		int k = s % 2;
		float *v = reducer_bucket_memory(m->r, k);
		for (int64_t i = 0; i < tiny[k].n; i++)
			v[i] = (float)(m->c.rank + s % 100);
		reducer_start(m->r, k);
		m->wrong += reducer_wait(m->r, k) != 0;
		for (int64_t i = 0; i < tiny[k].n; i++)
			m->wrong += v[i] != (float)(m->c.size * (m->c.size - 1) / 2 + m->c.size * (s % 100));
	}
	return NULL;
}

static void races(void **state)
{
	for (int background = 0; background < 2; background++) {
		struct team t = { .ranks = 3, .steps = 1500, .background = background, .absent = -1 };
		struct member m[RANKS] = { 0 };
		t.bytes = host_reducer_bytes(3, 2, 1) + 3 * (BYTES + 4096);
		t.memory = mem_map(t.bytes);
		for (int r = 0; r < 3; r++) {
			m[r].team = &t;
			m[r].c = (struct comm){ .rank = r, .size = 3, .local_rank = r, .local_size = 3,
				.hosts = 1, .timeout = 60,
			                        .state = &m[r].state };
			assert_int_equal(pthread_create(&m[r].thread, NULL, race, &m[r]), 0);
		}
		for (int r = 0; r < 3; r++)
			pthread_join(m[r].thread, NULL);
		for (int r = 0; r < 3; r++)
			assert_int_equal(m[r].wrong, 0);
		end_team(&t, m);
	}
}

static void absent(void **state)
{
	struct team t = { .ranks = 3, .steps = 2, .absent = 1 };
	struct member m[RANKS] = { 0 };
	int reports = 0, prints = 0;
	start_team(&t, m);
	for (int r = 0; r < 3; r += 2) {
		assert_int_equal(m[r].rc, E_UNAVAILABLE);
		prints += comm_prints(&m[r].c);
		reports += strncmp(m[r].text,
		                   "the sum of 'd' (group 5 of 7, start 3) is not complete after ", 61) ==
			0 && strstr(m[r].text, "rank 1 has not started it, the last it did was 'f' ") != NULL &&
		           strstr(m[r].text, "; ranks 0, 2 of host here have started it") != NULL;
	}
	assert_int_equal(reports, 1);
	assert_int_equal(prints, 1);
	end_team(&t, m);
}

/* One process: the sum is what it was. */
static void alone(void **state)
{
	struct comm_state s = { 0 };
	struct comm c = { .size = 1, .local_size = 1, .hosts = 1, .state = &s };
	struct reducer *r;
	assert_int_equal(reducer_new(&r, &c, BYTES, groups, GROUPS, true), 0);
	float *v = reducer_bucket_memory(r, 0);
	assert_true((char *)v == (char *)reducer_memory(r));
	assert_true(v[0] == 0 && v[70000] == 0);
	v[5] = 3.25f;
	reducer_start(r, 0);
	assert_int_equal(reducer_wait(r, 0), 0);
	assert_int_equal(reducer_wait(r, 1), 0);
	assert_true(v[5] == 3.25f);
	assert_true(reducer_stats(r).bytes == 280004);
	reducer_free(r);
	reducer_free(NULL);
}

/* Neighbours first, 16-bit sums are rounded once; a sum of
 * sums of 2, 4 or 8 has the bits of the sum. */
static void tree(void **state)
{
	float v[13][40], all[40], part[7][40], joined[40];
	void *src[13], *of[7], *to[1];
	for (int r = 0; r < 13; r++)
		for (int i = 0; i < 40; i++)
			v[r][i] = (float)((i * 31 + r * 17) % 97) / 7.0f * ((i + r) % 5 ? 1.0f : 1e6f);
	for (int r = 0; r < 13; r++)
		src[r] = v[r];
	sum_blocks(DTYPE_F32, src, 13, (void *[]){ all }, 1, 0, 40);
	for (int each = 2; each <= 8; each *= 2) {
		int n = 0;
		for (int r = 0; r < 13; r += each, n++) {
			to[0] = of[n] = part[n];
			sum_blocks(DTYPE_F32, src + r, r + each > 13 ? 13 - r : each, to, 1, 0, 40);
		}
		sum_blocks(DTYPE_F32, of, n, (void *[]){ joined }, 1, 0, 40);
		assert_memory_equal(all, joined, sizeof all);
	}
}

static void order(void **state)
{
	float a[20], b[20], c[20];
	uint16_t h[3][40];
	void *f[] = { a, b, c }, *p[] = { h[0], h[1], h[2] };
	for (int i = 0; i < 20; i++) {
		a[i] = 1e8f;
		b[i] = -1e8f;
		c[i] = 1.5f;
	}
	sum_blocks(DTYPE_F32, f, 3, f, 3, 1, 18);
	assert_true(a[0] == 1e8f && a[19] == 1e8f);
	assert_true(a[1] == 1.5f && b[18] == 1.5f && c[9] == 1.5f);
	/* 256 + 1 + 1 in bfloat16: rounded at each step it would stay 256. */
	for (int i = 0; i < 40; i++) {
		dtype_set(DTYPE_BF16, h[0], i, 256);
		dtype_set(DTYPE_BF16, h[1], i, 1);
		dtype_set(DTYPE_BF16, h[2], i, 1);
	}
	sum_blocks(DTYPE_BF16, p, 3, p + 1, 1, 0, 40);
	assert_true(dtype_get(DTYPE_BF16, h[1], 39) == 258 && dtype_get(DTYPE_BF16, h[0], 39) == 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone), cmocka_unit_test(order), cmocka_unit_test(tree),
		cmocka_unit_test(sums), cmocka_unit_test(races), cmocka_unit_test(absent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
