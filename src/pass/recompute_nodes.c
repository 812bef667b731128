/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The traversal of the old order that inserts copies. Before each node, whatever it reads of a
 * dropped buffer is recomputed, once for all later readers. If a copy reads a buffer that is
 * neither kept nor dropped (the output of a convolution that only the next node read), that buffer
 * is recomputed for the readers before that one node, unless it is so small that it is kept alive
 * longer instead. Copies have the layouts and views of their originals, so that the same kernels
 * give the same bits. */
#include "pass/recompute_nodes.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/attr.h"
#include "graph/deps.h"
#include "graph/memplan.h"
#include "graph/view.h"
#include "pass/rewrite.h"

#define SMALL 16                 /* an operand this much smaller than the result is kept for
                                  * recomputation */
#define MANY_COPIES 4            /* most copies of a node, on average */
#define FLOPS_A_BYTE 10.0        /* arithmetic operations in the time of moving one byte */

/* A new operand of a node. Operands change once all copies
 * are made, since copies are of the original nodes. */
struct change {
	struct node *n;
	int in;
	tid old, to;
};

struct copy {
	const struct node *n;
	nid of, at;                  /* the node that is copied, and the node before which the copy
	                              * runs */
};

struct recompute_copies {
	const size_t *ws_given;
	bool changed;
	struct node **before;        /* the order as it was */
	struct rewrite edit;
	struct copy *made;           /* again.ncopy of them */
	int made_cap;
	struct change *change;
	int nchange, change_cap;
	tid *copy;                   /* by tensor: what later readers read; valid by copy_of */
	nid *copied;                 /* by buffer: the node before which it was recomputed, NONE:
	                              * never */
	nid *reach;                  /* by buffer: the last node it is needed at, as extended */
	nid *killer;                 /* by tensor: the node that overwrites it, nnode if none does */
	tid failed;
	struct arena *kept, *scratch;
	int *seen;                   /* by node: for recompute_nodes_price */
	int stamp;
};

/* --- what there is --- */

static tid buffer_of(const struct graph *g, tid t)
{
	tid root = graph_root(g, t);
	const struct tensor *x = g->tensor[root];
	return x->role == ROLE_ACTIVATION && x->producer != NONE ? root : NONE;
}

/* Whether an output of n before its k-th is in buffer b. */
static bool writes_before(const struct recompute_nodes *a, const struct node *n, int k, tid b)
{
	for (int j = 0; j < k; j++)
		if (n->out[j] != NONE && a->root[n->out[j]] == b)
			return true;
	return false;
}

static void count_writers(struct recompute_nodes *a)
{
	const struct graph *g = a->g;
	int *first = a->writer_first, n = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < a->nnode; i++) {
			const struct node *u = g->node[i];
			for (int k = 0; k < u->nout; k++) {
				tid b = u->out[k] == NONE ? NONE : a->root[u->out[k]];
				if (b == NONE || writes_before(a, u, k, b))
					continue;
				if (pass)
					a->writer[first[b]++] = i;
				else
					first[b + 1]++;
			}
		}
		for (int t = 0; !pass && t < a->ntensor; t++)
			first[t + 1] += first[t];
		n = first[a->ntensor];
		if (!pass)
			a->writer = mem_alloc(((size_t)n + 1) * sizeof *a->writer);
	}
	memmove(first + 1, first, (size_t)a->ntensor * sizeof *first);
	first[0] = 0;
}

static void touch(struct recompute_nodes *a)
{
	const struct graph *g = a->g;
	for (int i = 0; i < a->nnode; i++) {
		const struct node *n = g->node[i];
		for (int k = 0; k < n->nin + n->nout; k++) {
			tid t = k < n->nin ? n->in[k] : n->out[k - n->nin];
			tid b = t == NONE ? NONE : a->root[t];
			if (t != NONE && k >= n->nin && overwrites(g, n, k - n->nin))
				a->own->killer[g->tensor[t]->alias] = i;
			if (b == NONE)
				continue;
			a->last[b] = i;
			if (k >= n->nin)
				a->made[b] = i;
		}
	}
}

/* Whether n can be recomputed to make buffer b. A batch that the first nodes alone read may have
 * given way to the next one by then. */
static bool repeatable(const struct recompute_nodes *a, const struct node *n, tid b)
{
	if (n->phase != PHASE_FORWARD || n->op->flags & (OP_UPDATE | OP_NODCE) ||
	    node_reads_first(a->g, n))
		return false;
	if (node_meets(n) && (!n->op->recompute || n->out[0] == NONE || a->root[n->out[0]] != b))
		return false;
	for (int k = 0; k < n->nout; k++) {
		tid t = n->out[k], other = t == NONE ? b : a->root[t];
		if (other != b && (other == NONE || other != t ||
		                   a->writer_first[other + 1] - a->writer_first[other] != 1))
			return false;
	}
	return true;
}

