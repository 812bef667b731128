/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element types. Where a device computes in 16 bits (bf16 or fp16), they start at the kernels that
 * gain by them, convolutions and matrix products, and take in what is between: a tensor is of 16
 * bits if it is made from one, or by such a kernel, and leads to such a kernel. So the ops after
 * the last convolution, the loss and the metrics stay f32, and so do their gradients down to the
 * first convolution of the backward phase. A tensor is cast at most once, right before its first
 * reader of the other type: a param once a step, in whatever layout its readers want.
 *
 * Gradients of params are f32, but for those that are made in 16 bits and that all their readers
 * take as they are: the update, and sums over micro-batches and for clipping on a GPU. The values
 * are the same, without a cast of each, and its 8 bytes of memory traffic a weight of some 38.
 * Ranks add gradients up in f32. */
#include "pass/pass.h"

#include "backend/plan_env.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/mem.h"
#include "op/reorder.h"
#include "pass/rewrite.h"

/* --- float64: the reference, or as the config says --- */

static void make_double(struct graph *g, struct tensor *x)
{
	int64_t n = shape_count(&x->shape);
	if (x->role == ROLE_CONSTANT && !x->exact) {
		void *v = arena_alloc(g->arena, (size_t)n * sizeof(double));
		dtype_convert(DTYPE_F64, v, x->dtype, x->value, n);
		x->value = v;
	} else if (x->role == ROLE_CONSTANT) {
		x->value = x->exact;
	}
	x->dtype = DTYPE_F64;
}

static int set_double(struct graph *g, enum backend b)
{
	for (int i = 0; i < g->nnode && b == BACKEND_DOUBLE; i++) {
		const struct node *n = g->node[i];
		if (!n->op->kernel[b].run && !(n->op->flags & OP_VIEW))
			return ERR(E_UNSUPPORTED, &n->loc, "layer '%s': '%s' has no float64 kernel on the CPU; "
			           "'precision: {compute: f64}' is for dense networks", n->name, n->op->name);
	}
	for (tid t = 0; t < g->ntensor; t++)
		if (dtype_is_float(graph_t(g, t)->dtype))
			make_double(g, graph_t(g, t));
	return 0;
}

/* --- 16 bits --- */

struct precision {
	struct graph *g;
	struct rewrite edit;
	enum backend backend;
	enum dtype type;             /* BF16 or F16 */
	bool *leads;                 /* by tensor: it leads to a kernel that is faster in bf16 */
	bool *wide;                  /* by tensor: a kernel reads it that does not accept 16-bit
	                              * gradients */
	tid *other;                  /* by tensor: its cast to the other type, or NONE */
};

static const struct kernel *kernel_of(const struct precision *h, const struct node *n)
{
	return &n->op->kernel[h->backend];
}

/* Tensors of forward that backward reads exist anyway, and do not make forward bf16. */
static bool same_phase(const struct graph *g, const struct node *n, tid t)
{
	const struct node *by = rewrite_producer(g, t);
	return !by || by->phase == n->phase;
}

static void find_leads_of(struct precision *h, const struct node *n)
{
	const struct kernel *k = kernel_of(h, n);
	bool leads = k->bf16 == KB_FASTER;
	if (n->phase == PHASE_UPDATE)
		return;
	for (int i = 0; i < n->nout && !leads; i++)
		leads = n->out[i] != NONE && h->leads[n->out[i]];
	for (int i = 0; i < n->nin && leads; i++) {
		bool takes = (n->op->flags & OP_VIEW) || kernel_takes_bf16(k, false, i);
		if (n->in[i] != NONE && takes && (k->bf16 == KB_FASTER || same_phase(h->g, n, n->in[i])))
			h->leads[n->in[i]] = true;
	}
}

/* Whether n computes in bf16, given the types of its inputs. */
static bool joins(const struct precision *h, const struct node *n)
{
	const struct kernel *k = kernel_of(h, n);
	if (n->phase == PHASE_UPDATE || (k->bf16 == KB_ALIKE && !h->leads[n->out[0]]))
		return false;
	if (k->bf16 == KB_FASTER || k->bf16 == KB_SOURCE)
		return true;
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE && h->g->tensor[n->in[i]]->dtype == h->type &&
		    kernel_takes_bf16(k, false, i))
			return true;
	return false;
}

