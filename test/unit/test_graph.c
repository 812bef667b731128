/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph as a container: names, constants, emitting, errors with a place, editing. */
#include "toy_ops.h"

#include "graph/cost.h"
#include "graph/verify.h"

static void test_named(void **state)
{
	struct graph *g = graph_new();
	struct shape s = toy_dims("4x3"), other = toy_dims("3x4");
	tid a = toy_param(g, "w", "4x3"), b = NONE;
	char name[20];
	assert_int_equal(graph_param(g, "w", DTYPE_F32, &s, (struct init){ 0 }, &b), 0);
	assert_int_equal(a, b);
	assert_int_equal(graph_param(g, "w", DTYPE_F32, &other, (struct init){ 0 }, &b), E_SHAPE);
	assert_string_equal(toy_error(), "'w' has shape 3x4 here and 4x3 before");
	assert_int_equal(graph_state(g, "w", DTYPE_F32, &s, (struct init){ 0 }, &b), E_CONFIG);
	assert_int_equal(graph_input(g, "w", DTYPE_F32, &s, &b), E_CONFIG);
	assert_int_equal(graph_find(g, "v"), NONE);
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof name, "state %d", i);
		assert_int_equal(toy_state(g, name, "2"), i + 1);
	}
	assert_int_equal(graph_find(g, "state 321"), 322);
	assert_int_equal(graph_find(g, "w"), a);
	assert_true(graph_t(g, a)->requires_grad);
	assert_false(graph_t(g, 5)->requires_grad);
	graph_free(g);
	err_clear();
}

static void test_constants(void **state)
{
	struct graph *g = graph_new();
	float v[3] = { 1, 2, 3 };
	struct shape s = toy_dims("3");
	tid c = graph_constant(g, DTYPE_F32, &s, v);
	v[0] = 9;
	assert_true(((const float *)graph_t(g, c)->value)[0] == 1);
	assert_int_equal(graph_scalar(g, 0.5), graph_scalar(g, 0.5));
	assert_int_not_equal(graph_scalar(g, 0.0), graph_scalar(g, -0.0));
	for (int i = 0; i < 40; i++)
		graph_scalar(g, i);
	assert_int_equal(graph_scalar(g, 0.5), c + 1);
	assert_int_equal(graph_find(g, "constant"), NONE);
	graph_free(g);
}

static void test_emit(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "2x3"), w = toy_param(g, "w", "2x3"), out[2], y;
	int64_t dims[] = { 3, 2 };
	char name[8] = "layer1";
	g->cur_name = name;
	y = EMIT(g, "multiply", x, w);
	strcpy(name, "gone");
	assert_string_equal(toy_producer(g, y)->name, "layer1");
	assert_string_equal(graph_t(g, y)->name, "layer1:multiply");
	assert_true(graph_t(g, y)->requires_grad);
	assert_false(graph_t(g, EMIT(g, "relu", x))->requires_grad);
	assert_false(graph_t(g, EMIT(g, "metric", y))->requires_grad);
	assert_false(graph_t(g, EMIT(g, "spread", EMIT(g, "sum", x), y))->requires_grad);
	assert_int_equal(graph_emit(g, "two", NULL, 1, &y, 2, out), 0);
	assert_int_equal(out[1], out[0] + 1);
	/* attributes: the table's defaults, and copies of what the caller gives */
	struct scale_attr *a = toy_producer(g, EMIT(g, "scale", y))->attr;
	assert_true(a->factor == 1 && a->shift == 0);
	y = toy_emit(g, "reshape", &(struct shape_attr){ { 2, dims } }, 1, &y);
	dims[0] = 7;
	assert_int_equal(((struct shape_attr *)toy_producer(g, y)->attr)->shape.v[0], 3);
	assert_int_equal(graph_t(g, y)->alias, toy_producer(g, y)->in[0]);
	assert_int_equal(graph_root(g, y), toy_producer(g, y)->in[0]);
	/* an op that says itself how many outputs it has */
	y = EMIT(g, "any", x);
	assert_int_equal(graph_emit(g, "many", NULL, 3, (tid[]){ x, y, w }, 2, out), 0);
	assert_int_equal(out[0], NONE);
	assert_int_equal(g->node[g->nnode - 1]->nout, 3);
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	graph_free(g);
}

