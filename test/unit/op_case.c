/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One op on one device with values given by the test. */
#include "op_case.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "pass/autodiff.h"
#include "pass/pass.h"

static const struct pass passes[] = {
	{ "precision", "", pass_precision, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};

static void prepare(struct op_run *r, bool channels_last)
{
	struct graph *g = r->s.g;
	const struct node *n = r->s.node;
	r->dx = NONE;
	for (int i = 0; i < n->nout; i++)
		graph_t(g, n->out[i])->output = true;
	if (n->op->grad && graph_t(g, r->s.in[0])->requires_grad) {
		assert_int_equal(autodiff(g, 1, &n->out[0], NULL, 1, &r->s.in[0], &r->dx), 0);
		graph_t(g, r->dx)->output = true;
	}
	for (tid i = 0; channels_last && i < g->ntensor; i++)
		if (graph_t(g, i)->role == ROLE_INPUT && graph_t(g, i)->shape.nd >= 3)
			graph_t(g, i)->layout = layout_native(&graph_t(g, i)->shape);
}

void op_run_init(struct op_run *r, const char *dev, const char *op, const char *text,
                 bool channels_last)
{
	memset(r, 0, sizeof *r);
	assert_int_equal(device_open(&r->dev, dev), 0);
	assert_int_equal(sample_build(&r->s, op_find(op), text, 1), 0);
	prepare(r, channels_last && r->dev->backend != BACKEND_REFERENCE);
	struct pass_env env = { .backend = r->dev->backend, .dev = r->dev, .plan = &plan_env_default };
	assert_int_equal(pass_run(r->s.g, passes, 3, &env), 0);
	assert_int_equal(exec_new(&r->exec, r->s.g, r->dev, &plan_env_default), 0);
	r->store = store_new(r->dev, 1);
	r->arena = mem_map(exec_arena_bytes(r->exec) + EXEC_ARENA_SLACK);
	assert_non_null(r->arena);
	assert_int_equal(exec_bind(r->exec, r->store, r->arena, NULL), 0);
}

void op_run_release(struct op_run *r)
{
	size_t bytes = exec_arena_bytes(r->exec) + EXEC_ARENA_SLACK;
	exec_free(r->exec);
	store_free(r->store);
	mem_unmap(r->arena, bytes);
	sample_release(&r->s);
	device_close(r->dev);
	err_clear();
}

void op_run_set(struct op_run *r, int input, const double *values)
{
	int64_t n = shape_count(&graph_t(r->s.g, r->s.in[input])->shape);
	memcpy(r->s.value[input], values, sizeof *values * (size_t)n);
}

int op_run_go(struct op_run *r)
{
	memset(r->arena, 0xff, exec_arena_bytes(r->exec));
	for (int i = 0; i < r->s.nin; i++)
		if (r->s.in[i] != NONE)
			exec_write(r->exec, r->s.in[i], DTYPE_F64, r->s.value[i]);
	return exec_run(r->exec, ~0u);
}

static double *read_tensor(struct op_run *r, tid t)
{
	double *v = arena_alloc(r->s.g->arena,
	                        sizeof *v * (size_t)shape_count(&graph_t(r->s.g, t)->shape));
	exec_read(r->exec, t, DTYPE_F64, v);
	return v;
}

double *op_run_out(struct op_run *r, int i)
{
	return read_tensor(r, r->s.node->out[i]);
}

double *op_run_gradient(struct op_run *r)
{
	assert_int_not_equal(r->dx, NONE);
	return read_tensor(r, r->dx);
}

void assert_close(const double *have, const double *want, int n, double tolerance)
{
	double scale = 0;
	for (int i = 0; i < n; i++)
		scale = fmax(scale, fabs(want[i]));
	for (int i = 0; i < n; i++)
		if (!(fabs(have[i] - want[i]) <= tolerance * scale))
			fail_msg("value %d of %d is %.9g, expected %.9g", i, n, have[i], want[i]);
}

const char *error_text(void)
{
	return err_count() ? err_get(err_count() - 1)->text : "";
}

void assert_refused(const char *op, const char *text, int code)
{
	struct sample s;
	err_clear();
	assert_int_equal(sample_build(&s, op_find(op), text, 1), code);
	sample_release(&s);
}
