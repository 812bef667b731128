/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What dlx-ckpt computes: graphs as text, distances of tensors, expressions over versions. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "base/half.h"
#include "data-tools/ckpt/ckpt_distance.h"
#include "data-tools/ckpt/ckpt_graph.h"
#include "data-tools/ckpt/ckpt_where.h"

/* --- graphs --- */

struct node {
	int n;
	struct graph_edge edge[3];
};

/* Nodes are called by letters. */
static void drawn(const struct node *node, int n, const char *as)
{
	struct version_graph *g = version_graph_new();
	struct buf b = BUF_INIT;
	for (int i = 0; i < n; i++) {
		version_graph_node(g, i, '*', &b);
		buf_printf(&b, "%c\n", 'a' + i);
		version_graph_edges(g, node[i].edge, node[i].n, &b);
	}
	assert_string_equal(b.data, as);
	buf_release(&b);
	version_graph_free(g);
}

static void test_line(void **state)
{
	drawn((struct node[]){ { 1, { { 1, false } } }, { 1, { { 2, true } } }, { 0 } }, 3,
	      "* a\n* b\n:\n* c\n");
	drawn((struct node[]){ { 1, { { -1, true } } } }, 1, "* a\n:\n");
}

static void test_forks(void **state)
{
	/* Three lines from c, of which that of a and b is the first. */
	drawn((struct node[]){ { 1, { { 1, false } } }, { 1, { { 4, false } } },
	                       { 1, { { 4, false } } }, { 1, { { 4, true } } }, { 0 } }, 5,
	      "* a\n* b\n| * c\n|/\n| * d\n| :\n|/\n* e\n");
}

static void test_join_far(void **state)
{
	drawn((struct node[]){ { 1, { { 4, false } } }, { 1, { { 5, false } } },
	                       { 1, { { 6, false } } }, { 1, { { 4, false } } }, { 0 }, { 0 }, { 0 } },
	      7, "* a\n| * b\n| | * c\n| | | * d\n| |_|/\n|/| |\n* | | e\n / /\n* | f\n /\n* g\n");
}

static void test_merge(void **state)
{
	drawn((struct node[]){ { 2, { { 1, false }, { 2, false } } }, { 1, { { 3, false } } },
	                       { 1, { { 3, false } } }, { 0 } }, 4,
	      "* a\n|\\\n* | b\n| * c\n|/\n* d\n");
	drawn((struct node[]){ { 3, { { 3, false }, { 1, false }, { 2, true } } },
	                       { 1, { { 3, false } } }, { 1, { { 3, false } } }, { 0 } }, 4,
	      "* a\n|\\\n| |\\\n| | :\n| * | b\n|/ /\n| * c\n|/\n* d\n");
}

/* --- distances --- */

static void test_distance(void **state)
{
	const float a[] = { 1, 2, -1, 0, 5 };
	float b[] = { 1, nextafterf(2, 3), 1, -0.0f, 5 };
	struct distance d = { 0 };
	distance_add(&d, DTYPE_F32, a, b, 5);
	assert_int_equal(d.differ, 3);
	assert_int_equal(d.undefined, 0);
	assert_true(d.largest == 2);
	/* From -1 through 0 to 1. */
	assert_int_equal(d.ulps, 2 * 0x3f800000u);
	assert_true(fabs(distance_relative(&d) - sqrt((4 + 0x1p-44) / 31)) < 1e-15);
	d = (struct distance){ 0 };
	distance_add(&d, DTYPE_F32, a + 3, b + 3, 2);
	assert_true(d.differ == 1 && d.ulps == 0 && d.largest == 0 && distance_relative(&d) == 0);
	b[4] = NAN;
	b[0] = INFINITY;
	d = (struct distance){ 0 };
	distance_add(&d, DTYPE_F32, a, b, 5);
	assert_true(d.differ == 5 && d.undefined == 1 && isinf(d.largest));
	assert_true(isnan(distance_relative(&d)));
}

static void test_distance_types(void **state)
{
	const int64_t i[] = { INT64_MIN, 3 }, j[] = { INT64_MAX, 3 };
	const uint16_t h[] = { half_from_float(1) }, k[] = { half_from_float(-1) };
	const uint8_t u[] = { 255 }, v[] = { 0 };
	struct distance d = { 0 };
	distance_add(&d, DTYPE_I64, i, j, 2);
	assert_true(d.ulps == UINT64_MAX && d.differ == 1);
	d = (struct distance){ 0 };
	distance_add(&d, DTYPE_F16, h, k, 1);
	assert_true(d.ulps == 2 * 0x3c00 && d.largest == 2 && distance_relative(&d) == 2);
	d = (struct distance){ 0 };
	distance_add(&d, DTYPE_U8, v, u, 1);
	assert_true(d.ulps == 255 && isinf(distance_relative(&d)));
}

