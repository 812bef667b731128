/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a graph node by node without passes or memory plan: each tensor has a buffer of its own in
 * a layout the test chooses for inputs and the kernels choose for the rest. Outputs and workspace
 * start as NaN. What an op computes can so be tested apart from the machinery that runs it, and in
 * layouts that a plan would not pick. */
#ifndef DLX_TEST_OP_RUN_H
#define DLX_TEST_OP_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/plan_env.h"
#include "base/err.h"
#include "graph/layout_rule.h"
#include "graph/op.h"

struct op_run {
	struct graph *g;
	struct device dev;
	struct plan_env env;             /* the default one, for the caller to change */
	struct arena *arena;
	void **data;             /* by tensor; NULL: no value yet */
	bool native;             /* inputs are laid out so */
	const struct links *links;       /* to other ranks; NULL: none */
};

static inline enum dtype op_run_dtype(const struct op_run *r, tid t)
{
	enum dtype d = graph_t(r->g, t)->dtype;
	return r->dev.backend == BACKEND_REFERENCE && dtype_is_float(d) ? DTYPE_F64 : d;
}

static inline void *op_run_buffer(struct op_run *r, size_t bytes)
{
	void *p = arena_alloc(r->arena, bytes + 128);
	p = (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
	memset(p, 0xFF, bytes);
	return p;
}

static inline void op_run_set_as(struct op_run *r, tid t, const struct layout *l,
                                 const double *plain)
{
	struct tensor *x = graph_t(r->g, t);
	enum dtype d = op_run_dtype(r, t);
	x->layout = *l;
	r->data[t] = op_run_buffer(r, (size_t)layout_elements(l) * dtype_size(d));
	layout_pack(l, &x->shape, d, r->data[t], DTYPE_F64, plain);
}

static inline void op_run_set(struct op_run *r, tid t, const double *plain)
{
	struct tensor *x = graph_t(r->g, t);
	struct layout l = r->native ? layout_native(&x->shape) : layout_plain(&x->shape);
	op_run_set_as(r, t, &l, plain);
}

static inline void op_run_get(const struct op_run *r, tid t, double *plain)
{
	const struct tensor *x = graph_t(r->g, t);
	layout_unpack(&x->layout, &x->shape, DTYPE_F64, plain, op_run_dtype(r, t), r->data[t]);
}

static inline void op_run_init(struct op_run *r, struct graph *g, enum backend b, bool native)
{
	*r = (struct op_run){ .g = g, .dev = { .backend = b, .threads = 1 }, .env = plan_env_default,
		.native = native };
	r->arena = arena_new();
	r->data = ARENA_ARRAY(r->arena, void *, g->ntensor + 1);
	for (tid t = 0; t < g->ntensor; t++) {
		struct tensor *x = graph_t(g, t);
		const int64_t n = shape_count(&x->shape);
		double *v;
		x->layout = (struct layout){ 0 };
		if (x->role != ROLE_CONSTANT)
			continue;
		v = ARENA_ARRAY(r->arena, double, n);
		for (int64_t i = 0; i < n; i++)
			v[i] = dtype_get(x->dtype, x->value, i);
		op_run_set(r, t, v);
	}
}

static inline void op_run_release(struct op_run *r)
{
	arena_free(r->arena);
}

static inline void op_run_stop(const struct node *n)
{
	fprintf(stderr, "node '%s' (%s): %s\n", n->name, n->op->name,
	        err_count() ? err_get(0)->text : "");
	abort();
}

/* Moves t to layout l. */
static inline void op_run_move(struct op_run *r, tid t, const struct layout *l)
{
	int64_t n = shape_count(&graph_t(r->g, t)->shape);
	double *plain = ARENA_ARRAY(r->arena, double, n);
	if (layout_equal(&graph_t(r->g, t)->layout, l))
		return;
	op_run_get(r, t, plain);
	op_run_set_as(r, t, l, plain);
}

/* The layouts the kernel of n wants. */
static inline void op_run_want(struct op_run *r, struct kplan *k, enum kernel_layout kl,
                               const struct kernel *kernel, struct layout *in, struct layout *out)
{
	const struct node *n = k->n;
	struct layout shared = { 0 };
	for (int i = 0; i < n->nin; i++) {
		in[i] = n->in[i] == NONE ? (struct layout){ 0 } : graph_t(r->g, n->in[i])->layout;
		if (!shared.set && n->in[i] != NONE && layout_shares(r->g, n, n->in[i]))
			shared = in[i];
	}
	memset(out, 0, (size_t)n->nout * sizeof *out);
	if (kl == KL_CHOOSE && kernel->choose(k, in, out) < 0)
		op_run_stop(n);
	for (int i = 0; kl != KL_CHOOSE && i < n->nin + n->nout; i++) {
		tid t = i < n->nin ? n->in[i] : n->out[i - n->nin];
		const struct shape *s;
		struct layout *l = i < n->nin ? &in[i] : &out[i - n->nin];
		if (t == NONE)
			continue;
		s = &graph_t(r->g, t)->shape;
		*l = kl == KL_NATIVE ? layout_native(s) : layout_plain(s);
		if (kl == KL_SAME && shared.set && layout_shares(r->g, n, t))
			*l = shared;
	}
}

static inline void op_run_node(struct op_run *r, const struct node *n)
{
	bool view = n->op->flags & OP_VIEW;
	const struct kernel *kernel = &n->op->kernel[r->dev.backend];
	struct kplan k = { .g = r->g, .n = n, .dev = &r->dev, .env = &r->env, .arena = r->arena };
	struct layout *in = ARENA_ARRAY(r->arena, struct layout, n->nin + 1);
	struct layout *out = ARENA_ARRAY(r->arena, struct layout, n->nout + 1);
	void **pin = ARENA_ARRAY(r->arena, void *, n->nin + 1);
	void **pout = ARENA_ARRAY(r->arena, void *, n->nout + 1);
	struct kargs a = { .in = pin, .out = pout, .sums = r->links };
	op_run_want(r, &k, view ? KL_PLAIN : kernel->layouts, kernel, in, out);
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE) {
			op_run_move(r, n->in[i], &in[i]);
			pin[i] = r->data[n->in[i]];
		}
	for (int i = 0; i < n->nout; i++) {
		size_t bytes;
		struct tensor *y = n->out[i] == NONE ? NULL : graph_t(r->g, n->out[i]);
		if (!y)
			continue;
		y->layout = out[i];
		bytes = (size_t)layout_elements(&out[i]) * dtype_size(op_run_dtype(r, y->id));
		r->data[y->id] = y->alias != NONE ? r->data[y->alias] : op_run_buffer(r, bytes);
		pout[i] = r->data[y->id];
	}
	if (view)
		return;
	if (kernel->plan && kernel->plan(&k) < 0)
		op_run_stop(n);
	a.ws = op_run_buffer(r, k.ws_bytes);
	if (kernel->run(&k, &a) < 0)
		op_run_stop(n);
	if (kernel->free)
		kernel->free(&k);
}

static inline void op_run_all(struct op_run *r)
{
	for (int i = 0; i < r->g->nnode; i++)
		op_run_node(r, r->g->node[i]);
}

#endif
