/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that change places: the activation moves after the pooling, values and gradients stay
 * the same, and where it must not it does not. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "graph/verify.h"
#include "op/conv/conv.h"
#include "op/lib/window.h"
#include "pass/autodiff.h"
#include "pass/pass.h"
#include "op_run.h"

enum { N = 2, C = 3, SIDE = 6, INPUTS = N * C * SIDE * SIDE, WEIGHTS = C * C * 9 };

struct net {
	struct graph *g;
	tid x, w, act, y, dw;
};

enum around { PLAIN, READ_TWICE, KEPT, NORMALISED };

static tid emit(struct graph *g, const char *op, const void *attr, int nin, const tid *in)
{
	tid y = NONE;
	assert_int_equal(graph_emit1(g, op, attr, nin, in, &y), 0);
	return y;
}

static struct net build(const char *activation, enum around v, bool commute)
{
	const struct shape xs = { 4, { N, C, SIDE, SIDE } }, ws = { 4, { C, C, 3, 3 } };
	const int64_t one = 1, two = 2;
	const struct conv_attr conv = { .pad_lo = { 1, &one }, .pad_hi = { 1, &one }, .groups = 1 };
	const struct pool pool = { .kernel = { 1, &two } };
	struct pass_env env = { 0 };
	struct net n = { .g = graph_new() };
	tid loss, pooled[2];
	n.g->cur_name = "net";
	assert_int_equal(graph_input(n.g, "x", DTYPE_F32, &xs, &n.x), 0);
	assert_int_equal(graph_param(n.g, "w", DTYPE_F32, &ws, (struct init){ 0 }, &n.w), 0);
	n.act = emit(n.g, "conv", &conv, 2, (tid[]){ n.x, n.w });
	if (v == NORMALISED)
		n.act = emit(n.g, "add", NULL, 2, (tid[]){ n.act, n.x });
	n.act = emit(n.g, activation, NULL, 1, &n.act);
	graph_t(n.g, n.act)->output = v == KEPT;
	assert_int_equal(graph_emit(n.g, "max_pool", &pool, 1, &n.act, 2, pooled), 0);
	n.y = pooled[0];
	loss = emit(n.g, "square", NULL, 1, &n.y);
	loss = emit(n.g, "sum", NULL, 1, &loss);
	if (v == READ_TWICE)
		loss = emit(n.g, "add", NULL, 2, (tid[]){ loss, emit(n.g, "sum", NULL, 1, &n.act) });
	if (commute)
		assert_int_equal(pass_commute(n.g, &env), 0);
	assert_int_equal(graph_verify(n.g, STAGE_BUILT), 0);
	n.g->cur_phase = PHASE_BACKWARD;
	assert_int_equal(autodiff(n.g, 1, &loss, NULL, 1, &n.w, &n.dw), 0);
	assert_int_equal(graph_verify(n.g, STAGE_BUILT), 0);
	return n;
}

/* y, then the gradient of w. */
static void run(const struct net *n, double nan_at, double *y, double *dw)
{
	double x[INPUTS], w[WEIGHTS];
	struct op_run r;
	for (int i = 0; i < INPUTS; i++)
		x[i] = sin(i * 1.7 + 0.3) + (i == (int)nan_at ? NAN : 0);
	for (int i = 0; i < WEIGHTS; i++)
		w[i] = cos(i * 2.9 + 0.1);
	op_run_init(&r, n->g, BACKEND_REFERENCE, false);
	op_run_set(&r, n->x, x);
	op_run_set(&r, n->w, w);
	op_run_all(&r);
	op_run_get(&r, n->y, y);
	op_run_get(&r, n->dw, dw);
	op_run_release(&r);
}

static bool same(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fmax(fabs(a), 1);
}

static void check_values(const char *activation, double nan_at)
{
	double y[2][INPUTS / 4], dw[2][WEIGHTS];
	for (int k = 0; k < 2; k++) {
		struct net n = build(activation, PLAIN, k);
		assert_int_equal(graph_t(n.g, n.act)->shape.d[2], k ? SIDE / 2 : SIDE);
		run(&n, nan_at, y[k], dw[k]);
		graph_free(n.g);
	}
	for (int i = 0; i < INPUTS / 4; i++)
		assert_true(same(y[0][i], y[1][i]));
	for (int i = 0; i < WEIGHTS && nan_at < 0; i++)
		assert_true(same(dw[0][i], dw[1][i]));
}

static void test_values(void **state)
{
	check_values("relu", -1);
	check_values("leaky_relu", -1);
	check_values("relu", 7);
	check_values("leaky_relu", 40);
}

/* Read twice, read by the host, after what it becomes one kernel with; another activation. */
static void test_stays(void **state)
{
	for (int v = PLAIN; v <= NORMALISED; v++) {
		struct net n = build(v == PLAIN ? "tanh" : "relu", (enum around)v, true);
		assert_int_equal(graph_t(n.g, n.act)->shape.d[2], SIDE);
		graph_free(n.g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
