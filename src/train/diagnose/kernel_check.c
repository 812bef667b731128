/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/diagnose/kernel_check.h"

#include <math.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/attr.h"
#include "pass/pass.h"

/* Multiply-adds, of which the reference device makes one in 2 to 4 ns, on one thread (Xeon,
 * 2.5 GHz): in about a minute, while other ranks wait. */
#define MOST_WORK 2e10
/* Products of three inputs below it and 2^60 of their sums are below what float32 has. */
#define MODERATE 1e6

/* The node in a graph of its own. */
struct lone_node {
	struct graph *g;
	struct device *dev;
	struct exec *exec;
	struct store *store;
	void *arena;
	size_t arena_bytes;
	tid *in, *out;
};

static void release(struct lone_node *l)
{
	exec_free(l->exec);
	store_free(l->store);
	mem_unmap(l->arena, l->arena_bytes);
	graph_free(l->g);
	device_close(l->dev);
}

static int add_inputs(struct lone_node *l, const struct graph *from, const struct node *n)
{
	for (int i = 0; i < n->nin; i++) {
		char name[16];
		const struct tensor *x = n->in[i] == NONE ? NULL : graph_t(from, n->in[i]);
		snprintf(name, sizeof name, "in%d", i);
		l->in[i] = NONE;
		if (x)
			TRY(graph_input(l->g, name, dtype_is_float(x->dtype) ? DTYPE_F32 : x->dtype, &x->shape,
			                &l->in[i]));
	}
	return 0;
}

static int build(struct lone_node *l, const struct graph *from, const struct node *n, int out)
{
	static const struct pass passes[] = {
		{ "precision", "", pass_precision, STAGE_BUILT },
		{ "layout", "", pass_layout, STAGE_LAID_OUT },
		{ "sched", "", pass_sched, STAGE_LAID_OUT },
	};
	l->g = graph_new();
	l->g->cur_name = "check";
	l->in = ARENA_ARRAY(l->g->arena, tid, n->nin + 1);
	l->out = ARENA_ARRAY(l->g->arena, tid, n->nout + 1);
	TRY(device_open(&l->dev, "reference"));
	TRY(add_inputs(l, from, n));
	TRY(graph_emit(l->g, n->op->name, n->attr, n->nin, l->in, n->nout, l->out));
	graph_t(l->g, l->out[out])->output = true;
	struct pass_env env = { .backend = BACKEND_REFERENCE, .dev = l->dev,
	                        .plan = &plan_env_default };
	TRY(pass_run(l->g, passes, 3, &env));
	TRY(exec_new(&l->exec, l->g, l->dev, &plan_env_default));
	l->store = store_new(l->dev, 1);
	l->arena_bytes = exec_arena_bytes(l->exec) + EXEC_ARENA_SLACK;
	l->arena = mem_map(l->arena_bytes);
	if (!l->arena)
		return ERR(E_NOMEM, NULL, "no memory to check a kernel");
	return exec_bind(l->exec, l->store, l->arena, NULL);
}

/* Hands over input i, of which *most becomes the largest magnitude if it is larger. */
static int feed_input(struct lone_node *l, const struct plan *p, tid t, int i,
                      const struct overwritten *o, double *most)
{
	const int64_t n = shape_count(&graph_t(p->g, t)->shape);
	double *v = o->v && o->in == i ? o->v : mem_alloc((size_t)n * sizeof *v);
	int rc = v == o->v ? 0 : exec_read(p->exec, t, DTYPE_F64, v);
	for (int64_t k = 0; k < n && rc == 0; k++)
		*most = fmax(*most, fabs(v[k]));
	if (rc == 0)
		rc = exec_write(l->exec, l->in[i], DTYPE_F64, v);
	if (v != o->v)
		mem_free(v);
	return rc;
}

/* *v: the output in float64. */
static int make_again(struct lone_node *l, const struct plan *p, const struct node *n, int out,
                      const struct overwritten *o, double *most, double **v)
{
	const int64_t count = shape_count(&graph_t(p->g, n->out[out])->shape);
	TRY(build(l, p->g, n, out));
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE)
			TRY(feed_input(l, p, n->in[i], i, o, most));
	TRY(exec_run(l->exec, ~0u));
	*v = mem_alloc((size_t)count * sizeof **v);
	return exec_read(l->exec, l->out[out], DTYPE_F64, *v);
}

/* Of the values that are kept, one that ought to be of moderate size, or -1. */
static int first_wrong(const struct finding *f, const double *v, enum dtype type)
{
	const double limit = type == DTYPE_F16 ? 1e4 : 1e30;
	for (int i = 0; i < f->nvalue; i++)
		if (fabs(v[f->value[i].at]) < limit)
			return i;
	return -1;
}

/* As optest takes it: shapes, then attributes. */
static void put_sample(const struct plan *p, const struct node *n, struct finding *f)
{
	struct buf b = BUF_INIT;
	for (int i = 0; i < n->nin; i++) {
		const struct tensor *x = n->in[i] == NONE ? NULL : graph_t(p->g, n->in[i]);
		buf_puts(&b, i ? " " : "");
		for (int k = 0; x && k < x->shape.nd; k++)
			buf_printf(&b, "%s%lld", k ? "x" : "", (long long)x->shape.d[k]);
		buf_puts(&b, x ? x->shape.nd ? "" : "s" : "-");
	}
	if (n->op->attr_size)
		buf_puts(&b, " ; ");
	attr_text(&b, n->op, n->attr, true);
	snprintf(f->kernel.sample, sizeof f->kernel.sample, "%s", b.data);
	buf_release(&b);
}

static void describe(const struct plan *p, const struct node *n, const struct device *dev,
                     struct finding *f)
{
	const char *impl = exec_impl(p->exec, n->id);
	snprintf(f->kernel.impl, sizeof f->kernel.impl, "%s", impl ? impl : n->op->name);
	snprintf(f->kernel.type, sizeof f->kernel.type, "%s",
	         dtype_name(graph_t(p->g, n->in[0])->dtype));
	snprintf(f->kernel.device, sizeof f->kernel.device, "%s", dev->description);
	f->kernel.on_cpu = dev->backend == BACKEND_CPU;
	put_sample(p, n, f);
}

bool kernel_is_checked(const struct node *n)
{
	return (n->op->flags & OP_COUNTED) && !node_meets(n);
}

void kernel_check(const struct plan *p, const struct device *dev, const struct node *n, int out,
                  const struct overwritten *o, struct finding *f)
{
	struct lone_node l = { 0 };
	double *v = NULL, most = 0;
	const int mark = err_count();
	if (!kernel_is_checked(n))
		return;
	f->kernel.verdict = KERNEL_TOO_LARGE;
	if (op_cost(p->g, n).flops / 2 > MOST_WORK)
		return;
	const int rc = make_again(&l, p, n, out, o, &most, &v);
	const int i = rc < 0 ? -1 : first_wrong(f, v, graph_t(p->g, n->out[out])->dtype);
	f->kernel.verdict = rc < 0 || (i >= 0 && most > MODERATE) ? KERNEL_UNKNOWN :
	                    i < 0 ? KERNEL_RIGHT : KERNEL_WRONG;
	if (i >= 0) {
		f->kernel.at = f->value[i].at;
		f->kernel.right = v[f->value[i].at];
	}
	describe(p, n, dev, f);
	mem_free(v);
	release(&l);
	err_truncate(mark);
}
