/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass that chooses element types, on graphs built by hand. */
#include "cases.h"
#include "backend/plan_env.h"
#include "base/err.h"
#include "graph/verify.h"
#include "op/lib/emit.h"
#include "op/normalize_input.h"
#include "pass/autodiff.h"
#include "pass/pass.h"

static const struct plan_env half = { .compute = DTYPE_BF16 };

static struct graph *g;
static tid x, w1, w2, c1, r1, c2, loss, dw1, dw2;

static void ok(int rc)
{
	if (rc < 0)
		fail_msg("%s", err_count() ? err_get(0)->text : "failed");
}

static tid conv(tid in, const char *name, tid *w)
{
	const int64_t d[] = { 3, 3, 1, 1 };
	const struct shape s = shape_of(4, d);
	tid out;
	ok(graph_param(g, name, DTYPE_F32, &s, (struct init){ INIT_NORMAL, 1 }, w));
	ok(graph_emit1(g, "conv", NULL, 2, (tid[]){ in, *w }, &out));
	return out;
}

/* conv, relu, conv, mean, with gradients. */
static void build(void)
{
	const int64_t d[] = { 2, 3, 4, 4 };
	const struct shape s = shape_of(4, d);
	tid grad[2];
	g = graph_new();
	g->cur_name = "test";
	ok(graph_input(g, "x", DTYPE_F32, &s, &x));
	c1 = conv(x, "w1", &w1);
	ok(emit_unary(g, "relu", c1, &r1));
	c2 = conv(r1, "w2", &w2);
	ok(emit_sum(g, c2, 15, false, &loss));
	graph_t(g, loss)->output = true;
	ok(autodiff(g, 1, &loss, (tid[]){ NONE }, 2, (tid[]){ w1, w2 }, grad));
	dw1 = grad[0];
	dw2 = grad[1];
}

static int count(const char *op)
{
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		n += strcmp(g->node[i]->op->name, op) == 0;
	return n;
}

static enum dtype type(tid t)
{
	return graph_t(g, t)->dtype;
}

static void run(const struct plan_env *how)
{
	struct pass_env env = { .backend = BACKEND_CPU, .plan = how };
	ok(pass_precision(g, &env));
	ok(graph_verify(g, STAGE_BUILT));
}

static void nothing_without_it(void **state)
{
	build();
	run(&plan_env_default);
	assert_int_equal(count("cast"), 0);
	graph_free(g);
}

/* Between the convolutions all is bf16; their ends, weights and gradients of weights are not. */
static void between_convolutions(void **state)
{
	build();
	run(&half);
	assert_int_equal(type(c1), DTYPE_BF16);
	assert_int_equal(type(r1), DTYPE_BF16);
	const tid full[] = { x, w1, w2, c2, loss, dw1, dw2 };
	for (size_t i = 0; i < sizeof full / sizeof *full; i++)
		assert_int_equal(type(full[i]), DTYPE_F32);
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		if (strncmp(n->op->name, "conv", 4) != 0)
			continue;
		assert_int_equal(type(n->in[0]), DTYPE_BF16);
		assert_int_equal(type(n->in[1]), DTYPE_BF16);
	}
	/* x, w1, w2 and the gradient of c2, each once although read by several */
	assert_int_equal(count("cast"), 4);
	graph_free(g);
}

/* The gradient of a constant result is made in f32; what leads nowhere stays as it is. */
static void ends_stay(void **state)
{
	tid end;
	build();
	ok(emit_unary(g, "tanh", c1, &end));
	graph_t(g, end)->output = true;
	run(&half);
	assert_int_equal(type(c1), DTYPE_BF16);
	assert_int_equal(type(end), DTYPE_F32);      /* read as bf16, written as f32 */
	graph_free(g);
}

/* Rows that are copied are of one type: a forward concat of
 * a bf16 and an f32 tensor that leads on. */
static void copies_are_alike(void **state)
{
	tid in[2], both, w, y;
	build();
	in[0] = r1;
	in[1] = x;
	ok(graph_emit1(g, "concat", NULL, 2, in, &both));
	const int64_t d[] = { 3, 6, 1, 1 };
	const struct shape s = shape_of(4, d);
	ok(graph_param(g, "w", DTYPE_F32, &s, (struct init){ INIT_NORMAL, 1 }, &w));
	ok(graph_emit1(g, "conv", NULL, 2, (tid[]){ both, w }, &y));
	for (int i = 0; i < g->nnode; i++)
		g->node[i]->phase = PHASE_FORWARD;
	graph_t(g, y)->output = true;
	run(&half);
	assert_int_equal(type(both), DTYPE_BF16);
	assert_int_equal(type(y), DTYPE_F32);
	const struct node *n = g->node[graph_t(g, both)->producer];
	assert_int_equal(type(n->in[0]), DTYPE_BF16);
	assert_int_equal(type(n->in[1]), DTYPE_BF16);
	assert_int_equal(count("cast"), 5);          /* x is cast once for all */
	graph_free(g);
}

/* What is stored becomes what the first convolution reads,
 * without a cast; x itself stays as it is. */
static void made_as_wanted(void **state)
{
	static const enum dtype stored[] = { DTYPE_F32, DTYPE_U8, DTYPE_BF16, DTYPE_F16 };
	const int64_t d[] = { 2, 3, 4, 4 };
	const struct shape s = shape_of(4, d);
	const float table[9] = { 1, 2, 3, 1, 1, 1 };
	for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
		tid y, unread;
		g = graph_new();
		g->cur_name = "test";
		ok(graph_input(g, "x", stored[i], &s, &x));
		ok(emit_normalize_input(g, x, -1, 1, table, &y));
		ok(emit_normalize_input(g, x, -1, 0, NULL, &unread));
		c1 = conv(y, "w1", &w1);
		graph_t(g, c1)->output = graph_t(g, unread)->output = true;
		run(&half);
		assert_int_equal(type(x), stored[i]);
		assert_int_equal(type(y), DTYPE_BF16);
		assert_int_equal(type(unread), DTYPE_F32);
		assert_int_equal(count("cast"), 1);          /* of w1 */
		graph_free(g);
	}
}

/* The verifier refuses bf16 where a kernel does not take it, once layouts say for which device. */
static void verifier_refuses(void **state)
{
	build();
	run(&half);
	g->backend = BACKEND_CPU;
	for (tid t = 0; t < g->ntensor; t++)
		graph_t(g, t)->layout = layout_plain(&graph_t(g, t)->shape);
	assert_int_equal(graph_verify(g, STAGE_LAID_OUT), 0);
	graph_t(g, dw1)->dtype = DTYPE_BF16;
	assert_int_equal(graph_verify(g, STAGE_LAID_OUT), E_BUG);
	assert_non_null(strstr(err_get(0)->text, "16 bits"));
	err_clear();
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_without_it),
		cmocka_unit_test(between_convolutions),
		cmocka_unit_test(ends_stay),
		cmocka_unit_test(copies_are_alike),
		cmocka_unit_test(verifier_refuses),
		cmocka_unit_test(made_as_wanted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
