/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loss with its gradient as one node, across phases: every way in which the two can meet, the same
 * bits as apart, and a weight that others read too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after those four */
#include <cmocka.h>

#include "backend/exec.h"
#include "base/err.h"
#include "base/mem.h"
#include "graph/autodiff.h"
#include "graph/pass.h"
#include "op/loss.h"
#include "op/mean.h"
#include "op/precision.h"

enum { SEEDED = 1, SCALED = 2, WEIGHTS = 4, VARIANTS = 8 };

#define CLASSES 5

struct net {
	struct graph *g;
	tid result[4];               /* loss, weight, what is made of it, gradient */
};

static tid emit(struct graph *g, const char *op, const void *attr, int nin, const tid *in)
{
	tid out;

	if (graph_emit1(g, op, attr, nin, in, &out) < 0)
		fail_msg("%s: %s", op, err_get(0)->text);
	return out;
}

static tid number(struct graph *g, double v)
{
	return graph_scalar(g, v);
}

static struct net build(int variant, const struct loss_attr *at)
{
	struct net n = { .g = graph_new() };
	const struct shape x = { 4, { 2, CLASSES, 6, 7 } }, y = { 3, { 2, 6, 7 } }, c = { 1, { CLASSES } };
	const float weight[CLASSES] = { 1, 0.5f, 2, 0.25f, 3 };
	int32_t label[2 * 6 * 7];
	tid in[3], out[3], seed = NONE, p;

	for (int i = 0; i < 2 * 6 * 7; i++)
		label[i] = i % 7 == 3 ? 255 : i * 5 % 11 % CLASSES;
	n.g->cur_name = "loss";
	assert_int_equal(graph_param(n.g, "x", DTYPE_F32, &x, (struct init){ INIT_NORMAL, 1 }, &p), 0);
	in[0] = emit(n.g, "tanh", NULL, 1, &p);
	in[1] = graph_constant(n.g, DTYPE_I32, &y, label);
	in[2] = graph_constant(n.g, DTYPE_F32, &c, weight);
	assert_int_equal(graph_emit(n.g, "softmax_cross_entropy", at, variant & WEIGHTS ? 3 : 2, in, 3, out), 0);
	n.result[0] = out[0];
	n.result[1] = out[1];
	n.result[2] = emit(n.g, "square", NULL, 1, &out[1]);
	if (variant & SEEDED) {
		const struct mean_attr m = { 64, at->reduction == LOSS_SUM };
		seed = emit(n.g, "mean_seed", &m, variant & SCALED ? 3 : 2,
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

static void run_passes(struct graph *g, struct device *dev, bool fuse)
{
	struct pass table[6];
	struct pass_env env = { .backend = BACKEND_CPU, .dev = dev };
	int at = 0;

	for (int p = 0; p < (dev ? 6 : 3); p++)           /* the others take a device */
		if (fuse || passes[p].run != pass_fuse)
			table[at++] = passes[p];
	if (pass_run(g, table, at, &env) < 0)
		fail_msg("%s", err_get(err_count() - 1)->text);
}

static int count(const struct graph *g, const char *op)
{
	int n = 0;

	for (int i = 0; i < g->nnode; i++)
		n += !strcmp(g->node[i]->op->name, op);
	return n;
}

/* All results, one after the other. */
static int64_t run(int variant, const struct loss_attr *at, bool fuse, float *v)
{
	struct net n = build(variant, at);
	struct device *dev;
	struct exec *e;
	struct store *store;
	int64_t size = 0;

	assert_int_equal(device_open(&dev, "cpu"), 0);
	run_passes(n.g, dev, fuse);
	assert_int_equal(count(n.g, "softmax_cross_entropy_with_grad"), fuse);
	assert_int_equal(count(n.g, "softmax_cross_entropy") + count(n.g, "mean_seed") > 0, !fuse);
	for (int i = 0; i < n.g->nnode; i++)
		if (!strcmp(n.g->node[i]->op->name, "softmax_cross_entropy_with_grad"))
			assert_int_equal(n.g->node[i]->phase, PHASE_FORWARD);
	assert_int_equal(exec_new(&e, n.g, dev), 0);
	store = store_new(dev, 1);
	size_t bytes = exec_arena_bytes(e) + 64;
	void *arena = mem_map(bytes);
	memset(arena, 0xFF, bytes);
	assert_int_equal(exec_bind(e, store, arena), 0);
	assert_int_equal(exec_run(e, ~0u), 0);
	for (int i = 0; i < 4; i++) {
		exec_read(e, n.result[i], DTYPE_F32, v + size);
		size += shape_count(&graph_t(n.g, n.result[i])->shape);
	}
	mem_unmap(arena, bytes);
	exec_free(e);
	store_free(store);
	graph_free(n.g);
	device_close(dev);
	return size;
}

static void test_bits(void **state)
{
	static float a[4096], b[4096];

	for (int variant = 0; variant < VARIANTS; variant++)
		for (int reduction = LOSS_MEAN; reduction <= LOSS_SUM; reduction++) {
			const struct loss_attr at = { 255, reduction, 0.3, variant & 1 ? 2 : 0, 1, false };
			int64_t n = run(variant, &at, false, a), m = run(variant, &at, true, b);
			assert_int_equal(n, m);
			assert_memory_equal(a, b, sizeof *a * (size_t)n);
			assert_true(a[0] > 0 && a[1] > 0);
		}
}

/* Somebody reads what would no longer be made. */
static void test_apart(void **state)
{
	const struct loss_attr at = { 255, LOSS_MEAN, 1, 0, 1, false };
	struct net n = build(0, &at);

	for (int i = 0; i < n.g->nnode; i++)
		if (!strcmp(n.g->node[i]->op->name, "softmax_cross_entropy"))
			graph_t(n.g, n.g->node[i]->out[2])->output = true;
	run_passes(n.g, NULL, true);
	assert_int_equal(count(n.g, "softmax_cross_entropy_with_grad"), 0);
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
