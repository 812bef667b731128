/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loss with its gradient as one node, across phases: every way in which the two can meet, the
 * same bits as apart, also with smoothing, and a weight that others read too. */
#include "op_graph.h"

#include "op/loss/loss.h"
#include "op/loss/mean.h"
#include "pass/autodiff.h"
#include "pass/pass.h"

enum { SEEDED = 1, SCALED = 2, WEIGHTS = 4, VARIANTS = 8 };

#define CLASSES 5

struct net {
	struct graph *g;
	tid result[4];               /* loss, weight, what is made of it, gradient */
};

static tid number(struct graph *g, double v)
{
	return graph_scalar(g, v);
}

static struct net build(int variant, const struct loss_attr *at)
{
	struct net n = { .g = graph_new() };
	const struct shape x = { 4, { 2, CLASSES, 6, 7 } }, y = { 3, { 2, 6, 7 } },
	                   c = { 1, { CLASSES } };
	const float weight[CLASSES] = { 1, 0.5f, 2, 0.25f, 3 };
	int32_t label[2 * 6 * 7];
	tid in[3], out[3], seed = NONE, p;
	for (int i = 0; i < 2 * 6 * 7; i++)
		label[i] = i % 7 == 3 ? 255 : i * 5 % 11 % CLASSES;
	n.g->cur_name = "loss";
	assert_int_equal(graph_param(n.g, "x", DTYPE_F32, &x, (struct init){ INIT_NORMAL, 1 }, &p), 0);
	in[0] = op_emit(n.g, "tanh", NULL, 1, &p);
	in[1] = graph_constant(n.g, DTYPE_I32, &y, label);
	in[2] = graph_constant(n.g, DTYPE_F32, &c, weight);
	assert_int_equal(graph_emit(n.g, "softmax_cross_entropy", at, variant & WEIGHTS ? 3 : 2, in, 3,
	                            out), 0);
	n.result[0] = out[0];
	n.result[1] = out[1];
	n.result[2] = op_emit(n.g, "square", NULL, 1, &out[1]);
	if (variant & SEEDED) {
		const struct mean_attr m = { 64, at->reduction == LOSS_SUM };
		seed = op_emit(n.g, "mean_seed", &m, variant & SCALED ? 3 : 2,
		            (tid[]){ out[1], number(n.g, 0.75), number(n.g, 1024) });
	} else if (variant & SCALED) {
		seed = number(n.g, 1024);
	}
	assert_int_equal(autodiff(n.g, 1, out, seed == NONE ? NULL : &seed, 1, &p, &n.result[3]), 0);
	for (int i = 0; i < 4; i++)
		graph_t(n.g, n.result[i])->output = true;
	return n;
}

static const struct pass passes[] = {
	{ "fold", "", pass_fold, STAGE_BUILT },   { "dce", "", pass_dce, STAGE_BUILT },
	{ "fuse", "", pass_fuse, STAGE_BUILT },   { "precision", "", pass_precision, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT }, { "sched", "", pass_sched, STAGE_LAID_OUT },
};
#define NPASSES ((int)(sizeof passes / sizeof *passes))
#define BUILT 3                  /* the others take a device */


/* All results, one after the other. */
static double *run(int variant, const struct loss_attr *at, bool fuse, int *size)
{
	struct net n = build(variant, at);
	struct device *dev;
	double *v;
	assert_int_equal(device_open(&dev, "cpu"), 0);
	op_passes(n.g, dev, passes, NPASSES, fuse ? NULL : "fuse");
	assert_int_equal(op_count(n.g, "softmax_cross_entropy_with_grad"), fuse);
	assert_int_equal(op_count(n.g, "softmax_cross_entropy") + op_count(n.g, "mean_seed") > 0,
	                 !fuse);
	for (int i = 0; i < n.g->nnode; i++)
		if (!strcmp(n.g->node[i]->op->name, "softmax_cross_entropy_with_grad"))
			assert_int_equal(n.g->node[i]->phase, PHASE_FORWARD);
	v = op_values(n.g, dev, n.result, 4, size);
	graph_free(n.g);
	device_close(dev);
	return v;
}

static void test_bits(void **state)
{
	for (int variant = 0; variant < VARIANTS; variant++)
		for (int reduction = LOSS_MEAN; reduction <= LOSS_SUM; reduction++) {
			const struct loss_attr at = { .ignore = 255, .reduction = reduction, .scale = 0.3,
				.gamma = variant & 1 ? 2 : 0, .smoothing = variant % 4 == 2 ? 0.2 : 0,
				.nominal = 1 };
			int n, m;
			double *a = run(variant, &at, false, &n), *b = run(variant, &at, true, &m);
			assert_int_equal(n, m);
			assert_memory_equal(a, b, sizeof *a * (size_t)n);
			assert_true(a[0] > 0 && a[1] > 0);
			free(a);
			free(b);
		}
}

/* A tensor that would no longer be made has a reader. */
static void test_apart(void **state)
{
	const struct loss_attr at = { .ignore = 255, .scale = 1, .nominal = 1 };
	struct net n = build(0, &at);
	for (int i = 0; i < n.g->nnode; i++)
		if (!strcmp(n.g->node[i]->op->name, "softmax_cross_entropy"))
			graph_t(n.g, n.g->node[i]->out[2])->output = true;
	op_passes(n.g, NULL, passes, BUILT, NULL);
	assert_int_equal(op_count(n.g, "softmax_cross_entropy_with_grad"), 0);
	graph_free(n.g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_apart),
	};
	return cmocka_run_group_tests_name("fuse_loss", tests, NULL, NULL);
}
