/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradients of norms that `parts` has split. The gradient through a channel's statistics,
 * (x - mean) k2 + k1 of each norm, is subtracted once, from the sum of the gradients of all norms
 * that read the channel. So `batch_norm_relu_grad` becomes `batch_norm_relu_grad_given`, one pass
 * over memory instead of two, and `batch_norm_grad_through` follows where the sum is complete.
 *
 * Until then a tensor may carry pending corrections ("debts"): (norm, k1, k2) for a channel range.
 * The pass visits nodes in order. Pending corrections move along when a gradient is added to
 * another or sliced. Before any other reader the pass applies them, if the tensor is the gradient
 * of one piece. Where the corrections of several pieces would have to be applied at once, their
 * norms stay as they were, and the pass starts again.
 *
 * Some adds of gradients remain nodes (--plan --dump=sched): of maps that both the block and the
 * concat behind it read (tiramisu 9 nodes, 0.1 % of a step; fc-densenet103 44, 0.3 %; coads-fcn
 * 11), behind max-pool in the U-Net (3) and behind ReLU in fcn (14), where the other operand is a
 * view. A fused kernel for each would save one memory pass of three over these. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/attr.h"
#include "pass/parts.h"

/* A piece of a concatenation, as the norms read it. */
struct source {
	tid part, mean;
	int64_t size;
};

struct norm {
	struct node *n;              /* the gradient */
	int nsource;
	struct source *source;
	bool given;                  /* becomes the form that leaves out the statistics */
	tid k1, k2;
};

struct debt {
	const struct norm *norm;
	const struct source *source;
	int64_t begin;               /* its first channel in k1 and k2 */
	int64_t at;                  /* and in the tensor */
	struct debt *next;
};

struct open {
	struct graph *g;
	struct arena *scratch;
	struct norm *norm;           /* those that may change */
	int nnorm;
	int *norms;                  /* by tensor: how many of them read the part */
	struct debt **debt;          /* by tensor */
	tid *paid;                   /* by tensor: the one without debts; itself where nothing is emitted; or NONE */
	struct node **order;         /* NULL: nothing is emitted yet */
	int norder;
	bool refused;
};

/* --- which norms --- */

static const struct node *producer(const struct graph *g, tid t)
{
	const nid p = g->tensor[t]->producer;

	return p == NONE ? NULL : g->node[p];
}

static bool is(const struct node *n, const char *op)
{
	return n && strcmp(n->op->name, op) == 0;
}

/* The pieces whose vectors n normalises by; none if its statistics are its own. */
static void find_sources(struct open *o, struct norm *x)
{
	const tid mean = x->n->in[4];
	const struct node *join = producer(o->g, mean);
	const tid *vector = is(join, "concat") ? join->in : &mean;
	const int n = is(join, "concat") ? join->nin : 1;

	x->source = ARENA_ARRAY(o->scratch, struct source, n);
	for (int i = 0; i < n; i++) {
		const struct node *s = producer(o->g, vector[i]);
		if (!is(s, "batch_norm_statistics"))
			return;
		x->source[i] = (struct source){ s->in[0], vector[i], o->g->tensor[s->in[0]]->shape.d[1] };
	}
	x->nsource = n;
}

static void find_norms(struct open *o)
{
	for (int i = 0; i < o->g->nnode; i++) {
		struct norm x = { .n = o->g->node[i] };
		if (!is(x.n, "batch_norm_relu_grad") || x.n->out[0] == NONE)
			continue;
		find_sources(o, &x);
		if (!x.nsource)
			continue;
		for (int k = 0; k < x.nsource; k++)
			o->norms[x.source[k].part]++;
		o->norm[o->nnorm++] = x;
	}
}

/* Whether the rewrite pays: a norm reads two tensors less, x and dy; applying corrections reads two
 * and writes one, for all norms of a piece. */
static bool pays(const struct open *o, const struct norm *x)
{
	double gain = 0;

	for (int i = 0; i < x->nsource; i++)
		gain += (double)x->source[i].size * (2 - 3.0 / o->norms[x->source[i].part]);
	return gain > 0;
}