static void test_emit_errors(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "2x3"), y = toy_input(g, "y", "3x2"), out = NONE;
	int ntensor = g->ntensor;
	const struct err_entry *e;
	g->cur_name = "block1/join";
	g->cur_loc = (struct loc){ "net.yaml", 7, 5, 3 };
	assert_int_equal(graph_emit1(g, "add", NULL, 2, (tid[]){ x, y }, &out), E_SHAPE);
	e = err_get(0);
	assert_string_equal(e->text, "inputs of shapes 2x3 and 3x2");
	assert_int_equal(e->loc.line, 7);
	assert_string_equal(e->context[0], "in layer 'block1/join' (op 'add')");
	assert_int_equal(graph_emit1(g, "add", NULL, 1, &x, &out), E_CONFIG);
	assert_string_equal(toy_error(), "'add' needs 2 inputs, not 1");
	assert_int_equal(graph_emit1(g, "relu", NULL, 2, (tid[]){ x, y }, &out), E_CONFIG);
	assert_string_equal(toy_error(), "'relu' takes 1 input, not 2");
	assert_int_equal(graph_emit1(g, "reshape", NULL, 1, &x, &out),
	                 E_CONFIG); /* shape is required */
	assert_int_equal(graph_emit1(g, "no such op", NULL, 1, &x, &out), E_BUG);
	assert_int_equal(graph_emit1(g, "fill", &(struct fill_attr){ 0, { 2, (int64_t[]){ 4, 0 } } },
	                             0, NULL, &out),
	                 E_SHAPE);
	assert_int_equal(
		graph_emit1(g, "fill",
	                    &(struct fill_attr){ 0, { 2, (int64_t[]){ 1LL << 40, 1LL << 40 } } }, 0,
	                    NULL, &out),
		E_SHAPE);
	assert_int_equal(g->nnode, 0);
	assert_int_equal(g->ntensor, ntensor);
	graph_free(g);
	err_clear();
}

static void test_edit(void **state)
{
	struct graph *g = graph_new();
	tid w = toy_param(g, "w", "4"), a, b, c, w2;
	struct node *order[4];
	a = EMIT(g, "relu", w);
	b = EMIT(g, "relu", a);
	w2 = EMIT(g, "sgd", w, b);
	c = EMIT(g, "add", b, b);
	graph_t(g, c)->output = true;
	/* the update first is wrong; sorting puts it after what it needs, and moves nothing else */
	order[0] = g->node[2], order[1] = g->node[0], order[2] = g->node[1], order[3] = g->node[3];
	graph_reorder(g, order, 4);
	assert_int_equal(graph_t(g, w2)->producer, 0);
	assert_int_equal(graph_verify(g, STAGE_BUILT), E_BUG);
	graph_sort(g);
	assert_int_equal(graph_t(g, a)->producer, 0);
	assert_int_equal(graph_t(g, b)->producer, 1);
	assert_int_equal(graph_t(g, w2)->producer, 2);
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	/* a late reader of w, through a view too, keeps the update after it */
	tid v = toy_emit(g, "reshape", &(struct shape_attr){ { 2, (int64_t[]){ 2, 2 } } }, 1, &w);
	EMIT(g, "keep", v);
	assert_int_equal(graph_verify(g, STAGE_BUILT), E_BUG);
	graph_sort(g);
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	assert_int_equal(graph_t(g, w2)->producer, g->nnode - 1);
	/* a subset */
	order[0] = g->node[0];
	graph_reorder(g, order, 1);
	assert_int_equal(g->nnode, 1);
	assert_int_equal(graph_t(g, c)->producer, NONE);
	graph_free(g);
	err_clear();
}

static void test_context(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "4"), y;
	struct graph_context saved;
	g->cur_name = "one";
	g->cur_loc = (struct loc){ "a.yaml", 3, 1, 1 };
	y = EMIT(g, "relu", x);
	g->cur_name = "two";
	g->cur_loc.line = 9;
	g->cur_phase = PHASE_UPDATE;
	saved = graph_enter(g, toy_producer(g, y));
	x = EMIT(g, "relu", y);
	graph_leave(g, saved);
	assert_string_equal(toy_producer(g, x)->name, "one");
	assert_int_equal(toy_producer(g, x)->loc.line, 3);
	assert_int_equal(toy_producer(g, x)->phase, PHASE_FORWARD);
	assert_string_equal(g->cur_name, "two");
	assert_int_equal(g->cur_loc.line, 9);
	assert_int_equal(g->cur_phase, PHASE_UPDATE);
	graph_free(g);
}

static void test_cost(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "2x8x3x3"), w = toy_param(g, "w", "8x8"),
	    y = EMIT(g, "conv", x, w);
	struct cost c = op_cost(g, toy_producer(g, y));
	assert_true(c.flops == 2 * 144);
	assert_true(c.bytes == 4 * (144 + 64 + 144));
	g->cur_phase = PHASE_UPDATE;
	EMIT(g, "sgd", w, w);
	toy_emit(g, "reshape", &(struct shape_attr){ { 1, (int64_t[]){ 64 } } }, 1, &w);
	c = graph_cost(g, 1u << PHASE_UPDATE);
	assert_true(c.flops == 0 && c.bytes == 4 * 3 * 64);
	c = graph_cost(g, 7);
	assert_true(c.flops == 288 && c.bytes == 4 * (3 * 64 + 352));
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named), cmocka_unit_test(test_constants),
		cmocka_unit_test(test_emit),  cmocka_unit_test(test_emit_errors),
		cmocka_unit_test(test_edit),  cmocka_unit_test(test_context),
		cmocka_unit_test(test_cost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
