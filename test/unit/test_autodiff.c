/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Differentiation: values against finite differences (by a tiny interpreter of the toy ops), second
 * derivatives, and what must not be emitted. */
#include "toy_eval.h"

#include <math.h>

#include "graph/cost.h"
#include "graph/verify.h"
#include "pass/autodiff.h"

/* dx against central differences of the scalar y. */
static void check_gradient(const struct graph *g, tid y, tid x, tid dx)
{
	struct values s;
	double h = 1e-5, up, down, want;
	values_init(&s, g);
	for (int64_t i = 0; i < elements(g, x); i++) {
		double x0 = s.v[x][i];
		s.v[x][i] = x0 + h;
		values_run(&s);
		up = s.v[y][0];
		s.v[x][i] = x0 - h;
		values_run(&s);
		down = s.v[y][0];
		s.v[x][i] = x0;
		values_run(&s);
		want = (up - down) / (2 * h);
		if (fabs(s.v[dx][i] - want) > 1e-6 * (1 + fabs(want)))
			fail_msg("element %d: %g, differences say %g", (int)i, s.v[dx][i], want);
	}
	values_release(&s);
}

/* sum(relu(x * w) * w + x), w used twice. */
static tid network(struct graph *g, tid x, tid w)
{
	tid h = EMIT(g, "relu", EMIT(g, "multiply", x, w));
	return EMIT(g, "sum", EMIT(g, "add", EMIT(g, "multiply", h, w), x));
}

static void test_values(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "2x3"), w = toy_param(g, "w", "2x3"), y = network(g, x, w), d[2];
	int n = g->nnode;
	assert_int_equal(autodiff(g, 1, &y, NULL, 2, (tid[]){ x, w }, d), 0);
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	check_gradient(g, y, x, d[0]);
	check_gradient(g, y, w, d[1]);
	assert_int_equal(graph_t(g, d[1])->grad_of, w);
	assert_int_equal(graph_t(g, d[0])->grad_of, NONE);
	assert_false(graph_t(g, x)->requires_grad);      /* put back */
	for (int i = n; i < g->nnode; i++)
		assert_int_equal(g->node[i]->phase, PHASE_BACKWARD);
	graph_free(g);
}

static void test_only_wanted(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "4"), w = toy_param(g, "w", "4"), v = toy_param(g, "v", "4"), y,
	    d[3];
	int n;
	y = EMIT(g, "sum", EMIT(g, "multiply", EMIT(g, "multiply", x, w), v));
	EMIT(g, "hard", w); /* off the path: its missing rule does not matter */
	EMIT(g, "metric", y);
	n = g->nnode;
	assert_int_equal(autodiff(g, 1, &y, NULL, 2, (tid[]){ w, toy_param(g, "unused", "4") }, d),
	                 0);
	assert_int_equal(d[1], NONE);
	assert_int_equal(g->nnode - n, 3); /* spread, d(x * w), dw: nothing for v and x */
	assert_true(graph_t(g, v)->requires_grad && graph_t(g, w)->requires_grad);
	assert_true(graph_t(g, d[0])->requires_grad);    /* it depends on v */
	/* x == y */
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &y, d), 0);
	assert_int_equal(graph_t(g, d[0])->role, ROLE_CONSTANT);
	graph_free(g);
}

static void test_context(void **state)
{
	struct graph *g = graph_new();
	tid w = toy_param(g, "w", "4"), h, y, dw;
	g->cur_name = "first";
	g->cur_loc = (struct loc){ "n.yaml", 3, 1, 1 };
	h = EMIT(g, "multiply", w, w);
	g->cur_name = "second";
	g->cur_loc.line = 4;
	y = EMIT(g, "sum", h);
	g->cur_name = "outside";
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &w, &dw), 0);
	assert_string_equal(g->cur_name, "outside");
	assert_int_equal(g->cur_phase, PHASE_FORWARD);
	for (int i = 2; i < g->nnode; i++) {
		bool spread = !strcmp(g->node[i]->op->name, "spread");
		assert_string_equal(g->node[i]->name, spread ? "second" : "first");
		assert_int_equal(g->node[i]->loc.line, spread ? 4 : 3);
	}
	assert_string_equal(toy_producer(g, dw)->op->name, "add");   /* w * w: both sides */
	check_gradient(g, y, w, dw);
	graph_free(g);
}

static void test_missing_rule(void **state)
{
	struct graph *g = graph_new();
	tid w = toy_param(g, "w", "4"), y, dw = NONE;
	g->cur_name = "layer5";
	g->cur_loc = (struct loc){ "n.yaml", 12, 3, 4 };
	y = EMIT(g, "sum", EMIT(g, "hard", EMIT(g, "relu", w)));
	g->cur_loc = (struct loc){ 0 };
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &w, &dw), E_UNSUPPORTED);
	assert_int_equal(err_get(0)->loc.line, 12);
	assert_non_null(strstr(toy_error(), "'hard' has no gradient rule"));
	assert_non_null(strstr(toy_error(), "'layer5'"));
	assert_true(graph_t(g, w)->requires_grad);
	err_clear();
	/* a gradient that has no gradient says so */
	y = EMIT(g, "relu", w);
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &w, &dw), 0);
	y = EMIT(g, "sum", dw);
	assert_int_equal(autodiff(g, 1, &y, (tid[]){ NONE }, 1, &w, &dw), E_UNSUPPORTED);
	assert_non_null(
		strstr(toy_error(), "'relu_grad' in layer 'layer5' has no second derivative"));
	err_clear();
	graph_free(g);
}

