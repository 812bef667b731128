/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pass/cse.c: what merges and what does not. That values stay is tested with derivatives of
 * networks (test_derivatives.c). */
#include "op_graph.h"

#include "op/lib/elementwise.h"
#include "op/lib/emit.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

struct net {
	struct graph *g;
	tid a, b;
};

static void begin(struct net *n)
{
	const struct shape s = { 1, { 6 } };
	n->g = graph_new();
	n->a = op_param(n->g, "a", &s, 0);
	n->b = op_param(n->g, "b", &s, 0);
}

/* The number of nodes left, without those that nothing reads. */
static int merged(const struct net *n)
{
	static const struct pass passes[] = {
		{ "cse", "", pass_cse, STAGE_BUILT },
		{ "dce", "", pass_dce, STAGE_BUILT },
	};
	op_passes(n->g, NULL, passes, 2, NULL);
	return n->g->nnode;
}

static tid read_by_host(const struct net *n, tid t)
{
	graph_t(n->g, t)->output = true;
	return t;
}

static tid scaled(const struct net *n, tid x, double factor)
{
	tid y;
	assert_int_equal(emit_scale(n->g, x, factor, 0, &y), 0);
	return y;
}

/* Chains merge, and operands of a sum in any order. */
static void test_merges(void **unused)
{
	struct net n;
	tid y[2], z;
	begin(&n);
	for (int i = 0; i < 2; i++) {
		tid s = EMIT(&n, "tanh", n.a), t = EMIT(&n, "exp", n.b);
		s = scaled(&n, s, 3);
		y[i] = EMIT(&n, "divide", i ? EMIT(&n, "add", s, t) : EMIT(&n, "add", t, s), t);
	}
	z = read_by_host(&n, EMIT(&n, "subtract", y[0], y[1]));
	assert_int_equal(merged(&n), 6);
	assert_int_equal(n.g->node[5]->in[0], y[0]);
	assert_int_equal(n.g->node[5]->in[1], y[0]);
	assert_int_equal(graph_t(n.g, z)->producer, 5);
	graph_free(n.g);
}

/* (2 a b) tanh(a) and (a tanh(a)) (2 b) are one product, a b b another. */
static void test_products(void **unused)
{
	struct net n;
	tid t, p, q, r;
	begin(&n);
	t = EMIT(&n, "tanh", n.a);
	p = EMIT(&n, "multiply", scaled(&n, EMIT(&n, "multiply", n.a, n.b), 2), t);
	q = EMIT(&n, "multiply", EMIT(&n, "multiply", n.a, t), scaled(&n, n.b, 2));
	r = EMIT(&n, "multiply", n.a, EMIT(&n, "square", n.b));
	r = read_by_host(&n, EMIT(&n, "divide", EMIT(&n, "subtract", p, q), r));
	assert_int_equal(merged(&n), 8);
	t = rewrite_producer(n.g, r)->in[0];
	assert_int_equal(rewrite_producer(n.g, t)->in[0], p);
	assert_int_equal(rewrite_producer(n.g, t)->in[1], p);
	graph_free(n.g);
}

/* Another attribute, another order where it matters, another op. */
static void test_differ(void **unused)
{
	struct net n;
	tid sum = NONE;
	int nodes;
	begin(&n);
	const tid y[] = { scaled(&n, n.a, 2), scaled(&n, n.a, 3), EMIT(&n, "subtract", n.a, n.b),
		EMIT(&n, "subtract", n.b, n.a), EMIT(&n, "sin", n.a), EMIT(&n, "cos", n.a) };
	for (size_t i = 0; i < sizeof y / sizeof *y; i++)
		sum = i ? EMIT(&n, "add", sum, y[i]) : y[i];
	read_by_host(&n, sum);
	nodes = n.g->nnode;
	assert_int_equal(merged(&n), nodes);
	graph_free(n.g);
}

/* What the host reads stays, but others may read it. */
static void test_outputs(void **unused)
{
	struct net n;
	tid first, second, third;
	begin(&n);
	first = read_by_host(&n, EMIT(&n, "exp", n.a));
	second = read_by_host(&n, EMIT(&n, "exp", n.a));
	third = EMIT(&n, "exp", n.a);
	third = read_by_host(&n, EMIT(&n, "multiply", third, n.b));
	assert_int_equal(merged(&n), 3);
	assert_true(graph_t(n.g, first)->producer != NONE && graph_t(n.g, second)->producer != NONE);
	assert_int_equal(n.g->node[2]->in[0], first);
	graph_free(n.g);
}

/* Gradients of two parameters stay two tensors, each laid out like its parameter; nodes of the
 * update stay apart from those before. */
static void test_kept(void **unused)
{
	struct net n;
	tid d[2], early, late;
	begin(&n);
	for (int i = 0; i < 2; i++) {
		d[i] = EMIT(&n, "sigmoid", EMIT(&n, "exp", n.a));
		graph_t(n.g, d[i])->grad_of = i ? n.b : n.a;
	}
	read_by_host(&n, EMIT(&n, "add", d[0], d[1]));
	early = EMIT(&n, "cos", n.a);
	n.g->cur_phase = PHASE_UPDATE;
	late = EMIT(&n, "cos", n.a);
	read_by_host(&n, EMIT(&n, "multiply", early, EMIT(&n, "subtract", late, EMIT(&n, "cos", n.a))));
	merged(&n);
	assert_int_equal(op_count(n.g, "exp"), 1);
	assert_int_equal(op_count(n.g, "sigmoid"), 2);
	assert_int_equal(op_count(n.g, "cos"), 2);
	graph_free(n.g);
}

/* Views of one tensor are one view; the same numbers are drawn once. */
static void test_views(void **unused)
{
	const struct shape s = { 2, { 2, 3 } };
	const struct dropout_attr at = { 0.5, 7 }, other = { 0.5, 8 };
	struct net n;
	tid v[2], key, y[3];
	begin(&n);
	for (int i = 0; i < 2; i++)
		assert_int_equal(emit_reshape(n.g, n.a, &s, &v[i]), 0);
	assert_int_equal(random_key(n.g, &key), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(graph_emit1(n.g, "dropout", i < 2 ? &at : &other, 2,
			(tid[]){ v[i % 2], key }, &y[i]), 0);
	read_by_host(&n, EMIT(&n, "add", EMIT(&n, "add", y[0], y[1]), y[2]));
	merged(&n);
	assert_int_equal(op_count(n.g, "reshape"), 1);
	assert_int_equal(op_count(n.g, "dropout"), 2);
	graph_free(n.g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merges), cmocka_unit_test(test_products),
		cmocka_unit_test(test_differ),
		cmocka_unit_test(test_outputs), cmocka_unit_test(test_kept),
		cmocka_unit_test(test_views),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
