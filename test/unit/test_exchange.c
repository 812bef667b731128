/* SPDX-License-Identifier: BSD-3-Clause
 *
 * exchange.h between ranks that are threads: messages of all sizes and depths in random order, of
 * which none is torn, lost or doubled; ends that do not fit; a rank that does not send, whose
 * report follows those that wait for each other. Real ranks: test/comm/. */
#include <pthread.h>
#include <time.h>

#include "cases.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "comm/exchange.h"
#include "comm/rank_threads.h"
#include "comm/reducer.h"

/* --- stress --- */

#define RANKS 3
#define EACH 6                 /* messages that a rank sends to each other one, in a round */

/* Odd sizes around those of a cache line, of a small message, of pages. */
static const int64_t sizes[EACH] = { 1, 48, 49, 64, 4099, 40000 };

struct stress {
	int64_t rounds;
	int wrong;
};

static uint64_t draw(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return *random >> 40;
}

static void dawdle(uint64_t *random)
{
	if (draw(random) % 512 == 0)
		nanosleep(&(struct timespec){ 0, (long)(draw(random) % 100000) }, NULL);
}

static int64_t number(int from, int to, int i)
{
	return 1000 * from + 100 * to + i;
}

static int make_edges(const struct comm *c, struct exchange_edge *edge)
{
	int n = 0;
	for (int peer = 0; peer < c->size; peer++)
		for (int i = 0; i < 2 * EACH && peer != c->rank; i++) {
			int k = i / 2;
			bool sends = i % 2;
			edge[n++] = (struct exchange_edge){ .peer = peer, .sends = sends, .bytes = sizes[k],
				.id = sends ? number(c->rank, peer, k) : number(peer, c->rank, k),
				.depth = 1 + k % 3, .name = "m" };
		}
	exchange_lay_out(edge, n);
	return n;
}

/* Every byte says which message it is of: the words are a hash of edge and round. */
static unsigned char pattern(int64_t id, int64_t round, int64_t at)
{
	uint64_t h = ((uint64_t)id * 0x9E3779B97F4A7C15u) ^ ((uint64_t)round * 0xBF58476D1CE4E5B9u);
	return (unsigned char)((h >> (8 * (at % 8))) + (uint64_t)at / 8);
}

/* All bytes of small messages, some of the others in all cache lines. */
static int64_t stride(int64_t bytes)
{
	return bytes > 4096 ? 61 : 1;
}

static int send_one(struct exchange *x, int k, const struct exchange_edge *e, int64_t round)
{
	void *p;
	TRY(exchange_room(x, k, &p));
	for (int64_t i = 0; i < e->bytes; i += stride(e->bytes))
		((unsigned char *)p)[i] = pattern(e->id, round, i);
	exchange_send(x, k);
	return 0;
}

static int take_one(struct exchange *x, int k, const struct exchange_edge *e, int64_t round,
                    int *wrong)
{
	const void *p;
	TRY(exchange_wait(x, k, &p));
	for (int64_t i = 0; i < e->bytes; i += stride(e->bytes))
		*wrong += ((const unsigned char *)p)[i] != pattern(e->id, round, i);
	exchange_taken(x, k);
	return 0;
}

static int round_trip(struct exchange *x, const struct exchange_edge *edge, int n, int64_t round,
                      uint64_t *random, int *wrong)
{
	int first = (int)(draw(random) % (uint64_t)n);
	for (int sends = 1; sends >= 0; sends--)
		for (int i = 0; i < n; i++) {
			int k = (first + i) % n;
			if (edge[k].sends != sends)
				continue;
			dawdle(random);
			TRY(sends ? send_one(x, k, &edge[k], round) :
			    take_one(x, k, &edge[k], round, wrong));
		}
	return 0;
}

static int stress_rank(struct comm *c, void *arg)
{
	struct stress *s = (struct stress *)arg + c->rank;
	struct exchange_edge edge[2 * EACH * RANKS];
	struct exchange *x;
	uint64_t random = (uint64_t)c->rank * 77 + 3;
	int n = make_edges(c, edge), rc = 0;
	TRY(exchange_new(&x, c, edge, n));
	for (int k = 0; k < n; k++)
		s->wrong += exchange_find(x, edge[k].peer, edge[k].sends, edge[k].id) != k;
	s->wrong += exchange_find(x, (c->rank + 1) % c->size, true, 7) != -1;
	for (int64_t r = 0; r < s->rounds && rc == 0; r++)
		rc = round_trip(x, edge, n, r, &random, &s->wrong);
	s->wrong += exchange_stats(x).messages != s->rounds * n / 2;
	exchange_free(x);
	return rc;
}

