/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which buffer each tensor gets. Params, states, constants and inputs are stored elsewhere (offset
 * -1), and so is what aliases them. All else lives in the step arena from the node that makes it to
 * the last one that reads it or a view of it. Where an op allows it, its output takes over the
 * buffer of an input that dies there. A node's workspace is a buffer that lives for that node. What
 * a node on the second stream uses is alive until that stream is waited for. memplace.c then packs
 * them.
 *
 * With gradient accumulation forward and backward run several times before the update. A tensor
 * made there and read in the update is written anew each time, so the linear order of one pass is
 * all that matters (the verifier sees to it that nothing flows from the update back other than in
 * states). */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/memcheck.h"
#include "graph/memplace.h"
#include "graph/memplan.h"
#include "graph/view.h"

struct life {
	struct graph *g;
	tid *buffer;                 /* by tensor: the tensor whose buffer it lives in */
	int *first;                  /* by buffer: first node that writes to it: a view may be made
	                                before the tensor it is a view of */
	int *last;                   /* by buffer: last node that reads or writes it */
	int *joined;                 /* by buffer: the node that waits for those of the second stream
	                              * that use it; NONE: there are none */
	bool *kept;                  /* by buffer: read by the host after the step */
};

int64_t tensor_buffer_bytes(const struct graph *g, tid t)
{
	return layout_elements(&g->tensor[t]->layout) * (int64_t)dtype_size(g->tensor[t]->dtype);
}

int64_t tensor_kept_bytes(const struct graph *g, tid t)
{
	const struct tensor *x = graph_t(g, t);
	return tensor_buffer_bytes(g, t) * (x->prefetched && !x->read_first ? 2 : 1);
}

int64_t tensor_staged_bytes(const struct graph *g, tid t)
{
	const struct tensor *x = graph_t(g, t);
	return x->pinned && layout_is_plain(&x->layout, &x->shape) ? 0 : tensor_buffer_bytes(g, t);
}

static bool in_arena(const struct graph *g, tid t)
{
	const struct tensor *x = g->tensor[graph_root(g, t)];
	return x->role == ROLE_ACTIVATION && x->producer != NONE;
}

/* Extends the lifetime of t's buffer to node n, which reads or writes t. */
static void life_extend(struct life *l, const struct node *n, tid t)
{
	const tid b = t == NONE ? NONE : l->buffer[t];
	if (b == NONE)
		return;
	if (l->last[b] < node_last(n))
		l->last[b] = node_last(n);
	if (l->joined[b] < n->join)
		l->joined[b] = n->join;
	if (n->id < l->first[b])
		l->first[b] = n->id;
}

static void life_init(struct life *l, struct graph *g)
{
	size_t n = (size_t)g->ntensor + 1;
	l->g = g;
	l->buffer = mem_alloc(n * sizeof *l->buffer);
	l->first = mem_alloc(n * sizeof *l->first);
	l->last = mem_alloc(n * sizeof *l->last);
	l->joined = mem_alloc(n * sizeof *l->joined);
	l->kept = mem_calloc(n, sizeof *l->kept);
	for (int t = 0; t < g->ntensor; t++) {
		struct tensor *x = g->tensor[t];
		l->buffer[t] = graph_root(g, t);
		l->first[t] = l->last[t] = x->producer;
		l->joined[t] = NONE;
		x->bytes = x->layout.set ? tensor_buffer_bytes(g, t) : 0;
	}
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		for (int k = 0; k < n->nin; k++)
			life_extend(l, n, n->in[k]);
		for (int k = 0; k < n->nout; k++)
			life_extend(l, n, n->out[k]);
	}
	for (int t = 0; t < g->ntensor; t++) {
		if (!g->tensor[t]->output)
			continue;
		l->kept[l->buffer[t]] = true;
		l->last[l->buffer[t]] = g->nnode - 1;
	}
}

static void life_release(struct life *l)
{
	mem_free(l->buffer);
	mem_free(l->first);
	mem_free(l->last);
	mem_free(l->joined);
	mem_free(l->kept);
}

static bool takes_over(const struct op *op, int i)
{
	return i < 32 && (op->inplace >> i & 1);
}

/* Whether node n may write its output 0 over its input i (buffers of earlier tensors are final). */
static bool may_reuse(const struct life *l, const struct node *n, int i)
{
	const struct graph *g = l->g;
	const struct tensor *out = g->tensor[n->out[0]], *in;
	tid buffer;
	if (n->in[i] == NONE || !takes_over(n->op, i) || !in_arena(g, n->in[i]))
		return false;
	if (out->view != NONE || l->first[out->id] < n->id)      /* has its place already */
		return false;
	in = g->tensor[n->in[i]];
	buffer = l->buffer[in->id];
	if (l->last[buffer] != n->id || l->joined[buffer] > n->id || l->kept[buffer])
		return false;
	if (in->bytes != out->bytes || g->tensor[buffer]->bytes != out->bytes ||
	    in->dtype != out->dtype)
		return false;
	if (!shape_equal(&in->shape, &out->shape) || !layout_equal(&in->layout, &out->layout))
		return false;
	for (int k = 0; k < n->nin; k++)    /* the same buffer through another input */
		if (n->in[k] != NONE && l->buffer[n->in[k]] == buffer && !takes_over(n->op, k))
			return false;
	return true;
}

