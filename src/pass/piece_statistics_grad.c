/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradients of norms that `piece_statistics` has split. The gradient through a channel's
 * statistics, (x - mean) k2 + k1 of each norm, is subtracted once, from the sum of the gradients of
 * all norms that read the channel. So `batch_norm_grad` becomes `batch_norm_grad_given`, one pass
 * over memory instead of two, and `batch_norm_grad_through` follows where the sum is complete.
 *
 * Until then a tensor may have pending corrections: (norm, k1, k2) for a channel range.
 * The pass visits nodes in order. Pending corrections move along when a gradient is added to
 * another or sliced. Before any other reader the pass applies them, if the tensor is the gradient
 * of one piece. Where the corrections of several pieces would have to be applied at once, their
 * norms stay as they were, and the pass starts again.
 *
 * Some adds of gradients remain nodes (--plan --dump=sched): of maps that both the block and the
 * concat after it read (tiramisu 9 nodes, 0.1 % of a step; fc-densenet103 44, 0.3 %; coads-fcn
 * 11), after max-pool in the U-Net (3) and after ReLU in fcn (14), where the other operand is a
 * view. A fused kernel for each would save one memory pass of three over these. */
#include "base/err.h"
#include "graph/attr.h"
#include "op/lib/emit.h"
#include "op/norm/norm.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

/* A piece of a concatenation, as the norms read it. */
struct source {
	tid piece, mean;
	int64_t size;
};

struct norm {
	struct node *n;              /* the gradient */
	int nsource;
	struct source *source;
	bool given;                  /* becomes batch_norm_grad_given, without the gradient through the
	                              * statistics */
	tid k1, k2;
};

struct correction {
	const struct norm *norm;
	const struct source *source;
	int64_t begin;               /* its first channel in k1 and k2 */
	int64_t at;                  /* and in the tensor */
	struct correction *next;
};

struct open {
	struct graph *g;
	struct arena *scratch;
	struct norm *norm;           /* the norms that may be rewritten */
	int nnorm;
	int *norms;                  /* by tensor: number of these norms that read the piece */
	struct correction **pending; /* by tensor */
	tid *corrected;              /* by tensor: its corrected successor; itself where nothing
	                              * is emitted; or NONE */
	struct rewrite edit;
	bool emits;                  /* false: a dry run that only checks whether corrections can be
	                              * applied */
	bool refused;
};

/* --- which norms --- */

/* The pieces whose statistics n uses; none if n has statistics of its own. */
static void find_sources(struct open *o, struct norm *x)
{
	const tid mean = x->n->in[3];
	const struct node *concat = rewrite_made_by(o->g, mean, "concat");
	const tid *vector = concat ? concat->in : &mean;
	const int n = concat ? concat->nin : 1;
	x->source = ARENA_ARRAY(o->scratch, struct source, n);
	for (int i = 0; i < n; i++) {
		const struct node *s = rewrite_made_by(o->g, vector[i], "batch_norm_statistics");
		if (!s)
			return;
		x->source[i] = (struct source){ s->in[0], vector[i], o->g->tensor[s->in[0]]->shape.d[1] };
	}
	x->nsource = n;
}

/* Whether n is the gradient of a norm with activation and without residual, on this rank alone. */
static bool is_gradient(const struct node *n)
{
	return rewrite_is(n, "batch_norm_grad") && !node_meets(n) && n->nin > 5 && n->in[5] != NONE &&
	       n->nout == 3;
}

static void find_norms(struct open *o)
{
	for (int i = 0; i < o->g->nnode; i++) {
		struct norm x = { .n = o->g->node[i] };
		if (!is_gradient(x.n) || x.n->out[0] == NONE)
			continue;
		find_sources(o, &x);
		if (!x.nsource)
			continue;
		for (int k = 0; k < x.nsource; k++)
			o->norms[x.source[k].piece]++;
		o->norm[o->nnorm++] = x;
	}
}

/* Whether the rewrite saves memory traffic: a norm reads two tensors less, x and dy; but applying
 * the corrections, once for all norms of a piece, reads two and writes one. */
