/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An input may come in 16 bits if all that is read of it is cast to them, with zeros around it and
 * in another shape, too; any other reader keeps it float32. */
#include "op_graph.h"

#include "graph/verify.h"
#include "op/lib/emit.h"
#include "op/lib/slice.h"
#include "op/reorder.h"
#include "pass/rounded_input.h"

static tid x, cast_of_x;

static tid cast(struct graph *g, tid t, enum dtype type)
{
	return op_emit(g, "cast", &(struct cast_attr){ (int)type }, 1, &t);
}

static tid padded(struct graph *g, tid t, double value)
{
	const int64_t none[] = { 0, 0 }, behind[] = { 0, 3 };
	const struct pad at = { ints_make(g, 2, none), ints_make(g, 2, behind), value };
	return op_emit(g, "pad", &at, 1, &t);
}

/* An input that is cast, and cast again in another shape and after a pad of zeros. */
static struct graph *build(void)
{
	struct graph *g = graph_new();
	const struct shape s = { 2, { 4, 6 } };
	assert_int_equal(graph_input(g, "x", DTYPE_F32, &s, &x), 0);
	cast_of_x = cast(g, x, DTYPE_BF16);
	graph_t(g, op_emit(g, "relu", NULL, 1, &cast_of_x))->output = true;
	const tid around = cast(g, padded(g, x, 0), DTYPE_BF16);
	graph_t(g, op_emit(g, "relu", NULL, 1, &around))->output = true;
	tid row;
	assert_int_equal(emit_reshape(g, x, &(struct shape){ 1, { 24 } }, &row), 0);
	row = cast(g, row, DTYPE_BF16);
	graph_t(g, op_emit(g, "relu", NULL, 1, &row))->output = true;
	return g;
}

/* Whether x of g suffices in that type; frees g. */
static bool suffices(struct graph *g, enum dtype type)
{
	graph_sort(g);
	const bool found = rounded_input_suffices(g, x, type);
	graph_free(g);
	return found;
}

static void test_taken_out(void **state)
{
	struct graph *g = build();
	graph_sort(g);
	assert_true(rounded_input_suffices(g, x, DTYPE_BF16));
	assert_int_equal(rounded_input_set(g, x, DTYPE_BF16), 0);
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	assert_int_equal(op_count(g, "cast"), 0);
	assert_int_equal(op_count(g, "pad"), 1);
	for (tid t = 0; t < g->ntensor; t++)
		if (graph_t(g, t)->producer != NONE || t == x)
			assert_int_equal(graph_t(g, t)->dtype, DTYPE_BF16);
	graph_free(g);
}

static void test_other_type(void **state)
{
	assert_false(suffices(build(), DTYPE_F16));
}

static void test_read_wide(void **state)
{
	struct graph *g = build();
	graph_t(g, op_emit(g, "relu", NULL, 1, &x))->output = true;
	assert_false(suffices(g, DTYPE_BF16));
	g = build();
	const tid around = padded(g, x, 0);
	graph_t(g, op_emit(g, "relu", NULL, 1, &around))->output = true;
	assert_false(suffices(g, DTYPE_BF16));
	/* the border would be rounded, too */
	g = build();
	const tid border = cast(g, padded(g, x, 0.1), DTYPE_BF16);
	graph_t(g, op_emit(g, "relu", NULL, 1, &border))->output = true;
	assert_false(suffices(g, DTYPE_BF16));
}

static void test_read_by_host(void **state)
{
	struct graph *g = build();
	graph_t(g, cast_of_x)->output = true;
	assert_false(suffices(g, DTYPE_BF16));
}

static void test_not_read(void **state)
{
	struct graph *g = graph_new();
	const struct shape s = { 2, { 4, 6 } };
	assert_int_equal(graph_input(g, "x", DTYPE_F32, &s, &x), 0);
	assert_false(suffices(g, DTYPE_BF16));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken_out),
		cmocka_unit_test(test_other_type),
		cmocka_unit_test(test_read_wide),
		cmocka_unit_test(test_read_by_host),
		cmocka_unit_test(test_not_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