/* A round is 36 messages. The long form has a million. */
static void stress(void **state)
{
	const char *tier = getenv("DLX_TIER");
	const int64_t rounds = tier && strcmp(tier, "big") == 0 ? 30000 : 800;
	struct stress s[RANKS] = { { rounds, 0 }, { rounds, 0 }, { rounds, 0 } };
	assert_int_equal(rank_threads_run(RANKS, 60, stress_rank, s), 0);
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(s[r].wrong, 0);
}

/* --- ends that do not fit --- */

struct ends {
	struct exchange_edge edge[2][2];
	int n[2];
};

static int open_ends(struct comm *c, void *arg)
{
	struct ends *e = arg;
	struct exchange *x;
	exchange_lay_out(e->edge[c->rank], e->n[c->rank]);
	int rc = exchange_new(&x, c, e->edge[c->rank], e->n[c->rank]);
	exchange_free(x);
	return rc;
}

static void refused(struct ends e, const char *text)
{
	assert_int_equal(rank_threads_run(2, 60, open_ends, &e), E_BUG);
	assert_int_equal(err_count(), 1);
	if (strcmp(err_get(0)->text, text) != 0)
		fail_msg("'%s' is not '%s'", err_get(0)->text, text);
	err_clear();
}

static void ends(void **state)
{
	struct ends good = { { { { 1, true, 0, 100, 5, 1, "conv3: row 64" } },
		{ { 0, false, 0, 100, 5, 1, "conv3: row 63" } } }, { 1, 1 } };
	assert_int_equal(rank_threads_run(2, 60, open_ends, &good), 0);
	struct ends bad = good;
	bad.edge[1][0].bytes = 96;
	refused(bad, "messages of ranks do not fit: rank 0 sends 'conv3: row 64' (number 5, 100 bytes, "
	        "depth 1) to rank 1, but rank 1 expects 'conv3: row 63' (number 5, 96 bytes, depth 1) "
	        "from rank 0");
	bad = good;
	bad.edge[1][0].depth = 2;
	refused(bad, "messages of ranks do not fit: rank 0 sends 'conv3: row 64' (number 5, 100 bytes, "
	        "depth 1) to rank 1, but rank 1 expects 'conv3: row 63' (number 5, 100 bytes, depth 2) "
	        "from rank 0");
	bad = good;
	bad.edge[1][0].id = 6;
	refused(bad, "messages of ranks do not fit: rank 0 sends 'conv3: row 64' (number 5, 100 bytes, "
	        "depth 1) to rank 1, but rank 1 expects 'conv3: row 63' (number 6, 100 bytes, depth 1) "
	        "from rank 0");
	bad = good;
	bad.n[0] = 0;
	refused(bad, "messages of ranks do not fit: rank 1 expects 'conv3: row 63' (number 5, 100 "
	        "bytes, depth 1) from rank 0, which knows of no such message");
	bad = good;
	bad.n[0] = bad.n[1] = 0;
	assert_int_equal(rank_threads_run(2, 60, open_ends, &bad), 0);
}

/* --- reports --- */

struct chain {
	pthread_barrier_t end;
	int sum;                   /* the rank that waits for a sum instead of a message, or -1 */
	int rc[4], prints[4];
	char text[4][400];
};

/* Rank r waits for rank r - 1; rank 0 does nothing. */
static int chain_rank(struct comm *c, void *arg)
{
	static const struct reducer_bucket bucket = { 0, 4, DTYPE_F32, "conv1.weight" };
	static const char *const name[] = { "conv3: row 16", "conv3: row 32", "conv3: row 64" };
	struct chain *t = arg;
	struct exchange_edge edge[2];
	struct exchange *x;
	struct reducer *r;
	const void *p;
	int n = 0, rc = 0;
	if (c->rank > 0)
		edge[n++] = (struct exchange_edge){ .peer = c->rank - 1, .bytes = 8, .depth = 1,
			.name = name[c->rank - 1] };
	if (c->rank < 3)
		edge[n++] = (struct exchange_edge){ .peer = c->rank + 1, .sends = true, .bytes = 8,
			.depth = 1, .name = name[c->rank] };
	exchange_lay_out(edge, n);
	TRY(exchange_new(&x, c, edge, n));
	TRY(reducer_new(&r, c, 64, &bucket, 1, false));
	if (t->sum >= 0 && c->rank > 0)
		reducer_start(r, 0);
	if (c->rank > 0)
		rc = c->rank == t->sum ? reducer_wait(r, 0) : exchange_wait(x, 0, &p);
	t->rc[c->rank] = rc;
	t->prints[c->rank] = rc < 0 && comm_prints(c);
	if (rc < 0)
		snprintf(t->text[c->rank], sizeof t->text[0], "%s", err_get(0)->text);
	pthread_barrier_wait(&t->end);
	exchange_free(x);
	reducer_free(r);
	return rc;
}

