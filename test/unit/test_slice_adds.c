/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass `slice_adds` on graphs of real ops: which sums become one, where it stands, and that no
 * bit changes. */
#include "op_graph.h"

#include "op/lib/slice.h"
#include "pass/pass.h"

struct net {
	struct graph *g;
	tid a, b, c;                 /* of 9, 5 and 5 channels, made by tanh */
	tid out[8];
	int n;
};

static tid image(struct net *n, const char *name, int64_t channels)
{
	const struct shape s = { 4, { 2, channels, 3, 4 } };
	return EMIT(n, "tanh", op_param(n->g, name, &s, 0));
}

static tid cut(struct net *n, tid t, int64_t begin, int64_t size)
{
	return op_emit(n->g, "slice", &(struct slice){ 1, begin, size }, 1, &t);
}

static void output(struct net *n, tid t)
{
	tid y = EMIT(n, "square", t);
	graph_t(n->g, y)->output = true;
	n->out[n->n++] = y;
}

/* --- networks --- */

static void build_two(struct net *n)
{
	output(n, EMIT(n, "add", cut(n, n->a, 2, 3), cut(n, n->b, 0, 3)));
	output(n, EMIT(n, "add", cut(n, n->a, 5, 2), cut(n, n->b, 3, 2)));
	output(n, cut(n, n->a, 0, 2));
}

/* The cuts of b first and the other way round. */
static void build_swapped(struct net *n)
{
	tid high = cut(n, n->b, 3, 2);
	output(n, EMIT(n, "add", cut(n, n->b, 0, 3), cut(n, n->a, 0, 3)));
	output(n, EMIT(n, "add", high, cut(n, n->a, 3, 2)));
}

/* Three sums of the same cuts: one after the other. */
static void build_three(struct net *n)
{
	for (int i = 0; i < 2; i++) {
		tid s = EMIT(n, "add", cut(n, n->a, i ? 3 : 0, i ? 2 : 3),
		             cut(n, n->b, i ? 3 : 0, i ? 2 : 3));
		output(n, EMIT(n, "add", s, cut(n, n->c, i ? 3 : 0, i ? 2 : 3)));
	}
}

/* Of equal width: nothing of the other is cut. */
static void build_whole(struct net *n)
{
	output(n, EMIT(n, "add", cut(n, n->c, 0, 3), cut(n, n->b, 0, 3)));
	output(n, EMIT(n, "add", cut(n, n->c, 3, 2), cut(n, n->b, 3, 2)));
}

static void build_shifted(struct net *n)
{
	output(n, EMIT(n, "add", cut(n, n->a, 2, 3), cut(n, n->b, 0, 3)));
	output(n, EMIT(n, "add", cut(n, n->a, 6, 2), cut(n, n->b, 3, 2)));
}

static void build_gap(struct net *n)
{
	output(n, EMIT(n, "add", cut(n, n->a, 2, 2), cut(n, n->b, 0, 2)));
	output(n, EMIT(n, "add", cut(n, n->a, 5, 2), cut(n, n->b, 3, 2)));
}

static void build_read_twice(struct net *n)
{
	tid s = cut(n, n->b, 3, 2);
	output(n, EMIT(n, "add", cut(n, n->a, 2, 3), cut(n, n->b, 0, 3)));
	output(n, EMIT(n, "add", cut(n, n->a, 5, 2), s));
	output(n, s);
}

static void build_other(struct net *n)
{
	output(n, EMIT(n, "add", cut(n, n->a, 0, 3), cut(n, n->b, 0, 3)));
	output(n, EMIT(n, "add", cut(n, n->c, 3, 2), cut(n, n->b, 3, 2)));
}

static void build_rows(struct net *n)
{
	for (int64_t i = 0; i < 3; i += 2)
		output(n, EMIT(n, "add", op_emit(n->g, "slice", &(struct slice){ 2, i, 3 - i > 1 ? 2 : 1 },
		                                 1, &n->c),
		               op_emit(n->g, "slice", &(struct slice){ 2, i, 3 - i > 1 ? 2 : 1 }, 1,
		                       &n->b)));
}

static const struct {
	const char *name;
	void (*build)(struct net *n);
	int adds, cuts;              /* after the pass */
} nets[] = {
	{ "two", build_two, 1, 4 },
	{ "swapped", build_swapped, 1, 3 },
	{ "three", build_three, 2, 3 },
	{ "whole", build_whole, 1, 2 },
	{ "shifted", build_shifted, 2, 4 },
	{ "gap", build_gap, 2, 4 },
	{ "read twice", build_read_twice, 2, 4 },
	{ "other", build_other, 2, 4 },
	{ "rows", build_rows, 2, 4 },
};
#define NNETS ((int)(sizeof nets / sizeof *nets))

static struct net build(int i)
{
	struct net n = { .g = graph_new() };
	n.g->cur_name = "net";
	n.a = image(&n, "a", 9);
	n.b = image(&n, "b", 5);
	n.c = image(&n, "c", 5);
	nets[i].build(&n);
	return n;
}

static const struct pass passes[] = {
	{ "dce", "", pass_dce, STAGE_BUILT },        { "slice_adds", "", pass_slice_adds, STAGE_BUILT },
	{ "precision", "", pass_precision, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT }, { "views", "", pass_views, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};
#define NPASSES ((int)(sizeof passes / sizeof *passes))

static double *values(int i, const char *without, int *count)
{
	struct net n = build(i);
	return op_values_after(n.g, "cpu", passes, NPASSES, without, n.out, n.n, count);
}

static void test_nodes(void **state)
{
	for (int i = 0; i < NNETS; i++) {
		struct net n = build(i);
		op_passes(n.g, NULL, passes, 2, NULL);
		if (op_count(n.g, "add") != nets[i].adds || op_count(n.g, "slice") != nets[i].cuts)
			fail_msg("%s: %d sums, %d cuts", nets[i].name, op_count(n.g, "add"),
			         op_count(n.g, "slice"));
		graph_free(n.g);
	}
}

static void test_bits(void **state)
{
	for (int i = 0; i < NNETS; i++) {
		int n, m;
		double *a = values(i, "slice_adds", &n), *b = values(i, NULL, &m);
		assert_int_equal(n, m);
		assert_memory_equal(a, b, sizeof *a * (size_t)n);
		free(a);
		free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_bits),
	};
	return cmocka_run_group_tests_name("slice_adds", tests, NULL, NULL);
}
