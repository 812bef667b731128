/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The op is compiled as in a network, with channels-last inputs if they have channels, so it gets
 * the same kernel and layouts. Nodes that convert inputs to the kernel's layouts run too, but their
 * time is not counted. */
#include "train/diagnose/bench.h"

#include <stdlib.h>
#include <string.h>

#include "backend/bf16_ratio.h"
#include "backend/exec.h"
#include "backend/node_time.h"
#include "base/err.h"
#include "base/log.h"
#include "base/suggest.h"
#include "op/lib/sample.h"
#include "pass/pass.h"

#define SECONDS  0.5      /* of the op itself, about */
#define MIN_RUNS 5
#define MAX_RUNS 1000

/* --- what to time --- */

static const struct op *find_op(const char *name)
{
	const char *names[256];
	const struct op *op = op_find(name);
	int n = 0;
	for (const struct op *o; !op && n < 255 && (o = op_at(n)) != NULL; n++)
		names[n] = o->name;
	names[n] = NULL;
	const char *near = op ? NULL : did_you_mean(name, names);
	if (!op)
		ERR(E_USAGE, NULL, "'--bench-op=%s': there is no such op%s%s%s; see --list-ops", name,
		    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return op;
}

static int check_sample(const struct op *op, const char *sample)
{
	if (op->flags & OP_VIEW)
		return ERR(E_USAGE, NULL, "'%s' is another view of its input: nothing runs", op->name);
	if (!sample)
		return ERR(E_USAGE,
		           NULL, "'--bench-op=%s' needs a sample of inputs and attributes, such as '%s'",
		           op->name, op->samples[0]);
	return 0;
}

static int choose_type(struct plan_env *e, const struct device *d, const char *name)
{
	int type = name ? dtype_find(name) : DTYPE_F32;
	if (type != DTYPE_F32 && type != DTYPE_BF16 && type != DTYPE_F64)
		return ERR(E_USAGE, NULL, "'--compute=%s': expected f32, bf16 or f64", name);
	if (type == DTYPE_F64 && !backend_is_double(d->backend))
		return ERR(E_USAGE, NULL, "'--compute=f64': device '%s' does not compute in f64", d->name);
	*e = plan_env_default;
	e->compute = (enum dtype)type;
	TRY(plan_env_check(e, d, true));
	e->bf16_ratio = type == DTYPE_BF16 ? bf16_ratio_find(d).class : 0;
	return 0;
}

/* --- the op, ready to run --- */

struct trial {
	struct sample s;
	struct device *dev;
	struct plan_env env;
	struct exec *exec;
	struct store *store;
	void *arena;
	size_t arena_bytes;
	const struct node *node;
};

static void trial_release(struct trial *t)
{
	exec_free(t->exec);
	store_free(t->store);
	if (t->arena)
		device_free(t->dev, t->arena, t->arena_bytes);
	if (t->s.g)
		sample_release(&t->s);
	device_close(t->dev);
}

static const struct pass passes[] = {
	{ "precision", "", pass_precision, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};

static void prepare(struct graph *g, const struct node *n)
{
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE)
			graph_t(g, n->out[i])->output = true;
	for (tid i = 0; i < g->ntensor; i++) {
		struct tensor *x = graph_t(g, i);
		if (x->role == ROLE_INPUT && x->shape.nd >= 3)
			x->layout = layout_native(&x->shape);
	}
}

static int compile(struct trial *t, const struct op *op, const char *text)
{
	TRYC(sample_build(&t->s, op, text, 1), "in the sample '%s'; one of %s is '%s'", text, op->name,
	     op->samples[0]);
	struct graph *g = t->s.g;
	struct pass_env env = { .backend = t->dev->backend, .dev = t->dev, .plan = &t->env };
	prepare(g, t->s.node);
	TRY(pass_run(g, passes, 3, &env));
	TRY(exec_new(&t->exec, g, t->dev, &t->env));
	for (int i = 0; i < g->nnode; i++)
		t->node = g->node[i]->op == op ? g->node[i] : t->node;
	t->store = store_new(t->dev, 1);
	t->arena_bytes = exec_arena_bytes(t->exec) + EXEC_ARENA_SLACK;
	t->arena = device_alloc(t->dev, t->arena_bytes);
	if (!t->arena)
		return ERR(E_NOMEM, NULL, "no memory for the sample: %zu bytes", t->arena_bytes);
	return exec_bind(t->exec, t->store, t->arena, NULL);
}

static int set_inputs(struct trial *t)
{
	for (int i = 0; i < t->s.nin; i++) {
		if (t->s.in[i] == NONE)
			continue;
		const struct tensor *x = graph_t(t->s.g, t->s.in[i]);
		if (x->role == ROLE_INPUT)
			TRY(exec_write(t->exec, t->s.in[i], DTYPE_F64, t->s.value[i]));
		else
			TRY(store_set(store_find(t->store, x->name), DTYPE_F64, t->s.value[i]));
	}
	return 0;
}

/* --- times --- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sorted times of *n runs after one that is not counted. */
static int time_runs(struct trial *t, double *seconds, int *n)
{
	double sum = 0;
	TRY(set_inputs(t));
	TRY(exec_run(t->exec, ~0u));
	for (*n = 0; *n < MIN_RUNS || (*n < MAX_RUNS && sum < SECONDS); ++*n) {
		exec_profile(t->exec, true);
		TRY(exec_run(t->exec, ~0u));
		seconds[*n] = exec_profile_seconds(t->exec)[t->node->id];
		sum += seconds[*n];
	}
	qsort(seconds, (size_t)*n, sizeof *seconds, by_value);
	return 0;
}

static void print(const struct trial *t, const char *text, const double *seconds, int n,
                  struct buf *out)
{
	const char *impl = exec_impl(t->exec, t->node->id);
	struct cost c = op_cost(t->s.g, t->node);
	const struct node_rates rates = node_rates_ceilings(t->dev, &t->env);
	double median = seconds[n / 2], bound = node_seconds(&rates, t->s.g, t->node);
	const char *type = dtype_name(t->env.compute);
	buf_printf(out, "{\"op\": \"%s\", \"sample\": ", t->node->op->name);
	buf_json_string(out, text);
	buf_printf(out, ", \"compute\": \"%s\", \"kernel\": ", type);
	buf_json_string(out, impl ? impl : "");
	buf_printf(out, ", \"seconds\": %.9f, \"min\": %.9f, \"max\": %.9f, \"runs\": %d, "
	           "\"flops\": %.0f, \"bytes\": %.0f, "
	           "\"bound\": %.9f}\n", median, seconds[0], seconds[n - 1], n, c.flops,
	           c.bytes, bound);
	note("%s %s %s: %.4g ms, %.4g GFLOP/s, %.4g GB/s, %.0f %% of its roofline%s%s",
	     t->node->op->name, text, type, 1e3 * median, c.flops / median / 1e9,
	     c.bytes / median / 1e9, 100 * bound / median, impl ? ", " : "", impl ? impl : "");
}

int bench_op(const struct bench_op_options *o, struct buf *out)
{
	struct trial t = { 0 };
	const struct op *op = find_op(o->op);
	double seconds[MAX_RUNS];
	int n;
	if (!op)
		return E_USAGE;
	TRY(check_sample(op, o->sample));
	const char *device = o->device ? o->device : "auto";
	const bool on_cpu = strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0;
	if (on_cpu && o->compute && strcmp(o->compute, dtype_name(DTYPE_F64)) == 0)
		device = DEVICE_DOUBLE;
	int rc = device_open(&t.dev, device);
	if (rc == 0)
		rc = choose_type(&t.env, t.dev, o->compute);
	if (rc == 0)
		rc = compile(&t, op, o->sample);
	if (rc == 0)
		rc = time_runs(&t, seconds, &n);
	if (rc == 0)
		print(&t, o->sample, seconds, n, out);
	trial_release(&t);
	return rc;
}