static void judge(struct recompute_nodes *a)
{
	const struct graph *g = a->g;
	for (tid b = 0; b < a->ntensor; b++) {
		if (a->root[b] != b)
			continue;
		a->bytes[b] = tensor_buffer_bytes(g, b);
		a->droppable[b] = a->plain[b] = true;
		for (int k = a->writer_first[b]; k < a->writer_first[b + 1]; k++) {
			const struct node *n = g->node[a->writer[k]];
			if (!repeatable(a, n, b))
				a->droppable[b] = false;
			if (n->op->flags & OP_COUNTED)
				a->plain[b] = false;
		}
	}
	for (tid t = 0; t < a->ntensor; t++)
		if (g->tensor[t]->output && a->root[t] != NONE) {
			a->droppable[a->root[t]] = false;
			a->last[a->root[t]] = a->nnode;
		}
}

struct recompute_nodes *recompute_nodes_new(struct graph *g, const size_t *ws)
{
	struct recompute_nodes *a = mem_calloc(1, sizeof *a);
	struct recompute_copies *o = a->own = mem_calloc(1, sizeof *o);
	size_t tensors = (size_t)g->ntensor + 1, nodes = (size_t)g->nnode + 1;
	a->g = g;
	a->nnode = a->nstep = g->nnode;
	a->ntensor = g->ntensor;
	a->root = mem_alloc(tensors * sizeof *a->root);
	a->bytes = mem_calloc(tensors, sizeof *a->bytes);
	a->made = mem_alloc(tensors * sizeof *a->made);
	a->last = mem_alloc(tensors * sizeof *a->last);
	a->drop = mem_alloc(tensors * sizeof *a->drop);
	a->droppable = mem_calloc(tensors, sizeof *a->droppable);
	a->plain = mem_calloc(tensors, sizeof *a->plain);
	a->writer_first = mem_calloc(tensors + 1, sizeof *a->writer_first);
	o->copy = mem_alloc(tensors * sizeof *o->copy);
	o->copied = mem_alloc(tensors * sizeof *o->copied);
	o->reach = mem_alloc(tensors * sizeof *o->reach);
	o->killer = mem_alloc(tensors * sizeof *o->killer);
	o->before = mem_alloc(nodes * sizeof *o->before);
	o->seen = mem_calloc(nodes, sizeof *o->seen);
	o->ws_given = ws;
	for (tid t = 0; t < g->ntensor; t++) {
		a->root[t] = buffer_of(g, t);
		a->made[t] = a->last[t] = a->drop[t] = NONE;
		o->killer[t] = g->nnode;
	}
	memcpy(o->before, g->node, (size_t)g->nnode * sizeof *o->before);
	touch(a);
	count_writers(a);
	judge(a);
	return a;
}

void recompute_nodes_free(struct recompute_nodes *a)
{
	struct recompute_copies *o;
	if (!a)
		return;
	o = a->own;
	void *const mine[] = { a->root, a->bytes, a->made, a->last, a->drop, a->droppable, a->plain,
		a->writer_first, a->writer, a->at, a->ws, o->copy, o->copied, o->reach, o->killer,
		o->before, o->made, o->change, o->seen, o, a };
	for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
		mem_free(mine[i]);
}

/* --- putting nodes in --- */

static void note_copy(struct recompute_nodes *a, const struct node *n, nid of, nid at)
{
	struct recompute_copies *o = a->own;
	if (a->ncopy == o->made_cap) {
		o->made_cap = o->made_cap ? o->made_cap * 2 : 256;
		o->made = mem_realloc(o->made, (size_t)o->made_cap * sizeof *o->made);
	}
	o->made[a->ncopy++] = (struct copy){ n, of, at };
}

static bool make(struct recompute_nodes *a, tid b, nid at);

/* Whether buffer b, which node `at` or a copy before it reads, has been dropped. */
static bool is_dropped(const struct recompute_nodes *a, tid b, nid at)
{
	return a->drop[b] != NONE && at > a->drop[b];
}