/* Nothing flows through an output that does not carry gradient. */
static void test_saved(void **state)
{
	struct graph *g = graph_new();
	tid w = toy_param(g, "w", "3"), out[2], y, dw;
	assert_int_equal(graph_emit(g, "saved", NULL, 1, &w, 2, out), 0);
	assert_true(graph_t(g, out[0])->requires_grad && !graph_t(g, out[1])->requires_grad);
	y = EMIT(g, "sum", out[1]);
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &w, &dw), 0);
	assert_int_equal(dw, NONE);
	y = EMIT(g, "sum", EMIT(g, "multiply", out[0], out[1]));
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &w, &dw), 0);
	assert_int_equal(toy_producer(g, dw)->in[1], out[1]);        /* dy[1] was NONE */
	graph_free(g);
}

/* Several outputs, of which some reach y; several y, with and without given gradients. */
static void test_several(void **state)
{
	struct graph *g = graph_new();
	tid w = toy_param(g, "w", "3"), out[2], y[3], dy[3], dw, seed = toy_input(g, "seed", "3");
	assert_int_equal(graph_emit(g, "two", NULL, 1, &w, 2, out), 0);
	y[0] = EMIT(g, "sum", out[1]);
	assert_int_equal(autodiff(g, 1, y, NULL, 1, &w, &dw), 0);
	assert_string_equal(toy_producer(g, dw)->op->name, "spread");    /* dy[0] was NONE */
	y[1] = EMIT(g, "relu", out[0]);
	y[2] = EMIT(g, "metric", w);                     /* no gradient flows: not an error */
	dy[0] = NONE, dy[1] = seed, dy[2] = NONE;
	assert_int_equal(autodiff(g, 3, y, dy, 1, &w, &dw), 0);
	assert_string_equal(toy_producer(g, dw)->op->name, "multiply");
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	/* a vector y without dy: ones */
	assert_int_equal(autodiff(g, 1, &y[1], NULL, 1, &out[0], &dw), 0);
	assert_true(((struct fill_attr *)toy_producer(g, toy_producer(g, dw)->in[1])->attr)->value ==
	            1);
	/* the same y twice: the gradients add up */
	tid twice[2] = { y[0], y[0] };
	assert_int_equal(autodiff(g, 2, twice, NULL, 1, &out[1], &dw), 0);
	assert_string_equal(toy_producer(g, toy_producer(g, dw)->in[0])->op->name, "add");
	graph_free(g);
}

/* d/dw of sum((dy/dx)^2): the graph already holds backward nodes, and the new ones go on from
 * there. */
static void test_second(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "4"), w = toy_param(g, "w", "4"), y, dx, loss, d[2];
	y = EMIT(g, "multiply", EMIT(g, "multiply", EMIT(g, "multiply", x, x), x), w);   /* x^3 w */
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &x, &dx), 0);
	assert_true(graph_t(g, dx)->requires_grad);
	loss = EMIT(g, "sum", EMIT(g, "multiply", dx, dx));
	check_gradient(g, EMIT(g, "sum", y), x, dx);
	assert_int_equal(autodiff(g, 1, &loss, NULL, 2, (tid[]){ w, x }, d), 0);
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	check_gradient(g, loss, w, d[0]);
	check_gradient(g, loss, x, d[1]);
	graph_free(g);
}

/* One tensor used k times gets k - 1 adds, in the same order each time. */
static void test_order(void **state)
{
	uint64_t print[2];
	for (int run = 0; run < 2; run++) {
		struct graph *g = graph_new();
		tid w = toy_param(g, "w", "4"), y = w, dw;
		for (int i = 0; i < 10; i++)
			y = EMIT(g, "multiply", EMIT(g, "relu", y), w);
		y = EMIT(g, "sum", y);
		int adds = toy_count(g, "add");
		assert_int_equal(autodiff(g, 1, &y, NULL, 1, &w, &dw), 0);
		assert_int_equal(toy_count(g, "add") - adds, 10);
		print[run] = graph_fingerprint(g);
		graph_free(g);
	}
	assert_true(print[0] == print[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),  cmocka_unit_test(test_only_wanted),
		cmocka_unit_test(test_context), cmocka_unit_test(test_missing_rule),
		cmocka_unit_test(test_saved),   cmocka_unit_test(test_several),
		cmocka_unit_test(test_second),  cmocka_unit_test(test_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
