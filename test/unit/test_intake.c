/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which batches have one place: those that the first four nodes that run alone read. */
#include "toy_passes.h"

#include "pass/pass.h"

/* A chain of nodes of which the one at `at` also reads the batch x, through a view if requested. */
static struct graph *chain(int at, bool through_view, tid *x)
{
	struct graph *g = graph_new();
	tid h = toy_input(g, "first", "4x6");
	*x = toy_input(g, "x", "4x6");
	graph_t(g, *x)->prefetched = true;
	tid read = through_view ? reshape(g, reshape(g, *x, "24"), "4x6") : *x;
	for (int i = 0; i < 8; i++)
		h = i == at ? EMIT(g, "multiply", h, read) : EMIT(g, "relu", h);
	graph_t(g, h)->output = true;
	return g;
}

static bool is_first(struct graph *g, tid x)
{
	struct pass_env env = { .backend = BACKEND_CUDA };
	assert_int_equal(pass_intake(g, &env), 0);
	return graph_t(g, x)->read_first;
}

static void test_place(void **state)
{
	for (int view = 0; view < 2; view++)
		for (int at = 0; at < 8; at++) {
			tid x;
			struct graph *g = chain(at, view, &x);
			assert_int_equal(is_first(g, x), at < 4);
			assert_false(graph_t(g, graph_find(g, "first"))->read_first);
			graph_free(g);
		}
}

/* One reader of several is late, as a gradient is. */
static void test_late(void **state)
{
	tid x;
	struct graph *g = chain(0, false, &x);
	g->cur_phase = PHASE_BACKWARD;
	EMIT(g, "keep", x);
	assert_false(is_first(g, x));
	graph_free(g);
	g = chain(9, false, &x);
	assert_false(is_first(g, x));          /* no node reads it */
	graph_free(g);
}

/* What is of the backward part or the update is not before a batch that is read first. */
static void test_phase(void **state)
{
	tid x;
	struct graph *g = chain(2, false, &x);
	assert_true(is_first(g, x));
	g->node[1]->phase = PHASE_BACKWARD;
	assert_false(is_first(g, x));
	g->node[1]->phase = PHASE_FORWARD;
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_place), cmocka_unit_test(test_late), cmocka_unit_test(test_phase),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
