/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pass/sched.c: a sum over ranks begins as soon as its values are there, also where a node of the
 * update makes them of a gradient, as a reorder does. */
#include "op_graph.h"

#include "op/update/all_reduce.h"
#include "pass/pass.h"

static tid emitted(struct graph *g, const char *op, tid x)
{
	tid y;
	assert_int_equal(graph_emit1(g, op, NULL, 1, &x, &y), 0);
	return y;
}

static int place_of(const struct graph *g, const char *op)
{
	int i = 0;
	while (strcmp(g->node[i]->op->name, op) != 0)
		i++;
	return i;
}

static void sums_begin_early(void **state)
{
	static const struct pass passes[] = { { "sched", "", pass_sched, STAGE_BUILT } };
	const struct shape s = { 1, { 6 } };
	const struct all_reduce_attr at = { .group = 1, .factor = 1 };
	struct graph *g = graph_new();
	tid x = op_param(g, "x", &s, 0), sum, in[2], begun;
	assert_int_equal(graph_state(g, "sum", DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 0 }, &sum),
	                 0);
	g->cur_phase = PHASE_BACKWARD;
	const tid gradient = emitted(g, "exp", x), later = emitted(g, "tanh", gradient);
	graph_t(g, later)->output = true;
	g->cur_phase = PHASE_UPDATE;
	in[0] = sum;
	in[1] = emitted(g, "sqrt", gradient);
	assert_int_equal(graph_emit(g, "all_reduce_start", &at, 2, in, 1, &begun), 0);
	assert_int_equal(graph_emit(g, "all_reduce_wait", &at, 1, &begun, 1, &begun), 0);
	graph_t(g, begun)->output = true;
	op_passes(g, NULL, passes, 1, NULL);
	assert_true(place_of(g, "exp") < place_of(g, "sqrt"));
	assert_true(place_of(g, "all_reduce_start") < place_of(g, "tanh"));
	assert_true(place_of(g, "tanh") < place_of(g, "all_reduce_wait"));
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sums_begin_early) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