/* The tensor that replaces t as operand of a recomputed node of buffer b at `at`, or NONE. */
static tid resolve(struct recompute_nodes *a, tid t, tid b, nid at)
{
	struct recompute_copies *o = a->own;
	tid r = t == NONE ? NONE : a->root[t];
	if (t == NONE)
		return NONE;
	if (r == NONE)
		return o->killer[version_of(a->g, t)] >= at ? t : NONE;
	if (is_dropped(a, r, at)) {
		if (o->copied[r] == NONE && !make(a, r, at))
			return NONE;
		return o->copy[t];
	}
	if (o->copied[r] == at && o->copy[t] != NONE)
		return o->copy[t];
	if (o->reach[r] >= at)
		return t;
	if (a->bytes[r] <= a->bytes[b] / SMALL) {
		o->reach[r] = at;
		return t;
	}
	/* A buffer that is being made here is needed for a part of itself, as where two blocks of
	 * channels are written by turns, each from the other. */
	if (!a->droppable[r] || o->copied[r] == at || !make(a, r, at))
		return NONE;
	return o->copy[t];
}

/* A cheaper node for `old`, if its op has one and the backend supports it. */
static struct node *shortcut(struct recompute_nodes *a, const struct node *old, const tid *in)
{
	struct graph *g = a->g;
	tid out = NONE;
	const int mark = err_count();
	const bool made = old->op->recompute && old->op->recompute(g, old, in, &out) == 0;
	err_truncate(mark);              /* float64 has no short cuts */
	if (!made || out == NONE)
		return NULL;
	if (!g->node[g->nnode - 1]->op->kernel[g->backend].run) {
		g->nnode--;
		g->tensor[out]->producer = NONE;
		return NULL;
	}
	g->tensor[out]->layout = g->tensor[old->out[0]]->layout;
	a->own->copy[old->out[0]] = out;
	return g->node[g->nnode - 1];
}

/* Outputs outside of buffer b serve all their readers, too. */
static void note_outputs(struct recompute_nodes *a, const struct node *old,
                         const struct node *n, nid at)
{
	for (int k = 0; k < n->nout; k++) {
		tid t = old->out[k];
		if (t == NONE)
			continue;
		a->own->copy[t] = n->out[k];
		a->own->copied[a->root[t]] = at;
	}
}

static bool copy_node(struct recompute_nodes *a, nid i, tid b, nid at)
{
	struct graph *g = a->g;
	const struct node *old = a->own->before[i];
	tid *in = ARENA_ARRAY(g->arena, tid, old->nin + 1);
	struct node *n = NULL;
	struct cost c;
	for (int k = 0; k < old->nin; k++) {
		in[k] = resolve(a, old->in[k], b, at);
		if (in[k] == NONE && old->in[k] != NONE)
			return false;
	}
	rewrite_before(&a->own->edit, a->own->before[at], old);
	g->cur_phase = a->own->before[at]->phase;
	if (old->out[0] != NONE && a->root[old->out[0]] == b)
		n = shortcut(a, old, in);
	if (!n && node_meets(old))
		return false;
	if (!n) {
		n = graph_copy(g, old, in);
		note_outputs(a, old, n, at);
	}
	note_copy(a, n, i, at);
	c = op_cost(g, n);
	a->cost.flops += c.flops;
	a->cost.bytes += c.bytes;
	return a->ncopy <= MANY_COPIES * a->nnode;
}

/* Recomputes buffer b before node `at`. */
static bool make(struct recompute_nodes *a, tid b, nid at)
{
	struct graph *g = a->g;
	struct recompute_copies *o = a->own;
	const int from = a->writer_first[b], to = a->writer_first[b + 1];
	for (int k = from; k < to; k++)
		for (int j = 0; j < o->before[a->writer[k]]->nout; j++)
			if (o->before[a->writer[k]]->out[j] != NONE)
				o->copy[o->before[a->writer[k]]->out[j]] = NONE;
	o->copied[b] = at;
	for (int k = from; k < to; k++)
		if (!copy_node(a, a->writer[k], b, at)) {
			o->failed = b;
			return false;
		}
	for (int k = from; k < to; k++) {
		const struct node *old = o->before[a->writer[k]];
		for (int j = 0; j < old->nout; j++) {
			const struct tensor *t = old->out[j] == NONE ? NULL : g->tensor[old->out[j]];
			if (!t || t->view == NONE)
				continue;
			g->tensor[o->copy[t->id]]->view = o->copy[t->view];
			g->tensor[o->copy[t->id]]->view_at = t->view_at;
			g->tensor[o->copy[t->id]]->view_axis = t->view_axis;
			g->tensor[o->copy[t->view]]->view_axis = t->view_axis;
		}
	}
	return true;
}

static void note_change(struct recompute_copies *o, struct node *n, int k, tid to)
{
	if (o->nchange == o->change_cap) {
		o->change_cap = o->change_cap ? o->change_cap * 2 : 256;
		o->change = mem_realloc(o->change, (size_t)o->change_cap * sizeof *o->change);
	}
	o->change[o->nchange++] = (struct change){ n, k, n->in[k], to };
}

