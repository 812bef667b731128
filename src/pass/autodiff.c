/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reverse-mode differentiation. Two reachability sweeps find the tensors on a path from some x to
 * some y. Then the nodes are visited once, in reverse order. The gradients that arrive at a tensor
 * are added immediately, in the order of this traversal, so that only one partial sum is alive and
 * the result depends on nothing else. Gradient rules query tensor.requires_grad to learn which
 * gradients are needed: during the traversal that flag means "on a path". Afterwards it is
 * restored, and derived anew for the emitted nodes. */
#include "pass/autodiff.h"

#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/derive.h"
#include "op/lib/emit.h"

struct walk {
	struct graph *g;
	int nnode, ntensor; /* counts of the original graph: emitted nodes are not differentiated */
	bool *on;                    /* by tensor: on a path from some x to some y */
	bool *saved;                 /* by tensor: its requires_grad */
	tid *grad;                   /* by tensor: the sum so far, or NONE */
};

static void mark_from_x(const struct graph *g, int nx, const tid *x, bool *from)
{
	for (int i = 0; i < nx; i++)
		from[x[i]] = true;
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		bool any = false;
		for (int k = 0; k < n->nin; k++)
			any |= passes_gradient(n, k) && from[n->in[k]];
		for (int k = 0; any && k < n->nout; k++)
			if (carries_gradient(g, n, k))
				from[n->out[k]] = true;
	}
}

/* Whether the inputs of n contribute to y on other ranks too. */
static bool serves_others(const struct node *n)
{
	return (n->op->flags & OP_AWAITS) && n->op->grad;
}

static void mark_to_y(const struct graph *g, int ny, const tid *y, bool *to)
{
	for (int i = 0; i < ny; i++)
		to[y[i]] = true;
	for (int i = g->nnode - 1; i >= 0; i--) {
		const struct node *n = g->node[i];
		bool any = serves_others(n);
		for (int k = 0; k < n->nout; k++)
			any |= carries_gradient(g, n, k) && to[n->out[k]];
		for (int k = 0; any && k < n->nin; k++)
			if (passes_gradient(n, k))
				to[n->in[k]] = true;
	}
}

static void walk_init(struct walk *w, struct graph *g, int ny, const tid *y, int nx, const tid *x)
{
	bool *to = mem_calloc((size_t)g->ntensor + 1, sizeof *to);
	*w = (struct walk){ .g = g, .nnode = g->nnode, .ntensor = g->ntensor };
	w->on = mem_calloc((size_t)g->ntensor + 1, sizeof *w->on);
	w->saved = mem_calloc((size_t)g->ntensor + 1, sizeof *w->saved);
	w->grad = mem_alloc(((size_t)g->ntensor + 1) * sizeof *w->grad);
	mark_from_x(g, nx, x, w->on);
	mark_to_y(g, ny, y, to);
	for (int t = 0; t < g->ntensor; t++) {
		w->on[t] &= to[t];
		w->saved[t] = g->tensor[t]->requires_grad;
		g->tensor[t]->requires_grad = w->on[t];
		w->grad[t] = NONE;
	}
	mem_free(to);
}

static void walk_release(struct walk *w)
{
	struct graph *g = w->g;
	for (int t = 0; t < w->ntensor; t++)
		g->tensor[t]->requires_grad = w->saved[t];
	for (int i = w->nnode; i < g->nnode; i++)
		derive_requires_grad(g, g->node[i]);
	mem_free(w->on);
	mem_free(w->saved);
	mem_free(w->grad);
}

/* A tensor of ones like y. */
static int ones_like(struct graph *g, tid y, tid *out)
{
	const struct tensor *t = g->tensor[y];
	if (t->shape.nd == 0 && t->dtype == DTYPE_F32) {
		*out = graph_scalar(g, 1);
		return 0;
	}
	return emit_fill(g, 1, &t->shape, out);
}

/* Marks d as the gradient of a param, parts of a sum too, so that all take the param's layout. */
static void mark_gradient(struct walk *w, tid t, tid d)
{
	struct tensor *x = w->g->tensor[d];
	if (w->g->tensor[t]->role == ROLE_PARAM && x->producer >= w->nnode && x->grad_of == NONE)
		x->grad_of = t;
}

/* Adds d to the gradient of t. */
static int accumulate(struct walk *w, tid t, tid d)
{
	struct graph *g = w->g;
	if (!shape_equal(&g->tensor[d]->shape, &g->tensor[t]->shape))
		return ERR(E_BUG, &g->cur_loc, "gradient of '%s' has another shape than the tensor",
		           g->tensor[t]->name);
	mark_gradient(w, t, d);
	if (w->grad[t] == NONE)
		w->grad[t] = d;
	else
		TRY(graph_emit1(g, "add", NULL, 2, (tid[]){ w->grad[t], d }, &w->grad[t]));
	mark_gradient(w, t, w->grad[t]);
	return 0;
}

