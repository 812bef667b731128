/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the gradient of a ReLU reads what the ReLU has read. */
#include "toy_passes.h"

#include "graph/layout.h"
#include "pass/pass.h"

struct net {
	struct graph *g;
	tid x, y, dx;
};

/* y = relu(x), which another node reads before the gradient, and x, if `kept`, after it. */
static struct net net(bool kept)
{
	struct net n = { .g = graph_new() };
	n.x = EMIT(n.g, "any", toy_input(n.g, "in", "2x3"));
	n.y = EMIT(n.g, "relu", n.x);
	EMIT(n.g, "keep", n.y);
	n.dx = EMIT(n.g, "relu_grad", n.y, toy_input(n.g, "dy", "2x3"));
	EMIT(n.g, "keep", n.dx);
	if (kept)
		EMIT(n.g, "keep", n.x);
	for (tid t = 0; t < n.g->ntensor; t++)
		graph_t(n.g, t)->layout = layout_plain(&graph_t(n.g, t)->shape);
	return n;
}

/* Which tensor the mask comes from then. */
static tid mask_of(struct net *n)
{
	struct pass_env env = { .backend = BACKEND_CPU };
	n->g->backend = BACKEND_CPU;
	assert_int_equal(pass_masks(n->g, &env), 0);
	const tid mask = toy_producer(n->g, n->dx)->in[0];
	graph_free(n->g);
	return mask;
}

static void test_kept(void **state)
{
	struct net n = net(true);
	assert_int_equal(mask_of(&n), n.x);
	n = net(false);                              /* x would live longer */
	assert_int_equal(mask_of(&n), n.y);
	n = net(false);
	graph_t(n.g, n.x)->output = true;            /* it is kept as well */
	assert_int_equal(mask_of(&n), n.x);
}

/* y lives as long, so that nothing is gained. */
static void test_no_gain(void **state)
{
	struct net n = net(true);
	EMIT(n.g, "keep", n.y);
	assert_int_equal(mask_of(&n), n.y);
	n = net(true);
	graph_t(n.g, n.y)->output = true;
	assert_int_equal(mask_of(&n), n.y);
}

/* What the kernel could not read in the place of y. */
static void test_other(void **state)
{
	struct net n = net(true);
	graph_t(n.g, n.x)->dtype = DTYPE_BF16;
	assert_int_equal(mask_of(&n), n.y);
	n = net(true);
	graph_t(n.g, n.x)->layout.stride[0] = 8;
	assert_int_equal(mask_of(&n), n.y);
	n = net(true);                               /* no ReLU made it */
	n.g->node[1]->op = op_find("hard");
	assert_int_equal(mask_of(&n), n.y);
	n = net(true);                               /* a batch, which is overwritten */
	n.g->node[1]->in[0] = graph_find(n.g, "in");
	EMIT(n.g, "keep", graph_find(n.g, "in"));
	assert_int_equal(mask_of(&n), n.y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept), cmocka_unit_test(test_no_gain), cmocka_unit_test(test_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