static bool pays(const struct open *o, const struct norm *x)
{
	double gain = 0;
	for (int i = 0; i < x->nsource; i++)
		gain += (double)x->source[i].size * (2 - 3.0 / o->norms[x->source[i].piece]);
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

/* --- pending corrections --- */

static void add_correction(struct open *o, tid t, const struct correction *like, int64_t at)
{
	struct correction *d = ARENA_NEW(o->scratch, struct correction), **last = &o->pending[t];
	*d = *like;
	d->at = at;
	d->next = NULL;
	while (*last)
		last = &(*last)->next;
	*last = d;
}

/* Excludes all norms with a pending correction of t from the rewrite. */
static void refuse(struct open *o, tid t)
{
	for (const struct correction *d = o->pending[t]; d; d = d->next)
		o->norm[d->norm - o->norm].given = false;
	o->refused = true;
}

/* Whether n passes the corrections of operand `in` to its first output; moved: the range of the
 * operand's channels that the output has. */
static bool carries(const struct open *o, const struct node *n, int in, int64_t moved[2])
{
	const struct graph *g = o->g;
	moved[0] = 0;
	moved[1] = g->tensor[n->in[in]]->shape.nd > 1 ? g->tensor[n->in[in]]->shape.d[1] : 0;
	if (n->op->flags & OP_SLICE) {
		const struct op_piece p = n->op->piece(g, n, 0);
		if (p.axis != 1)
			return false;
		moved[0] = p.first;
		moved[1] = moved[0] + g->tensor[n->out[0]]->shape.d[1];
		for (const struct correction *d = o->pending[n->in[in]]; d; d = d->next)
			if (d->at < moved[1] && d->at + d->source->size > moved[0] &&
			    (d->at < moved[0] || d->at + d->source->size > moved[1]))
				return false;
		return true;
	}
	return rewrite_is(n, "add") || (rewrite_is(n, "conv_grad_input_add") && in == 3) ||
	       (rewrite_is(n, "batch_norm_grad") && !node_meets(n) && in == 6);
}

static void carry(struct open *o, const struct node *n, int in, const int64_t moved[2])
{
	for (const struct correction *d = o->pending[n->in[in]]; d; d = d->next)
		if (d->at >= moved[0] && d->at + d->source->size <= moved[1])
			add_correction(o, n->out[0], d, d->at - moved[0]);
}

/* --- applying corrections --- */

/* Emits the piece as a slice of the concatenation, since the
 * piece itself may have been copied there and be dead. */
static int emit_piece(struct open *o, const struct correction *d, tid *out)
{
	*out = d->norm->n->in[0];
	if (*out == d->source->piece)
		return 0;
	return emit_slice(o->g, *out, &(struct slice){ 1, d->begin, d->source->size }, out);
}

/* Emits, before node n, the op that subtracts t's corrections. */
static int emit_correction(struct open *o, tid t, const struct node *n)
{
	const struct correction *last = NULL;
	int norms = 0, at = 3;
	for (const struct correction *d = o->pending[t]; d; d = d->next) {
		last = d;
		norms++;
	}
	int64_t *begin = ARENA_ARRAY(o->scratch, int64_t, norms);
	tid *in = ARENA_ARRAY(o->scratch, tid, 3 + 2 * norms);
	const struct norm_through_attr attr = { { norms, begin } };
	in[1] = t;
	in[2] = last->source->mean;
	for (const struct correction *d = o->pending[t]; d; d = d->next) {
		*begin++ = d->begin;
		in[at++] = d->norm->k1;
		in[at++] = d->norm->k2;
	}
	rewrite_before(&o->edit, n, rewrite_producer(o->g, t));
	TRY(emit_piece(o, last, &in[0]));
	return graph_emit1(o->g, "batch_norm_grad_through", &attr, at, in, &o->corrected[t]);
}

/* Applies the corrections of a piece that is all of t, before node n. */
static int correct(struct open *o, tid t, const struct node *n)
{
	for (const struct correction *d = o->pending[t]; d; d = d->next)
		if (d->source->piece != o->pending[t]->source->piece || d->at != 0 ||
		    d->source->size != o->g->tensor[t]->shape.d[1]) {
			refuse(o, t);
			return 0;
		}
	o->corrected[t] = t;
	return o->emits ? emit_correction(o, t, n) : 0;
}

/* --- the walk --- */

/* Emits the node that replaces x->n; its outputs are the existing tensors. */
static int emit_given(struct open *o, struct norm *x)
{
	struct node *made;
	TRY(rewrite_replace(&o->edit, x->n, "batch_norm_grad_given", NULL, x->n->nin, x->n->in,
	                    &made));
	for (int k = 0; k < 3; k++)
		rewrite_take(o->g, made, k, x->n->out[k]);
	x->k1 = made->out[3];
	x->k2 = made->out[4];
	return 0;
}

/* Handles the inputs of n with pending corrections: the corrections are passed on, or applied. */
static int correct_inputs(struct open *o, struct node *n)
{
	for (int k = 0; k < n->nin; k++) {
		const tid t = n->in[k];
		int64_t moved[2];
		if (t == NONE || !o->pending[t])
			continue;
		if (o->corrected[t] == NONE && carries(o, n, k, moved)) {
			carry(o, n, k, moved);
			continue;
		}
		if (o->corrected[t] == NONE)
			TRY(correct(o, t, n));
		if (o->emits && o->corrected[t] != NONE)
			n->in[k] = o->corrected[t];
	}
	return 0;
}

static int visit(struct open *o, struct node *n)
{
	struct norm *x = norm_of(o, n);
	TRY(correct_inputs(o, n));
	if (o->emits && x)
		TRY(emit_given(o, x));
	int64_t at = 0;
	for (int i = 0; x && i < x->nsource; at += x->source[i++].size) {
		struct correction d = { .norm = x, .source = &x->source[i], .begin = at };
		add_correction(o, n->out[0], &d, at);
	}
	if (n->nout > 0 && n->out[0] != NONE && o->g->tensor[n->out[0]]->output &&
	    o->pending[n->out[0]])
		refuse(o, n->out[0]);
	return 0;
}

static int walk(struct open *o, int nnode, int ntensor)
{
	o->refused = false;
	for (tid t = 0; t < ntensor; t++) {
		o->pending[t] = NULL;
		o->corrected[t] = NONE;
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
	o->emits = true;
	rewrite_begin(&o->edit, o->g);
	return rewrite_commit(&o->edit, walk(o, nnode, ntensor));
}

int piece_statistics_grad(struct graph *g)
{
	struct open o = { .g = g, .scratch = arena_new() };
	const int nnode = g->nnode, ntensor = g->ntensor;
	int rc = 0;
	o.norm = ARENA_ARRAY(o.scratch, struct norm, nnode + 1);
	o.norms = ARENA_ARRAY(o.scratch, int, ntensor + 1);
	o.pending = ARENA_ARRAY(o.scratch, struct correction *, ntensor + 1);
	o.corrected = ARENA_ARRAY(o.scratch, tid, ntensor + 1);
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
