/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nodes that update running statistics become one, but for those of another momentum, of another
 * way with what is not finite, or of another phase; what they make stays what it was. */
#include "op_graph.h"

#include "graph/verify.h"
#include "op/update/update.h"
#include "pass/pass.h"

#define NODES 6

static const struct {
	struct ema_update_attr attr;
	enum phase phase;
	int with;                    /* the first node that it is joined with */
} nodes[NODES] = {
	{ { .momentum = 0.1, .factor = 1 }, PHASE_FORWARD, 0 },
	{ { .momentum = 0.1, .factor = 1.25 }, PHASE_FORWARD, 0 },
	{ { .momentum = 0.3, .factor = 1 }, PHASE_FORWARD, 2 },
	{ { .momentum = 0.1, .factor = 1, .finite = true }, PHASE_FORWARD, 3 },
	{ { .momentum = 0.1, .factor = 1 }, PHASE_UPDATE, 4 },
	{ { .momentum = 0.1, .factor = 2 }, PHASE_FORWARD, 0 },
};

static struct graph *build(tid *running, tid *value, tid *out)
{
	struct graph *g = graph_new();
	for (int i = 0; i < NODES; i++) {
		char name[16];
		const struct shape s = { 1, { 8 + i } };
		snprintf(name, sizeof name, "r%d", i);
		assert_int_equal(graph_state(g, name, DTYPE_F32, &s, (struct init){ INIT_NORMAL, 1 },
		                             &running[i]), 0);
		snprintf(name, sizeof name, "x%d", i);
		value[i] = op_param(g, name, &s, 0);
		g->cur_phase = nodes[i].phase;
		out[i] = op_emit(g, "ema_update", &nodes[i].attr, 2, (tid[]){ running[i], value[i] });
	}
	graph_sort(g);
	return g;
}

static void test_joined(void **state)
{
	tid running[NODES], value[NODES], out[NODES];
	struct graph *g = build(running, value, out);
	assert_int_equal(pass_running_statistics(g, &(struct pass_env){ .backend = BACKEND_CUDA }), 0);
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	assert_int_equal(op_count(g, "ema_update"), 4);
	for (int i = 0; i < NODES; i++) {
		const struct node *n = g->node[graph_t(g, out[i])->producer];
		const struct ema_update_attr *at = n->attr;
		int k = 0;
		assert_ptr_equal(n, g->node[graph_t(g, out[nodes[i].with])->producer]);
		while (n->out[k] != out[i])
			k++;
		assert_true(k < n->nout);
		assert_int_equal(n->in[2 * k], running[i]);
		assert_int_equal(n->in[2 * k + 1], value[i]);
		assert_int_equal(graph_t(g, out[i])->alias, running[i]);
		assert_true((at->factors.n ? at->factors.v[k] : at->factor) == nodes[i].attr.factor);
		assert_true(at->momentum == nodes[i].attr.momentum);
		assert_int_equal(at->finite, nodes[i].attr.finite);
	}
	graph_free(g);
}

static void test_cpu(void **state)
{
	tid running[NODES], value[NODES], out[NODES];
	struct graph *g = build(running, value, out);
	assert_int_equal(pass_running_statistics(g, &(struct pass_env){ .backend = BACKEND_CPU }), 0);
	assert_int_equal(op_count(g, "ema_update"), NODES);
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_cpu),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