static bool walk(struct recompute_nodes *a)
{
	struct recompute_copies *o = a->own;
	for (int i = 0; i < a->nnode; i++) {
		struct node *n = o->before[i];
		for (int k = 0; k < n->nin; k++) {
			tid t = n->in[k], b = t == NONE ? NONE : a->root[t];
			if (b == NONE || !is_dropped(a, b, i))
				continue;
			if (o->copied[b] == NONE && !make(a, b, i))
				return false;
			if (o->copy[t] == NONE) {
				o->failed = b;
				return false;
			}
			note_change(o, n, k, o->copy[t]);
		}
	}
	for (int i = 0; i < o->nchange; i++)
		o->change[i].n->in[o->change[i].in] = o->change[i].to;
	return true;
}

static void set_step(struct recompute_nodes *a, const struct node *n, nid of, nid at)
{
	a->at[n->id] = at;
	a->ws[n->id] = a->own->ws_given ? a->own->ws_given[of] : 0;
}

/* Fills the tables of the nodes in the order as changed. */
static void set_steps(struct recompute_nodes *a)
{
	const struct recompute_copies *o = a->own;
	a->nstep = a->g->nnode;
	a->at = mem_realloc(a->at, ((size_t)a->nstep + 1) * sizeof *a->at);
	a->ws = mem_realloc(a->ws, ((size_t)a->nstep + 1) * sizeof *a->ws);
	for (int i = 0; i < a->nnode; i++)
		set_step(a, o->before[i], i, i);
	for (int k = 0; k < a->ncopy; k++)
		set_step(a, o->made[k].n, o->made[k].of, o->made[k].at);
}

static tid apply(struct recompute_nodes *a)
{
	struct recompute_copies *o = a->own;
	bool fine;
	o->nchange = a->ncopy = 0;
	o->failed = NONE;
	a->cost = (struct cost){ 0 };
	for (tid t = 0; t < a->ntensor; t++) {
		o->copy[t] = o->copied[t] = NONE;
		o->reach[t] = a->last[t];
	}
	rewrite_begin(&o->edit, a->g);
	fine = walk(a);
	rewrite_commit(&o->edit, fine ? 0 : -1);
	o->changed = true;
	if (!fine) {
		recompute_nodes_undo(a);
		return o->failed;
	}
	set_steps(a);
	return NONE;
}

tid recompute_nodes_apply(struct recompute_nodes *a)
{
	a->own->kept = a->g->arena;
	a->g->arena = a->own->scratch = arena_new();
	return apply(a);
}

tid recompute_nodes_commit(struct recompute_nodes *a)
{
	a->own->kept = a->own->scratch = NULL;
	return apply(a);
}

void recompute_nodes_undo(struct recompute_nodes *a)
{
	struct recompute_copies *o = a->own;
	if (!o->changed)
		return;
	for (int i = o->nchange - 1; i >= 0; i--)
		o->change[i].n->in[o->change[i].in] = o->change[i].old;
	graph_reorder(a->g, o->before, a->nnode);
	a->g->ntensor = a->ntensor;
	a->nstep = a->nnode;
	if (o->scratch) {
		a->g->arena = o->kept;
		arena_free(o->scratch);
	}
	o->scratch = NULL;
	o->changed = false;
}

/* --- prices --- */

double recompute_nodes_weight(const struct cost *c)
{
	double flops = c->flops / FLOPS_A_BYTE;
	return flops > c->bytes ? flops : c->bytes;
}

static double price(const struct recompute_nodes *a, tid b, nid before, bool *counted)
{
	double sum = 0;
	for (int k = a->writer_first[b]; k < a->writer_first[b + 1]; k++) {
		const struct node *n = a->own->before[a->writer[k]];
		struct cost c = op_cost(a->g, n);
		if (a->own->seen[a->writer[k]] == a->own->stamp)
			continue;
		a->own->seen[a->writer[k]] = a->own->stamp;
		sum += recompute_nodes_weight(&c);
		*counted |= (n->op->flags & OP_COUNTED) != 0;
		for (int i = 0; i < n->nin; i++) {
			tid r = n->in[i] == NONE ? NONE : a->root[n->in[i]];
			if (r == NONE || r == b || a->drop[r] != NONE || a->last[r] >= before ||
			    a->bytes[r] <= a->bytes[b] / SMALL)
				continue;
			sum += price(a, r, before, counted);
		}
	}
	return sum;
}

double recompute_nodes_price(const struct recompute_nodes *a, tid b, nid before, bool *counted)
{
	*counted = false;
	a->own->stamp++;
	return price(a, b, before, counted);
}