static int seed(struct walk *w, int ny, const tid *y, const tid *dy)
{
	struct graph *g = w->g;
	for (int j = 0; j < ny; j++) {
		struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
		tid d = dy ? dy[j] : NONE;
		int rc = 0;

		if (!w->on[y[j]])
			continue;
		if (g->tensor[y[j]]->producer != NONE)
			graph_enter(g, g->node[g->tensor[y[j]]->producer]);
		g->cur_phase = PHASE_BACKWARD;
		if (d == NONE)
			rc = ones_like(g, y[j], &d);
		if (rc == 0)
			rc = accumulate(w, y[j], d);
		graph_leave(g, saved);
		TRY(rc);
	}
	return 0;
}

/* Calls the rule of n with the gradients of its outputs,
 * and accumulates the resulting gradients. */
static int differentiate(struct walk *w, const struct node *n, const tid *dy, tid *dx)
{
	struct graph *g = w->g;
	if (!n->op->grad && (n->op->flags & OP_ONCE))
		return ERR(E_UNSUPPORTED, &n->loc, "'%s' in layer '%s' has no second derivative",
		           n->op->name, n->name);
	if (!n->op->grad)
		return ERR(E_UNSUPPORTED, &n->loc,
		           "'%s' has no gradient rule, and layer '%s' is between the loss and "
		           "something to train",
		           n->op->name, n->name);
	TRYC(n->op->grad(g, n, dy, dx), "in the gradient of '%s' in layer '%s'", n->op->name,
	     n->name);
	for (int i = 0; i < n->nin; i++)
		if (dx[i] != NONE && passes_gradient(n, i) && w->on[n->in[i]])
			TRY(accumulate(w, n->in[i], dx[i]));
	return 0;
}

static int walk_node(struct walk *w, const struct node *n)
{
	struct graph_context saved;
	bool wanted = false, any = serves_others(n);
	tid *dy, *dx;
	int rc;
	for (int i = 0; i < n->nin; i++)
		wanted |= passes_gradient(n, i) && w->on[n->in[i]];
	for (int i = 0; i < n->nout; i++)
		any |= n->out[i] != NONE && w->grad[n->out[i]] != NONE;
	if (!wanted || !any)
		return 0;
	dy = mem_alloc(((size_t)n->nout + 1) * sizeof *dy);
	dx = mem_alloc(((size_t)n->nin + 1) * sizeof *dx);
	for (int i = 0; i < n->nout; i++)
		dy[i] = n->out[i] == NONE ? NONE : w->grad[n->out[i]];
	for (int i = 0; i < n->nin; i++)
		dx[i] = NONE;
	saved = graph_enter(w->g, n);
	w->g->cur_phase = PHASE_BACKWARD;
	rc = differentiate(w, n, dy, dx);
	graph_leave(w->g, saved);
	mem_free(dy);
	mem_free(dx);
	return rc;
}

const struct node *autodiff_flat(const struct graph *g, tid y, tid x)
{
	bool *from = mem_calloc((size_t)g->ntensor + 1, sizeof *from);
	bool *to = mem_calloc((size_t)g->ntensor + 1, sizeof *to);
	const struct node *found = NULL;
	from[x] = true;
	mark_to_y(g, 1, &y, to);
	for (int i = 0; i < g->nnode && !found; i++) {
		const struct node *n = g->node[i];
		bool any = false, flat = false;
		for (int k = 0; k < n->nin; k++) {
			const bool depends = n->in[k] != NONE && from[n->in[k]];
			any |= depends;
			flat |= depends && !passes_gradient(n, k) && (n->op->flags & OP_FLAT);
		}
		for (int k = 0; k < n->nout; k++) {
			if (n->out[k] == NONE)
				continue;
			from[n->out[k]] |= any;
			if (flat && to[n->out[k]])
				found = n;
		}
	}
	mem_free(from);
	mem_free(to);
	return found;
}

int autodiff(struct graph *g, int ny, const tid *y, const tid *dy, int nx, const tid *x, tid *dx)
{
	struct walk w;
	int rc;
	walk_init(&w, g, ny, y, nx, x);
	rc = seed(&w, ny, y, dy);
	for (int i = w.nnode - 1; rc == 0 && i >= 0; i--)
		rc = walk_node(&w, g->node[i]);
	for (int i = 0; rc == 0 && i < nx; i++)
		dx[i] = w.grad[x[i]];
	walk_release(&w);
	return rc;
}
