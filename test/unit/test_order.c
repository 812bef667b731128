/* SPDX-License-Identifier: BSD-3-Clause
 *
 * order.h: orders of steps that never end, all of which are found, with what is said of some; and
 * orders that look like them and end. An order is written as in the struct below. */
#include "cases.h"
#include "base/err.h"
#include "comm/order.h"
#include "comm/rank_threads.h"

#define RANKS 4
#define EVENTS 16

/* A step of each rank: words of "s1.5" (sends message 5 to rank 1; "s1.5:2": of depth 2), "r1.5"
 * (receives it from rank 1), "b0.3" (begins sum 3 of the team whose first rank is 0, "b0.3:2": and
 * which has 2 ranks, else all) and "w0.3" (waits for it). */
struct game {
	const char *rank[RANKS];
	const char *text;            /* part of the report; NULL: it ends */
};

struct written {
	struct order_event event[EVENTS];
	char name[EVENTS][16], node[EVENTS][16];
};

static struct order read_order(struct written *w, const char *text, int ranks)
{
	int n = 0, used;
	for (char kind; sscanf(text, " %c%d.%ld%n", &kind, &w->event[n].peer, &w->event[n].id,
	                       &used) == 3; n++) {
		struct order_event *e = &w->event[n];
		e->kind = kind == 's' ? ORDER_SEND : kind == 'r' ? ORDER_RECEIVE :
		          kind == 'b' ? ORDER_START : ORDER_SUM;
		e->of = kind == 's' || kind == 'r' ? 1 : ranks;
		text += used;
		if (*text == ':')
			e->of = (int)strtol(text + 1, (char **)&text, 10);
		snprintf(w->name[n], sizeof w->name[n], "m%ld", e->id);
		snprintf(w->node[n], sizeof w->node[n], "layer%d", n);
		e->name = w->name[n];
		e->node = w->node[n];
	}
	assert_int_equal(*text, '\0');
	return (struct order){ w->event, n };
}

static int ranks_of(const struct game *g)
{
	int n = 0;
	while (n < RANKS && g->rank[n])
		n++;
	return n;
}