/* A tensor in chunks, of which one is the same. */
static void test_distance_sums(void **state)
{
	const double a[] = { 3, 4, 12 }, b[] = { 3, 4, 25 };
	struct distance d = { 0 };
	distance_add_same(&d, DTYPE_F64, a, 2);
	distance_add(&d, DTYPE_F64, a + 2, b + 2, 1);
	assert_true(distance_relative(&d) == 1 && d.differ == 1);
}

/* --- expressions --- */

static const struct ckpt_metric metrics[] = { { "mean_iou", 0.8 }, { "loss", 0.25 } };
static const struct ref refs[] = { { "paper", "000000000040-00c0ffee" } };
static struct history_version versions[] = {
	{ .id = "000000000040-00c0ffee", .m = { .run = "9b1d000000000000", .step = 40, .epoch = 4,
		.time = 1764000000, .ranks = 2, .fork = true, .nmetrics = 2, .metrics = metrics } },
	{ .id = "000000000050-deadbeef", .damage = "it is" },
};
static const struct history one = { .n = 2, .v = versions,
	.refs = { .ref = (struct ref *)(uintptr_t)refs, .n = 1 } };

static bool holds(const char *text)
{
	struct arena *a = arena_new();
	struct where *w;
	assert_int_equal(where_parse(&w, a, text), 0);
	assert_int_equal(where_check(w, &one), 0);
	bool is = where_holds(w, &one, 0);
	assert_false(where_holds(w, &one, 1));
	arena_free(a);
	return is;
}

static void test_where(void **state)
{
	static const char *const yes[] = { "step = 40", "step>=40 and step<=40", "40 == step",
		"mean_iou > 0.7 and step < 4000", "not mean_iou < .8", "mean_iou > loss",
		"metrics.loss < 3e-1", "loss > -1", "fork", "tagged and not pinned", "run = 9b1d",
		"id = 40-00c", "id = 000000000040-00c0ffee", "run != '9b2'", "ranks = 2 && ! (epoch != 4)",
		"step < 3 or step > 3 and epoch = 4", "time > 2025-11-20", "time < 2025-12-01T10:00:05",
		"time > '2025-11-20 23:00'", "((step > 1))" };
	static const char *const no[] = { "step < 40", "not fork", "pinned", "run = 1d", "id = 4-",
		"(step < 3 or step > 3) and epoch = 3", "time > 2026-01-01", "not not step = 4" };
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		if (!holds(yes[i]))
			fail_msg("does not hold: %s", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (holds(no[i]))
			fail_msg("holds: %s", no[i]);
}

/* A metric that the version has not: false either way, and its negation true. */
static void test_where_missing(void **state)
{
	struct arena *a = arena_new();
	struct where *w;
	assert_int_equal(where_parse(&w, a, "mae < 1 or mae >= 1"), 0);
	assert_false(where_holds(w, &one, 0));
	assert_int_equal(where_check(w, &one), E_USAGE);
	assert_non_null(strstr(err_get(0)->text, "'mae'"));
	assert_non_null(strstr(err_get(0)->text, "mean_iou, loss"));
	assert_int_equal(err_get(0)->loc.col, 1);
	err_clear();
	assert_int_equal(where_parse(&w, a, "not mae < 1"), 0);
	assert_true(where_holds(w, &one, 0));
	arena_free(a);
}

static void refused(const char *text, int col, const char *why)
{
	struct arena *a = arena_new();
	struct where *w;
	err_clear();
	if (where_parse(&w, a, text) != E_USAGE)
		fail_msg("taken: %s", text);
	if (err_get(0)->loc.col != col || !strstr(err_get(0)->text, why))
		fail_msg("%s: column %d: %s", text, err_get(0)->loc.col, err_get(0)->text);
	err_clear();
	arena_free(a);
}

static void test_where_mistakes(void **state)
{
	char deep[400] = "";
	refused("", 1, "the expression ends");
	refused("step <", 7, "the expression ends");
	refused("step 5", 6, "'5': expected one of <");
	refused("(step < 5", 10, "expected ')'");
	refused("step < 5)", 9, "expected 'and', 'or' or the end");
	refused("step < 5 mean_iou > 1", 10, "'mean_iou'");
	refused("1 < step < 5", 10, "two sides");
	refused("1 < 2", 1, "both given");
	refused("step ~ 5", 6, "'~' is neither");
	refused("run < 9b", 1, "has no order");
	refused("step < 'many'", 8, "expected a number or a date");
	refused("time > 2026-02-30", 8, "expected a number or a date");
	refused("run = 'abc", 7, "closing");
	refused("mean_iou", 9, "expected one of <");
	refused("step > 1e999", 8, "expected a number");
	memset(deep, '(', 300);
	refused(deep, 102, "fewer of these");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_join_far),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_distance_types),
		cmocka_unit_test(test_distance_sums),
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_where_missing),
		cmocka_unit_test(test_where_mistakes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
