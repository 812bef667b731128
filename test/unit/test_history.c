/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph of a store's versions: order, runs, names. What is read from disk is in
 * test/cli/ckpt.sh. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "ckpt/history.h"

/* Run a: 0, 1, 2, 5; run b forks from 1: 3, 4; version 6 is damaged. */
static const struct history_edge edges[][2] = {
	{ { -1, true } }, { { 0, false } }, { { 1, false } }, { { 1, false } }, { { 3, false } },
	{ { 2, true } },
};
static const char *const parent[] = { "p", "q" };

static struct history_version version(const char *id, const char *run, int64_t serial, int edge,
                                      double metric)
{
	struct history_version v = { .m = { .run = run, .serial = serial,
		.step = strtoll(id, NULL, 10), .nparents = 1, .parent = parent,
		.metric_name = isnan(metric) ? NULL : "mean_iou", .metric = metric },
		.edge = edges[edge] };
	snprintf(v.id, sizeof v.id, "%s", id);
	return v;
}

static struct history_version v[7];
static const struct ref refs[] = { { "paper", "000000000020-bbbb0000" },
	{ "lost", "000000000099-bbbb0000" }, { NULL, "000000000010-aaaa0000" } };

static struct history sample(void)
{
	v[0] = version("000000000010-aaaa0000", "a", 1, 0, 0.9);
	v[1] = version("000000000020-aaaa1111", "a", 2, 1, 0.5);
	v[2] = version("000000000030-aaaa2222", "a", 3, 2, 0.6);
	v[3] = version("000000000020-bbbb0000", "b", 1, 3, 0.5);
	v[4] = version("000000000040-bbbb1111", "b", 2, 4, 0.8);
	v[5] = version("000000000400-aaaa3333", "a", 9, 5, NAN);
	v[6] = (struct history_version){ .id = "000000000050-cccc0000", .damage = "so",
		.m = { .run = "", .step = 50 } };
	return (struct history){ .a = arena_new(), .n = 7, .v = v,
		.refs = { .ref = (struct ref *)(uintptr_t)refs, .n = 3 } };
}

static void ordered(const struct history *h, const char *as)
{
	const int *order = history_order(h);
	char text[32] = "";
	for (int i = 0; i < h->n; i++)
		text[i] = (char)('0' + order[i]);
	assert_string_equal(text, as);
}

static void test_order(void **state)
{
	struct history h = sample();
	static const struct history_edge round[] = { { 1, false } };
	ordered(&h, "6524310");
	v[0].edge = round;                 /* 0 comes from 1, which comes from 0 */
	ordered(&h, "6524310");
	arena_free(h.a);
}

static void marked(const struct history *h, const char *run, const char *as)
{
	bool mark[7];
	char text[8] = "";
	history_mark_run(h, run, mark);
	for (int i = 0; i < h->n; i++)
		text[i] = mark[i] ? 'x' : '.';
	assert_string_equal(text, as);
}

static void test_runs(void **state)
{
	struct history h = sample();
	marked(&h, "b", "xx.xx..");
	marked(&h, "a", "xxxxxx.");
	marked(&h, "c", ".......");
	assert_int_equal(history_last(&h, "a"), 5);
	assert_int_equal(history_last(&h, "b"), 4);
	assert_int_equal(history_last(&h, NULL), 5);
	assert_int_equal(history_last(&h, "c"), -1);
	assert_int_equal(history_best(&h, "a"), 0);
	assert_int_equal(history_best(&h, "b"), 4);
	assert_int_equal(history_best(&h, NULL), 0);
	v[4].m.metric_name = "mae";        /* the newest that has any */
	assert_int_equal(history_best(&h, NULL), 4);
	arena_free(h.a);
}

static int found(const struct history *h, const char *run, const char *word)
{
	int i = -1, rc = history_find(h, run, word, &i);
	err_clear();
	return rc < 0 ? rc : i;
}

static void test_names(void **state)
{
	struct history h = sample();
	assert_int_equal(found(&h, NULL, "last"), 5);
	assert_int_equal(found(&h, "b", "best"), 4);
	assert_int_equal(found(&h, "c", "best"), E_NOINPUT);
	assert_int_equal(found(&h, NULL, "paper"), 3);
	assert_int_equal(found(&h, NULL, "lost"), E_NOINPUT);
	assert_int_equal(found(&h, NULL, "000000000030-aaaa2222"), 2);
	assert_int_equal(found(&h, NULL, "30-aaaa2222"), 2);
	assert_int_equal(found(&h, NULL, "30-aa"), 2);
	assert_int_equal(found(&h, NULL, "30"), 2);
	assert_int_equal(found(&h, NULL, "40"), 4);        /* not 400 */
	assert_int_equal(found(&h, NULL, "20"), E_USAGE);
	assert_int_equal(found(&h, "a", "20"), 1);
	assert_int_equal(found(&h, "b", "20"), 3);
	assert_int_equal(found(&h, "b", "30"), 2);         /* of another run, as b has none */
	assert_int_equal(found(&h, "b", "20-aa"), 1);
	assert_int_equal(found(&h, NULL, "50"), 6);
	assert_int_equal(found(&h, NULL, "20-"), E_USAGE);
	assert_int_equal(found(&h, NULL, "60"), E_NOINPUT);
	assert_int_equal(found(&h, NULL, ""), E_NOINPUT);
	arena_free(h.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