static void plan_inplace(struct life *l)
{
	struct graph *g = l->g;
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		/* Views may look at a buffer that was taken over. */
		for (int k = 0; k < n->nout; k++) {
			const struct tensor *x = n->out[k] == NONE ? NULL : g->tensor[n->out[k]];
			if (x && x->alias != NONE)
				l->buffer[x->id] = l->buffer[x->alias];
			else if (x && x->view != NONE)
				l->buffer[x->id] = l->buffer[x->view];
		}
		if (!n->nout || n->out[0] == NONE || g->tensor[n->out[0]]->alias != NONE ||
		    !n->op->inplace)
			continue;
		for (int k = 0; k < n->nin; k++) {
			tid out = n->out[0], b;
			if (!may_reuse(l, n, k))
				continue;
			b = l->buffer[n->in[k]];
			l->last[b] = l->last[out];
			l->joined[b] = l->joined[out];
			l->kept[b] |= l->kept[out];
			l->buffer[out] = b;
			break;
		}
	}
}

/* The alignment that cuDNN and cuBLASLt want of a workspace,
 * and a GPU of data that it reads in whole lines. */
#define GPU_ALIGN 256

int64_t memplan_aligned(const struct graph *g, int64_t n)
{
	const int64_t by = g->backend == BACKEND_CUDA ? GPU_ALIGN : MEM_ALIGN;
	return (n + by - 1) / by * by;
}

/* The items to place: buffers by tensor id, then workspaces by node id. owner[k]: what item k
 * belongs to. */
static int collect(const struct life *l, const struct memplan_workspace *ws, struct memitem *item,
                   int *owner)
{
	const struct graph *g = l->g;
	int n = 0;
	for (int t = 0; t < g->ntensor; t++) {
		const struct tensor *x = g->tensor[t];
		if (l->buffer[t] != t || !in_arena(g, t))
			continue;
		item[n] = (struct memitem){ l->first[t], l->last[t], memplan_aligned(g, x->bytes), -1 };
		owner[n++] = t;
	}
	for (int i = 0; ws && ws->bytes && i < g->nnode; i++) {
		if (!ws->bytes[i])
			continue;
		item[n] = (struct memitem){ i, node_last(g->node[i]),
			memplan_aligned(g, (int64_t)ws->bytes[i]), -1 };
		owner[n++] = g->ntensor + i;
	}
	return n;
}

/* Sizes that cannot be summed are refused here, so that the rest need not look. */
static int check_sum(const struct graph *g, const struct memitem *item, int n)
{
	int64_t sum = 0;
	for (int k = 0; k < n; k++)
		if (item[k].size < 0 || item[k].size > INT64_MAX - sum)
			return ERR(E_NOMEM, NULL,
			           "the tensors of a step need more bytes than can be counted");
		else
			sum += item[k].size;
	return 0;
}

static void assign(const struct life *l, const struct memplan_workspace *ws,
                   const struct memitem *item, const int *owner, int n)
{
	struct graph *g = l->g;
	for (int i = 0; ws && ws->offset && i < g->nnode; i++)
		ws->offset[i] = -1;
	for (int k = 0; k < n; k++) {
		if (owner[k] < g->ntensor)
			g->tensor[owner[k]]->offset = item[k].offset;
		else
			ws->offset[owner[k] - g->ntensor] = item[k].offset;
	}
	for (int t = 0; t < g->ntensor; t++)
		if (in_arena(g, t))
			g->tensor[t]->offset = g->tensor[l->buffer[t]]->offset + view_offset(g, t);
}

static void live_during(const struct graph *g, int64_t *live, int first, int last, int64_t bytes)
{
	live[first] += memplan_aligned(g, bytes);
	if (last + 1 < g->nnode)
		live[last + 1] -= memplan_aligned(g, bytes);
}

void memplan_profile(struct graph *g, const size_t *ws, int64_t *live)
{
	struct life l;
	life_init(&l, g);
	plan_inplace(&l);
	memset(live, 0, (size_t)g->nnode * sizeof *live);
	for (int t = 0; t < g->ntensor; t++)
		if (l.buffer[t] == t && in_arena(g, t))
			live_during(g, live, l.first[t], l.last[t], g->tensor[t]->bytes);
	for (int i = 0; ws && i < g->nnode; i++)
		live_during(g, live, i, node_last(g->node[i]), (int64_t)ws[i]);
	for (int i = 1; i < g->nnode; i++)
		live[i] += live[i - 1];
	life_release(&l);
}

int memplan(struct graph *g, const struct memplan_workspace *ws)
{
	size_t room = (size_t)g->ntensor + (size_t)g->nnode + 1;
	struct memitem *item = mem_alloc(room * sizeof *item);
	int *owner = mem_alloc(room * sizeof *owner), n, rc;
	struct life l;
	for (int t = 0; t < g->ntensor; t++)
		g->tensor[t]->offset = -1;
	life_init(&l, g);
	plan_inplace(&l);
	n = collect(&l, ws, item, owner);
	rc = check_sum(g, item, n);
	if (rc == 0) {
		g->arena_lower_bound = memplace_lower_bound(item, n, g->nnode, &g->arena_peak_node);
		g->arena_bytes = memplace(item, n, g->arena_lower_bound);
		assign(&l, ws, item, owner, n);
		rc = ws ? memcheck(g, ws) : 0;   /* graph_verify does not know of workspaces */
	}
	life_release(&l);
	mem_free(item);
	mem_free(owner);
	return rc;
}