/* Makes n read input i as `type`. */
static int want(struct precision *h, struct node *n, int i, enum dtype type)
{
	struct graph *g = h->g;
	const struct cast_attr at = { (int)type };
	tid *other = &h->other[n->in[i]];
	if (g->tensor[n->in[i]]->dtype == type)
		return 0;
	if (*other == NONE) {
		rewrite_before(&h->edit, n, n);
		TRY(graph_emit1(g, "cast", &at, 1, &n->in[i], other));
	}
	n->in[i] = *other;
	return 0;
}

static void find_wide(struct precision *h, const struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE && !kernel_takes_narrow(kernel_of(h, n), n, i))
			h->wide[n->in[i]] = true;
}

/* Sets the type of output i, the gradient of a param. */
static bool stays_narrow(const struct precision *h, const struct node *n, int i)
{
	const struct kernel *k = kernel_of(h, n);
	const struct tensor *t = h->g->tensor[n->out[i]];
	return !debug_skips("narrow") && k->makes_narrow && k->makes_narrow(n, i) && !h->wide[t->id] &&
	       !t->output;
}

static int set_inputs(struct precision *h, struct node *n, bool narrow)
{
	const struct kernel *k = kernel_of(h, n);
	for (int i = 0; i < n->nin; i++) {
		const struct tensor *t = n->in[i] == NONE ? NULL : h->g->tensor[n->in[i]];
		bool takes = narrow && kernel_takes_bf16(k, false, i);
		if (!t || (t->dtype != DTYPE_F32 && t->dtype != h->type) || kernel_takes_narrow(k, n, i))
			continue;
		if (!takes)
			TRY(want(h, n, i, DTYPE_F32));
		else if (k->bf16 != KB_EACH && k->bf16 != KB_SOURCE)
			TRY(want(h, n, i, h->type));
	}
	return 0;
}

static void set_outputs(struct precision *h, const struct node *n)
{
	const struct kernel *k = kernel_of(h, n);
	for (int i = 0; i < n->nout; i++) {
		struct tensor *t = n->out[i] == NONE ? NULL : h->g->tensor[n->out[i]];
		if (!t || t->dtype != DTYPE_F32 || !kernel_takes_bf16(k, true, i))
			continue;
		if (t->grad_of != NONE ? stays_narrow(h, n, i) : k->bf16 == KB_ALIKE || h->leads[t->id])
			t->dtype = h->type;
	}
}

static int set_types_of(struct precision *h, struct node *n)
{
	if (n->op->flags & OP_VIEW) {
		h->g->tensor[n->out[0]]->dtype = h->g->tensor[n->in[0]]->dtype;
	} else {
		bool narrow = joins(h, n);
		TRY(set_inputs(h, n, narrow));
		if (narrow)
			set_outputs(h, n);
	}
	return 0;
}

static int set_types(struct graph *g, const struct pass_env *env)
{
	struct precision h = { .g = g, .backend = env->backend, .type = env->plan->compute };
	int rc = 0;
	h.leads = mem_calloc((size_t)g->ntensor + 1, sizeof *h.leads);
	h.wide = mem_calloc((size_t)g->ntensor + 1, sizeof *h.wide);
	h.other = mem_alloc(((size_t)g->ntensor + 1) * sizeof *h.other);
	for (int t = 0; t < g->ntensor; t++)
		h.other[t] = NONE;
	for (int i = g->nnode - 1; i >= 0; i--) {
		find_leads_of(&h, g->node[i]);
		find_wide(&h, g->node[i]);
	}
	rewrite_begin(&h.edit, g);
	for (int i = 0; i < h.edit.nnode && rc == 0; i++)
		rc = set_types_of(&h, g->node[i]);
	mem_free(h.leads);
	mem_free(h.wide);
	mem_free(h.other);
	return rewrite_commit(&h.edit, rc);
}

int pass_precision(struct graph *g, struct pass_env *env)
{
	if (backend_is_double(env->backend))
		return set_double(g, env->backend);
	return dtype_is_16bit(env->plan->compute) ? set_types(g, env) : 0;
}
