/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Graphs of real ops for tests of passes: emitting nodes, running passes with and without the one
 * that is tested, and what a graph computes. */
#ifndef DLX_TEST_OP_GRAPH_H
#define DLX_TEST_OP_GRAPH_H

#include <math.h>

#include "cases.h"
#include "backend/exec.h"
#include "base/err.h"
#include "base/mem.h"
#include "op/lib/random.h"
#include "pass/autodiff.h"
#include "pass/pass.h"

static inline tid op_emit(struct graph *g, const char *op, const void *attr, int nin, const tid *in)
{
	tid out;
	if (graph_emit1(g, op, attr, nin, in, &out) < 0)
		fail_msg("%s: %s", op, err_get(0)->text);
	return out;
}
/* n: a struct with a member g. */
#define EMIT(n, op, ...)                                                                     \
	op_emit((n)->g, op, NULL, (int)(sizeof(tid[]){ __VA_ARGS__ } / sizeof(tid)),             \
	        (tid[]){ __VA_ARGS__ })

/* value 0: random numbers. */
static inline tid op_param(struct graph *g, const char *name, const struct shape *s, double value)
{
	const struct init init = { value != 0 ? INIT_CONSTANT : INIT_NORMAL, value != 0 ? value : 1 };
	tid t;
	assert_int_equal(graph_param(g, name, DTYPE_F32, s, init, &t), 0);
	return t;
}

static inline int op_count(const struct graph *g, const char *op)
{
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		n += !strcmp(g->node[i]->op->name, op);
	return n;
}

/* The first n passes but the one of that name (NULL: all)
 * for a device, or for the CPU without one. */
static inline void op_passes(struct graph *g, struct device *dev, const struct pass *passes, int n,
                             const char *without)
{
	struct pass table[16];
	struct pass_env env = { .backend = dev ? dev->backend : BACKEND_CPU, .dev = dev,
		.plan = &plan_env_default };
	int at = 0;
	assert_true(n <= (int)(sizeof table / sizeof *table));
	for (int p = 0; p < n; p++)
		if (!without || strcmp(passes[p].name, without) != 0)
			table[at++] = passes[p];
	if (pass_run(g, table, at, &env) < 0)
		fail_msg("%s", err_get(err_count() - 1)->text);
}

/* What a test compares: y, then what it adds, such as the gradients. */
#define OP_RESULTS 64
struct op_results {
	tid t[OP_RESULTS];
	int n;
};

static inline void op_results_add(struct op_results *r, tid t)
{
	assert_true(r->n < OP_RESULTS);
	r->t[r->n++] = t;
}

/* Emits sum(y w), w a parameter of this name, and adds its gradients to all parameters. */
static inline void op_backward(struct graph *g, tid y, const char *weights, struct op_results *r)
{
	tid wrt[OP_RESULTS], dx[OP_RESULTS];
	int params = 0;
	tid w = op_param(g, weights, &graph_t(g, y)->shape, 0);
	tid product = op_emit(g, "multiply", NULL, 2, (tid[]){ y, w });
	tid loss = op_emit(g, "sum", NULL, 1, &product);
	for (tid t = 0; t < g->ntensor; t++)
		if (graph_t(g, t)->role == ROLE_PARAM) {
			assert_true(params < OP_RESULTS);
			wrt[params++] = t;
		}
	g->cur_phase = PHASE_BACKWARD;
	assert_int_equal(autodiff(g, 1, &loss, NULL, params, wrt, dx), 0);
	for (int k = 0; k < params; k++)
		if (dx[k] != NONE)
			op_results_add(r, dx[k]);
}

/* The results are outputs of the graph; states stay in the store, where the host reads them. */
static inline void op_results_output(struct graph *g, const struct op_results *r)
{
	for (int k = 0; k < r->n; k++)
		if (graph_t(g, r->t[k])->role == ROLE_ACTIVATION)
			graph_t(g, r->t[k])->output = true;
}

/* Passes leave a producer to each tensor that the host knows. */
static inline void op_results_made(const struct graph *g, const struct op_results *r)
{
	for (int k = 0; k < r->n; k++)
		assert_true(graph_t(g, r->t[k])->producer != NONE);
}

/* Compares a test network's n values with m, and frees both. */
static inline void op_assert_close(int network, double *a, int n, double *b, int m,
                                   double tolerance)
{
	assert_int_equal(n, m);
	for (int k = 0; k < n; k++)
		if (!(fabs(a[k] - b[k]) <= tolerance * (1 + fabs(a[k]))))
			fail_msg("network %d, value %d of %d: %g and %g", network, k, n, a[k], b[k]);
	free(a);
	free(b);
}

/* All phases of a graph that has been through its passes, once; the n tensors, one after another,
 * which the caller frees. In memory that begins as NaN. */
static inline double *op_values(struct graph *g, struct device *dev, const tid *t, int n,
                                int *count)
{
	struct exec *e;
	struct store *store = store_new(dev, 1);
	double *out = NULL;
	assert_int_equal(exec_new(&e, g, dev, &plan_env_default), 0);
	const size_t bytes = exec_arena_bytes(e) + EXEC_ARENA_SLACK;
	void *arena = mem_map(bytes);
	memset(arena, 0xFF, bytes);
	assert_int_equal(exec_bind(e, store, arena, NULL), 0);
	if (graph_find(g, RANDOM_KEY) != NONE)
		exec_write(e, graph_find(g, RANDOM_KEY), DTYPE_I64, (int64_t[]){ 5, 9, 2 });
	assert_int_equal(exec_run(e, ~0u), 0);
	*count = 0;
	for (int k = 0; k < n; k++) {
		const int size = (int)shape_count(&graph_t(g, t[k])->shape);
		out = realloc(out, sizeof *out * (size_t)(*count + size));
		exec_read(e, t[k], DTYPE_F64, out + *count);
		*count += size;
	}
	mem_unmap(arena, bytes);
	exec_free(e);
	store_free(store);
	return out;
}

/* These of a graph after its passes, but for `without`, on a device of its own; frees the graph. */
static inline double *op_values_after(struct graph *g, const char *device,
                                      const struct pass *passes, int npass, const char *without,
                                      const tid *t, int n, int *count)
{
	struct device *dev;
	assert_int_equal(device_open(&dev, device), 0);
	op_passes(g, dev, passes, npass, without);
	double *out = op_values(g, dev, t, n, count);
	graph_free(g);
	device_close(dev);
	return out;
}

/* The values of each test network without the pass and with it are this close. */
static inline void op_assert_pass(int networks, double *values(int i, const char *without, int *n),
                                  const char *pass, double tolerance)
{
	for (int i = 0; i < networks; i++) {
		int n, m;
		double *a = values(i, pass, &n), *b = values(i, NULL, &m);
		op_assert_close(i, a, n, b, m, tolerance);
	}
}

#endif
