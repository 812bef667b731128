/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which nodes run next to others, and which nodes wait for them. ("any" and "sgd" may be aside.) */
#include "toy_passes.h"

#include "graph/layout.h"
#include "pass/pass.h"

/* Layers in backward: a gradient to the weights from x and dy, the next dy, an update. */
struct net {
	struct graph *g;
	tid x[3], dw[3], w[3], updated[3];
};

static struct net net(void)
{
	struct net n = { .g = graph_new() };
	char name[8];
	tid dy = EMIT(n.g, "relu", toy_input(n.g, "dy", "2x3"));         /* node 0 */
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "w%d", i);
		n.w[i] = toy_param(n.g, name, "2x3");
		n.x[i] = EMIT(n.g, "relu", toy_input(n.g, "x", "2x3"));      /* 4i + 1 */
		n.dw[i] = EMIT(n.g, "any", n.x[i], dy);                      /* 4i + 2 */
		dy = EMIT(n.g, "relu", EMIT(n.g, "multiply", dy, n.w[i]));   /* 4i + 3, 4i + 4 */
	}
	EMIT(n.g, "keep", dy);                                           /* 13 */
	for (int i = 0; i < 3; i++)                                      /* 14 to 16 */
		n.updated[i] = EMIT(n.g, "sgd", n.w[i], n.dw[i]);
	EMIT(n.g, "keep", dy);                                           /* 17 */
	return n;
}

static void choose(struct graph *g, enum backend backend)
{
	struct pass_env env = { .backend = backend };
	for (tid t = 0; t < g->ntensor; t++)
		graph_t(g, t)->layout = layout_plain(&graph_t(g, t)->shape);
	g->backend = BACKEND_CPU;
	assert_int_equal(pass_second_stream(g, &env), 0);
	assert_int_equal(graph_verify(g, STAGE_LAID_OUT), 0);
}

static int joins(const struct graph *g)
{
	int n = 0;
	for (nid i = 0; i < g->nnode; i++)
		n += g->node[i]->join != NONE;
	return n;
}

static nid join_of(const struct net *n, tid t)
{
	return toy_producer(n->g, t)->join;
}

/* A gradient is waited for a bundle of updates later, an update when the next one begins. */
static void test_bundles(void **state)
{
	struct net n = net();
	choose(n.g, BACKEND_CUDA);
	assert_int_equal(joins(n.g), 6);
	for (int i = 0; i < 3; i++)
		assert_int_equal(join_of(&n, n.dw[i]), 15);
	assert_int_equal(join_of(&n, n.updated[0]), 15);
	assert_int_equal(join_of(&n, n.updated[1]), 16);
	assert_int_equal(join_of(&n, n.updated[2]), n.g->nnode);
	graph_free(n.g);
}

/* A node in line that reads what was made, or writes what is used; what was enqueued before is
 * waited for as well, and nothing that comes after. */
static void test_conflicts(void **state)
{
	struct net n = net();
	n.g->node[13]->in[0] = n.dw[1];
	choose(n.g, BACKEND_CUDA);
	assert_int_equal(join_of(&n, n.dw[0]), 13);
	assert_int_equal(join_of(&n, n.dw[1]), 13);
	assert_int_equal(join_of(&n, n.dw[2]), 15);
	graph_free(n.g);
	n = net();
	n.g->node[17]->in[0] = n.updated[2];
	choose(n.g, BACKEND_CUDA);
	assert_int_equal(join_of(&n, n.updated[2]), 17);
	graph_free(n.g);
	struct graph *g = graph_new();
	const tid s = toy_state(g, "s", "2x3");
	const tid read = EMIT(g, "any", s), next = EMIT(g, "accumulate", s, toy_input(g, "in", "2x3"));
	EMIT(g, "keep", read);
	choose(g, BACKEND_CUDA);
	assert_int_equal(toy_producer(g, next)->id, 1);
	assert_int_equal(joins(g), 1);
	assert_int_equal(toy_producer(g, read)->join, 1);
	graph_free(g);
}

/* The next batch overwrites an input; large nodes and steps fill the GPU. */
static void test_in_line(void **state)
{
	struct net n = net();
	n.g->node[2]->in[1] = graph_find(n.g, "dy");
	choose(n.g, BACKEND_CUDA);
	assert_int_equal(joins(n.g), 5);
	assert_int_equal(join_of(&n, n.dw[0]), NONE);
	graph_free(n.g);
	n = net();
	choose(n.g, BACKEND_CPU);
	assert_int_equal(joins(n.g), 0);
	graph_free(n.g);
}

/* The verifier knows of both rules; a new order sets joins back. */
static void test_verified(void **state)
{
	struct net n = net();
	choose(n.g, BACKEND_CUDA);
	n.g->node[13]->in[0] = n.dw[2];              /* reads it too early */
	assert_int_equal(graph_verify(n.g, STAGE_LAID_OUT), E_BUG);
	assert_non_null(strstr(toy_error(), "not waited for"));
	err_clear();
	n.g->node[13]->in[0] = n.x[0];
	assert_int_equal(graph_verify(n.g, STAGE_LAID_OUT), 0);
	n.g->node[2]->join = n.g->nnode;             /* the next one of the stream is waited for */
	assert_int_equal(graph_verify(n.g, STAGE_LAID_OUT), E_BUG);
	err_clear();
	n.g->node[2]->join = 2;
	assert_int_equal(graph_verify(n.g, STAGE_LAID_OUT), E_BUG);
	err_clear();
	graph_sort(n.g);
	assert_int_equal(joins(n.g), 0);
	graph_free(n.g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bundles), cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_in_line), cmocka_unit_test(test_verified),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