static void reported(int sum, const char *const *expected)
{
	struct chain t = { .sum = sum };
	int reports = 0;
	pthread_barrier_init(&t.end, NULL, 4);
	assert_int_equal(rank_threads_run(4, 0.5, chain_rank, &t), E_UNAVAILABLE);
	err_clear();
	for (int r = 1; r < 4; r++) {
		assert_int_equal(t.rc[r], E_UNAVAILABLE);
		reports += t.prints[r];
		if (t.prints[r] && !strstr(t.text[r], expected[r - 1]))
			fail_msg("rank %d reports '%s', which lacks '%s'", r, t.text[r], expected[r - 1]);
		if (!t.prints[r])
			assert_non_null(strstr(t.text[r], " says why"));
	}
	assert_int_equal(reports, 1);
	pthread_barrier_destroy(&t.end);
}

/* Whichever rank is the first to be too late reports. */
static void chain(void **state)
{
	reported(-1, (const char *const[]){ ": rank 1 waits for 'conv3: row 16' of rank 0 (process ",
		": rank 2 waits for 'conv3: row 32' of rank 1, which waits for 'conv3: row 16' of rank 0 (",
		": rank 3 waits for 'conv3: row 64' of rank 2, which waits for 'conv3: row 32' of rank 1, "
		"which waits for 'conv3: row 16' of rank 0 (process " });
	reported(2, (const char *const[]){ ": rank 1 waits for 'conv3: row 16' of rank 0 (process ",
		"the sum of 'conv1.weight' (group 1 of 1, start 1) is not complete after ",
		": rank 3 waits for 'conv3: row 64' of rank 2, which waits for the sum of 'conv1.weight' "
		"with rank 0 (process " });
}

/* --- a link that is modelled --- */

static int delayed(struct comm *c, void *arg)
{
	struct exchange_edge edge = { .peer = 1 - c->rank, .sends = c->rank == 0, .bytes = 100000,
		.depth = 2, .name = "m" };
	struct exchange *x;
	void *p;
	const void *q;
	int64_t *time = arg, begin = io_nanoseconds();
	TRY(exchange_new(&x, c, &edge, 1));
	for (int i = 0; i < 2; i++) {
		if (c->rank == 0) {
			TRY(exchange_room(x, 0, &p));
			exchange_send(x, 0);
			continue;
		}
		TRY(exchange_wait(x, 0, &q));
		exchange_taken(x, 0);
	}
	time[c->rank] = io_nanoseconds() - begin;
	exchange_free(x);
	return 0;
}

static int delayed_sum(struct comm *c, void *arg)
{
	static const struct reducer_bucket bucket = { 0, 25000, DTYPE_F32, "w" };
	struct reducer *r;
	int64_t *time = arg, begin = io_nanoseconds();
	TRY(reducer_new(&r, c, 102400, &bucket, 1, true));
	for (int i = 0; i < 2; i++) {
		reducer_start(r, 0);
		TRY(reducer_wait(r, 0));
	}
	time[c->rank] = io_nanoseconds() - begin;
	reducer_free(r);
	return 0;
}

/* Two messages of 20 ms each and 5 ms of latency; their sender does not wait. Two sums by a ring of
 * two send as much, and each is waited for. */
static void link_delay(void **state)
{
	int64_t time[2];
	assert_int_equal(debug_parse("link=5e-3:5e6"), 0);
	assert_int_equal(rank_threads_run(2, 60, delayed, time), 0);
	assert_int_equal(debug_parse(NULL), 0);
	assert_true(time[1] >= 44000000);
	assert_int_equal(debug_parse("link=5e-3:5e6"), 0);
	assert_int_equal(rank_threads_run(2, 60, delayed_sum, time), 0);
	assert_int_equal(debug_parse(NULL), 0);
	assert_true(time[0] >= 49000000 && time[1] >= 49000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stress), cmocka_unit_test(ends), cmocka_unit_test(chain),
		cmocka_unit_test(link_delay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