static const struct game endless[] = {
	/* Each waits for the other's message before it sends. */
	{ { "r1.2 s1.1", "r0.1 s0.2" }, "a step would never end: rank 0 waits in 'layer0' for the "
	  "message 'm2' of rank 1; rank 1 waits in 'layer0' for the message 'm1' of rank 0" },
	/* A circle of three, and of four. */
	{ { "r2.1 s1.1", "r0.1 s2.1", "r1.1 s0.1" }, "of rank 2; rank 2 waits" },
	{ { "r3.1 s1.1", "r0.1 s2.1", "r1.1 s3.1", "r2.1 s0.1" }, "of rank 3; rank 3 waits" },
	/* A message that is never sent. */
	{ { "s1.1", "r0.1 r0.2" }, "rank 1 waits in 'layer1' for the message 'm2' of rank 0, but rank "
	  "0 goes through its steps without sending it" },
	{ { "", "r0.1" }, "rank 1 waits in 'layer0' for the message 'm1' of rank 0, but" },
	/* One that is never taken, at depths 1 and 2. */
	{ { "s1.1 s1.2", "r0.1" }, "rank 0 waits in 'layer1' for room to send 'm2' to rank 1, but rank "
	  "1 goes through its steps without taking it" },
	{ { "s1.1:2", "" }, "for room to send 'm1' to rank 1, but" },
	/* Sent twice a step, taken once; and the other way. */
	{ { "s1.1 s1.1", "r0.1" }, "room to send 'm1'" },
	{ { "s1.1", "r0.1 r0.1" }, "the message 'm1' of rank 0, but" },
	/* Both fill the places of the other before they take. */
	{ { "s1.1 s1.1 r1.2 r1.2", "s0.2 s0.2 r0.1 r0.1" }, "rank 0 waits in 'layer1' for room to send "
	  "'m1' to rank 1; rank 1 waits in 'layer1' for room to send 'm2' to rank 0" },
	/* Taken in another order than sent, which places of one message do not allow. */
	{ { "s1.1 s1.1 s1.2", "r0.2 r0.1 r0.1" }, "rank 0 waits in 'layer1' for room to send 'm1'" },
	/* Sums in different orders, each waited for at once, as statistics are. */
	{ { "b0.1 w0.1 b0.2 w0.2", "b0.2 w0.2 b0.1 w0.1" }, "rank 0 waits in 'layer1' for the sum of "
	  "'m1', which rank 1 has not started; rank 1 waits in 'layer1' for the sum of 'm2', which "
	  "rank 0 has not started" },
	/* A sum that a rank never starts. */
	{ { "b0.1 w0.1", "" }, "rank 0 waits in 'layer1' for the sum of 'm1', which fewer than 2 ranks "
	  "start" },
	{ { "b0.1 b0.2 w0.1 w0.2", "b0.1 w0.1" }, "the sum of 'm2', which fewer than 2 ranks start" },
	/* More of one rank than of the other. */
	{ { "b0.1 w0.1 b0.1 w0.1", "b0.1 w0.1" }, "rank 0 waits in 'layer1' for the sum of 'm1', but "
	  "rank 1 goes through its steps without starting it" },
	/* A message that is sent after a sum, for which its receiver has to have started that. */
	{ { "b0.1 w0.1 s1.5", "r0.5 b0.1 w0.1" }, "rank 0 waits in 'layer1' for the sum of 'm1', which "
	  "rank 1 has not started; rank 1 waits in 'layer0' for the message 'm5' of rank 0" },
	/* The same over a third rank. */
	{ { "b0.1 w0.1 s1.5", "r0.5 s2.6", "r1.6 b0.1 w0.1", "b0.1 w0.1" },
	  "which rank 2 has not started" },
	{ { "b0.1:3 w0.1:3 s1.5", "r0.5 s2.6 b0.1:3 w0.1:3", "r1.6 b0.1:3 w0.1:3" }, "rank 1 waits in "
	  "'layer0' for the message 'm5' of rank 0; rank 0 waits in 'layer1' for the sum of 'm1'" },
	/* Two teams that meet in another order. */
	{ { "b0.1:2 w0.1:2", "b1.1:2 w1.1:2 b0.1:2 w0.1:2", "r3.1 b1.1:2 w1.1:2", "r1.1 s2.1" },
	  "rank 3 waits in 'layer0' for the message 'm1' of rank 1, but" },
	{ { "b0.1:2 w0.1:2 s2.4", "b1.1:2 w1.1:2 b0.1:2 w0.1:2", "r0.4 b1.1:2 w1.1:2" }, "which rank 1 "
	  "has not started; rank 1 waits in 'layer1' for the sum of 'm1', which rank 2 has not" },
	/* Both take another message than the one that comes. */
	{ { "s1.1 r1.2", "s0.2 r0.3" }, "to rank 1, but rank 1 goes" },
	/* A gradient that only one end sends. */
	{ { "s1.1 r1.2 s1.3 r1.4", "s0.2 r0.1 r0.3" },
	  "rank 0 waits in 'layer3' for the message 'm4'" },
};

static const struct game sound[] = {
	{ { "" }, NULL },
	{ { "s1.1 r1.2", "s0.2 r0.1" }, NULL },
	/* One of them sends first. */
	{ { "s1.1 r1.2", "r0.1 s0.2" }, NULL },
	{ { "r1.2 s1.1", "s0.2 r0.1" }, NULL },
	/* A chain that only sends downwards. */
	{ { "s1.1", "r0.1 s2.1", "r1.1 s3.1", "r2.1" }, NULL },
	/* Two places: both may fill them. */
	{ { "s1.1:2 s1.1:2 r1.2:2 r1.2:2", "s0.2:2 s0.2:2 r0.1:2 r0.1:2" }, NULL },
	/* Different messages may be taken in any order. */
	{ { "s1.1 s1.2", "r0.2 r0.1" }, NULL },
	/* A message of the step before, which a pipeline takes first. */
	{ { "s1.1:2", "r0.1:2" }, NULL },
	/* Sums that are begun in different orders, and waited for after that. */
	{ { "b0.1 b0.2 w0.1 w0.2", "b0.2 b0.1 w0.2 w0.1" }, NULL },
	/* A lagged sum is waited for in the step after. */
	{ { "w0.1 b0.1", "w0.1 b0.1" }, NULL },
	/* One rank does not read what it summed. */
	{ { "b0.1 w0.1", "b0.1 w0.1 w0.1" }, NULL },
	/* Halos, statistics of two teams, gradients of all. */
	{ { "s1.1 r1.2 b0.7:2 w0.7:2 b0.9 w0.9", "s0.2 r0.1 b0.7:2 w0.7:2 b0.9 w0.9",
	    "s3.1 r3.2 b2.7:2 w2.7:2 b0.9 w0.9", "s2.2 r2.1 b2.7:2 w2.7:2 b0.9 w0.9" }, NULL },
};

