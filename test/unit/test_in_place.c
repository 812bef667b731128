/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums that are stored where their addend is: only where that is right, and less. */
#include "toy_passes.h"

#include "base/debug.h"
#include "graph/view.h"
#include "pass/pass.h"

static const struct pass before[] = {
	{ "layout", "", pass_layout, STAGE_LAID_OUT }, { "views", "", pass_views, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};
static const struct pass with[] = { { "in_place", "", pass_in_place, STAGE_LAID_OUT } };

/* What a block of a dense network has backward: the gradient of all channels, of whose first half
 * the sum with that to a layer's input is made. */
struct block {
	struct graph *g;
	tid all, half, more, sum;
};

/* As kernels want it, so that nothing is reordered. */
static tid input(struct graph *g, const char *name, const char *dims)
{
	const tid t = toy_input(g, name, dims);
	graph_t(g, t)->layout = layout_native(&graph_t(g, t)->shape);
	return t;
}

static struct block block(void)
{
	struct block b = { .g = graph_new() };
	b.g->backend = BACKEND_CPU;
	const tid x = input(b.g, "x", "1x16x4x4"), y = input(b.g, "y", "1x8x4x4");
	b.all = EMIT(b.g, "any_native", x);
	b.half = EMIT(b.g, "first_half", b.all);
	b.more = EMIT(b.g, "any_native", y);
	b.sum = EMIT(b.g, "sum_into", b.more, b.half);
	return b;
}

/* Whether the sum is where its addend is. */
static bool is_moved(struct block *b)
{
	struct pass_env env = { .backend = BACKEND_CPU };
	if (pass_run(b->g, before, 3, &env) < 0 || pass_run(b->g, with, 1, &env) < 0)
		fail_msg("%s", toy_error());
	const struct tensor *sum = graph_t(b->g, b->sum);
	assert_int_equal(graph_t(b->g, b->half)->view, b->all);
	assert_true(sum->view == NONE || (sum->view == b->all && sum->view_at == 0));
	return sum->view != NONE;
}

static bool moved_then_freed(struct block *b)
{
	const bool moved = is_moved(b);
	graph_free(b->g);
	return moved;
}

static tid output(struct graph *g, tid t)
{
	graph_t(g, t)->output = true;
	return t;
}

static void test_moved(void **state)
{
	struct block b = block();
	const tid part = EMIT(b.g, "first_half", b.sum), read = EMIT(b.g, "sum_into", part, part);
	output(b.g, EMIT(b.g, "any_native", read));
	assert_true(is_moved(&b));
	/* A slice of it is a view of the same buffer. */
	assert_int_equal(graph_t(b.g, part)->view, b.all);
	assert_int_equal(graph_t(b.g, part)->view_at, 0);
	graph_free(b.g);
	b = block();
	output(b.g, EMIT(b.g, "sum_into", b.sum, b.sum));
	debug.skip = "signs+in_place";
	assert_false(moved_then_freed(&b));
	b = block();
	output(b.g, EMIT(b.g, "sum_into", b.sum, b.sum));
	debug.skip = "in_place_too+in+signs";
	assert_true(moved_then_freed(&b));
	debug.skip = NULL;
}

/* What is there is needed later, or twice; or the sum must have a buffer of its own. */
static void test_wrong(void **state)
{
	struct block b = block();                    /* the whole is read later */
	output(b.g, EMIT(b.g, "sum_into", b.sum, b.sum));
	output(b.g, EMIT(b.g, "any_native", b.all));
	assert_false(moved_then_freed(&b));
	b = block();                                 /* so is a part of what is overwritten */
	output(b.g, EMIT(b.g, "sum_into", b.sum, b.sum));
	const tid quarter = EMIT(b.g, "first_half", b.half);
	output(b.g, EMIT(b.g, "sum_into", quarter, quarter));
	assert_false(moved_then_freed(&b));
	b = block();                                 /* the other operand is the same */
	b.g->node[b.g->nnode - 1]->in[0] = b.half;
	output(b.g, EMIT(b.g, "sum_into", b.sum, b.sum));
	assert_false(moved_then_freed(&b));
	b = block();                                 /* a result of the step */
	output(b.g, b.sum);
	assert_false(moved_then_freed(&b));
	b = block();                                 /* added to a whole buffer */
	const tid whole = EMIT(b.g, "any_native", b.more);
	b.sum = EMIT(b.g, "sum_into", b.more, whole);
	output(b.g, EMIT(b.g, "sum_into", b.sum, b.sum));
	assert_false(moved_then_freed(&b));
	b = block();                                 /* read by a kernel that takes no slice */
	output(b.g, EMIT(b.g, "any_native", b.sum));
	assert_false(moved_then_freed(&b));
}

/* The sum outlives the rest of the buffer, next to something large. */
static void test_more(void **state)
{
	for (int large = 0; large < 2; large++) {
		struct block b = block();
		tid t = EMIT(b.g, "any_native", input(b.g, "z", large ? "1x64x4x4" : "1x4x4x4"), b.sum);
		b.g->node[b.g->nnode - 1]->nin = 1;
		t = EMIT(b.g, "any_native", t);
		output(b.g, t);
		output(b.g, EMIT(b.g, "sum_into", b.sum, b.sum));
		assert_int_equal(moved_then_freed(&b), !large);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moved), cmocka_unit_test(test_wrong), cmocka_unit_test(test_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