static struct norm *norm_of(const struct open *o, const struct node *n)
{
	for (int lo = 0, hi = o->nnorm; lo < hi;) {
		int mid = (lo + hi) / 2;
		if (o->norm[mid].n == n)
			return o->norm[mid].given ? &o->norm[mid] : NULL;
		if (o->norm[mid].n->id < n->id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* --- debts --- */

static void add_debt(struct open *o, tid t, const struct debt *like, int64_t at)
{
	struct debt *d = ARENA_NEW(o->scratch, struct debt), **last = &o->debt[t];

	*d = *like;
	d->at = at;
	d->next = NULL;
	while (*last)
		last = &(*last)->next;
	*last = d;
}

/* All norms with a pending correction of t stay as they were. */
static void refuse(struct open *o, tid t)
{
	for (const struct debt *d = o->debt[t]; d; d = d->next)
		o->norm[d->norm - o->norm].given = false;
	o->refused = true;
}

/* Whether the corrections of `from` move on to n's first
 * output; moved[0] .. moved[1]: its channels. */
static bool carries(const struct open *o, const struct node *n, int in, int64_t moved[2])
{
	const struct graph *g = o->g;

	moved[0] = 0;
	moved[1] = g->tensor[n->in[in]]->shape.nd > 1 ? g->tensor[n->in[in]]->shape.d[1] : 0;
	if (n->op->flags & OP_CUT) {
		if (!n->op->part || !n->op->part(g, n, 0, &moved[0]))
			return false;
		moved[1] = moved[0] + g->tensor[n->out[0]]->shape.d[1];
		for (const struct debt *d = o->debt[n->in[in]]; d; d = d->next)
			if (d->at < moved[1] && d->at + d->source->size > moved[0] &&
			    (d->at < moved[0] || d->at + d->source->size > moved[1]))
				return false;
		return true;
	}
	return is(n, "add") || (is(n, "conv_grad_input_add") && in == 3) || (is(n, "batch_norm_grad") && in == 5) ||
	       (is(n, "batch_norm_relu_grad") && in == 6);
}

static void carry(struct open *o, const struct node *n, int in, const int64_t moved[2])
{
	for (const struct debt *d = o->debt[n->in[in]]; d; d = d->next)
		if (d->at >= moved[0] && d->at + d->source->size <= moved[1])
			add_debt(o, n->out[0], d, d->at - moved[0]);
}

/* --- paying --- */

static struct node *append(struct open *o)
{
	return o->order[o->norder++] = o->g->node[o->g->nnode - 1];
}

/* Emits the piece as a slice of the concatenation, since the
 * piece itself may have been copied there and be dead. */
static int emit_part(struct open *o, const struct debt *d, tid *out)
{
	const struct op *op = op_find("slice");
	const tid x = d->norm->n->in[0];

	*out = x;
	if (x == d->source->part)
		return 0;
	BUG_IF(!op, "no op is called 'slice'");
	void *attr = arena_alloc(o->g->arena, op->attr_size);
	*(int64_t *)attr_find(op, attr, "axis", FT_INT) = 1;
	*(int64_t *)attr_find(op, attr, "begin", FT_INT) = d->begin;
	*(int64_t *)attr_find(op, attr, "size", FT_INT) = d->source->size;
	TRY(graph_emit1(o->g, op->name, attr, 1, &x, out));
	append(o);
	return 0;
}

static int emit_payment(struct open *o, tid t)
{
	const struct op *op = op_find("batch_norm_grad_through");
	const struct debt *last = NULL;
	int n = 0, at = 3;

	for (const struct debt *d = o->debt[t]; d; d = d->next) {
		last = d;
		n++;
	}
	int64_t *begin = ARENA_ARRAY(o->g->arena, int64_t, n);
	tid *in = ARENA_ARRAY(o->scratch, tid, 3 + 2 * n);
	BUG_IF(!op, "no op is called 'batch_norm_grad_through'");
	void *attr = arena_alloc(o->g->arena, op->attr_size);
	*(struct ints *)attr_find(op, attr, "begin", FT_INTS) = (struct ints){ n, begin };
	in[1] = t;
	in[2] = last->source->mean;
	for (const struct debt *d = o->debt[t]; d; d = d->next) {
		*begin++ = d->begin;
		in[at++] = d->norm->k1;
		in[at++] = d->norm->k2;
	}
	struct graph_context saved = graph_enter(o->g, producer(o->g, t));
	int rc = emit_part(o, last, &in[0]);
	if (rc == 0)
		rc = graph_emit1(o->g, op->name, attr, at, in, &o->paid[t]);
	graph_leave(o->g, saved);
	TRY(rc);
	append(o);
	return 0;
}

/* Applies the corrections of a piece that is all of t. */
static int pay(struct open *o, tid t)
{
	for (const struct debt *d = o->debt[t]; d; d = d->next)
		if (d->source->part != o->debt[t]->source->part || d->at != 0 ||
		    d->source->size != o->g->tensor[t]->shape.d[1]) {
			refuse(o, t);
			return 0;
		}
	o->paid[t] = t;
	return o->order ? emit_payment(o, t) : 0;
}

/* --- the walk --- */

/* Emits the node that replaces x->n; its outputs are the existing tensors. */
static int emit_given(struct open *o, struct norm *x)
{
	struct graph *g = o->g;
	const struct node *n = x->n;
	const struct op *op = op_find("batch_norm_relu_grad_given");
	struct graph_context saved = graph_enter(g, n);
	tid out[5];

	BUG_IF(!op, "no op is called 'batch_norm_relu_grad_given'");
	void *attr = arena_alloc(g->arena, op->attr_size);
	*(double *)attr_find(op, attr, "slope", FT_FLOAT) = *(double *)attr_find(n->op, n->attr, "slope", FT_FLOAT);
	int rc = graph_emit(g, op->name, attr, n->nin, n->in, 5, out);
	graph_leave(g, saved);
	TRY(rc);
	struct node *made = append(o);
	for (int k = 0; k < 3; k++) {
		g->tensor[out[k]]->producer = NONE;
		made->out[k] = n->out[k];
		if (n->out[k] != NONE)
			g->tensor[n->out[k]]->producer = made->id;
	}
	x->k1 = out[3];
	x->k2 = out[4];
	return 0;
}

/* Inputs of n with pending corrections: these move on, or are applied. */
static int settle(struct open *o, struct node *n)
{
	for (int k = 0; k < n->nin; k++) {
		const tid t = n->in[k];
		int64_t moved[2];
		if (t == NONE || !o->debt[t])
			continue;
		if (o->paid[t] == NONE && carries(o, n, k, moved)) {
			carry(o, n, k, moved);
			continue;
		}
		if (o->paid[t] == NONE)
			TRY(pay(o, t));
		if (o->order && o->paid[t] != NONE)
			n->in[k] = o->paid[t];
	}
	return 0;
}

static int visit(struct open *o, struct node *n)
{
	struct norm *x = norm_of(o, n);

	TRY(settle(o, n));
	if (o->order && x)
		TRY(emit_given(o, x));
	else if (o->order)
		o->order[o->norder++] = n;
	int64_t at = 0;
	for (int i = 0; x && i < x->nsource; at += x->source[i++].size)
		add_debt(o, n->out[0], &(struct debt){ .norm = x, .source = &x->source[i], .begin = at }, at);
	if (n->nout > 0 && n->out[0] != NONE && o->g->tensor[n->out[0]]->output && o->debt[n->out[0]])
		refuse(o, n->out[0]);
	return 0;
}

static int walk(struct open *o, int nnode, int ntensor)
{
	o->refused = false;
	for (tid t = 0; t < ntensor; t++) {
		o->debt[t] = NULL;
		o->paid[t] = NONE;
	}
	for (int i = 0; i < nnode; i++)
		TRY(visit(o, o->g->node[i]));
	return 0;
}

static bool any_given(const struct open *o)
{
	for (int i = 0; i < o->nnorm; i++)
		if (o->norm[i].given)
			return true;
	return false;
}

static int change(struct open *o, int nnode, int ntensor)
{
	o->order = mem_alloc((size_t)(nnode + 2 * ntensor + 1) * sizeof *o->order);
	int rc = walk(o, nnode, ntensor);
	if (rc == 0)
		graph_reorder(o->g, o->order, o->norder);
	mem_free(o->order);
	return rc;
}

int parts_grad(struct graph *g)
{
	struct open o = { .g = g, .scratch = arena_new() };
	const int nnode = g->nnode, ntensor = g->ntensor;
	int rc = 0;

	o.norm = ARENA_ARRAY(o.scratch, struct norm, nnode + 1);
	o.norms = ARENA_ARRAY(o.scratch, int, ntensor + 1);
	o.debt = ARENA_ARRAY(o.scratch, struct debt *, ntensor + 1);
	o.paid = ARENA_ARRAY(o.scratch, tid, ntensor + 1);
	find_norms(&o);
	for (int i = 0; i < o.nnorm; i++)
		o.norm[i].given = pays(&o, &o.norm[i]);
	do
		rc = walk(&o, nnode, ntensor);
	while (rc == 0 && o.refused);
	if (rc == 0 && any_given(&o))
		rc = change(&o, nnode, ntensor);
	arena_free(o.scratch);
	return rc;
}