static int play(const struct game *g)
{
	struct written w[RANKS] = { 0 };
	struct order order[RANKS];
	int ranks = ranks_of(g);
	for (int r = 0; r < ranks; r++)
		order[r] = read_order(&w[r], g->rank[r], ranks);
	return order_play(order, ranks, false);
}

static void judge(const struct game *g, int n, int found)
{
	int bad = 0;
	for (int i = 0; i < n; i++) {
		int rc = play(&g[i]);
		if (rc != 0 && (rc != E_BUG || err_count() != 1))
			fail_msg("case %d: %d, %d errors", i, rc, err_count());
		if (g[i].text && (rc == 0 || !strstr(err_get(0)->text, g[i].text)))
			fail_msg("case %d: '%s' lacks '%s'", i, rc ? err_get(0)->text : "", g[i].text);
		bad += rc != 0;
		err_clear();
	}
	assert_int_equal(bad, found);
}

static void all_are_found(void **state)
{
	int n = (int)(sizeof endless / sizeof *endless);
	judge(endless, n, n);
	assert_true(n >= 20);
}

static void others_end(void **state)
{
	judge(sound, (int)(sizeof sound / sizeof *sound), 0);
}

/* Between hosts sums have to be started in one order. */
static void starts(void **state)
{
	struct written w[2] = { 0 };
	struct order order[2] = { read_order(&w[0], "b0.1 b0.2 w0.1 w0.2", 2),
		read_order(&w[1], "b0.2 b0.1 w0.2 w0.1", 2) };
	assert_int_equal(order_play(order, 2, true), E_BUG);
	assert_string_equal(err_get(0)->text, "sums start in different orders: rank 0 starts 'm1' in "
	                    "'layer0', where rank 1 starts 'm2' in 'layer0'");
	err_clear();
	order[1] = read_order(&w[1], "b0.1 b0.2 w0.2 w0.1", 2);
	assert_int_equal(order_play(order, 2, true), 0);
}

/* Not those of several reducers: of two teams, of which one is that of all, or of one team. */
static void starts_apart(void **state)
{
	static const char *const early = "b0.4294967297:2 w0.4294967297:2 b0.1:4 w0.1:4",
	                  *const late = "b0.1:4 b2.4294967297:2 w2.4294967297:2 w0.1:4";
	struct written w[4] = { 0 };
	struct order order[4] = { read_order(&w[0], early, 4), read_order(&w[1], early, 4),
		read_order(&w[2], late, 4),
		read_order(&w[3], late, 4) };
	assert_int_equal(order_play(order, 4, true), 0);
	order[0] = read_order(&w[0], "b0.4294967297 w0.4294967297 b0.1 w0.1", 2);
	order[1] = read_order(&w[1], "b0.1 b0.4294967297 w0.4294967297 w0.1", 2);
	assert_int_equal(order_play(order, 2, true), 0);
}

/* --- gathered from ranks --- */

static int check(struct comm *c, void *arg)
{
	const struct game *g = arg;
	struct written w = { 0 };
	return order_check(c, read_order(&w, g->rank[c->rank], c->size), false);
}

static void gathered(void **state)
{
	static const struct game
		halos = { { "s1.1 r1.2", "s0.2 r0.1 s2.1 r2.2", "s1.2 r1.1 s3.1 r3.2", "s2.2 r2.1" },
		          NULL },
		circle = { { "r3.1 s1.1", "r0.1 s2.1", "r1.1 s3.1", "r2.1 s0.1" }, NULL };
	assert_int_equal(rank_threads_run(4, 60, check, (void *)&halos), 0);
	assert_int_equal(rank_threads_run(4, 60, check, (void *)&circle), E_BUG);
	assert_non_null(strstr(err_get(0)->text, "rank 0 waits in 'layer0' for the message 'm1' of "
	                       "rank 3; rank 3 waits in 'layer0' for the message 'm1' of rank 2; "
	                       "rank 2"));
	err_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_found), cmocka_unit_test(others_end), cmocka_unit_test(starts),
		cmocka_unit_test(starts_apart),
		cmocka_unit_test(gathered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
