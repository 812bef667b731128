/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch statistics of concatenated channels, computed once for each piece instead of once for each
 * layer. In a dense block every layer normalises the channels of all layers before it, and the mean
 * and variance of a channel are the same for all of them. So each piece (an input of a concat) gets
 * one node `batch_norm_statistics`, and a norm of the concatenation uses the concatenated
 * statistics, in one pass over memory instead of two. Channels that n norms read are read or
 * written 2 n + 1 times forward and 4 n + 2 times backward (piece_statistics_grad.c) instead of 3 n
 * and 6 n - 1 times.
 *
 * The pass rewrites a norm if at least half of its channels are normalised by other norms too.
 * Tensors keep their ids, except for the vectors of statistics.
 *
 * Not done: the gradient by source slice, which would compute the gradient of slice j as one
 * convolution of all later layers' gradients with stacked weights. Where layers begin with batch
 * norm and ReLU, as in FC-DenseNet, each layer masks its gradient differently, so nothing can be
 * stacked. In the SC18 Tiramisu, with Winograd convolution, least times in ms at 192x288 on two
 * cores (--bench-op, without the stacking of weights), by layer and by slice: dense_8 28.9, 20.6;
 * dense_7 21.5, 15.2; dense_1 7.2, 7.7; dense_0 15.1, 17.4. That is 12 ms of a step of 700: less
 * than 2 %. */
#include <string.h>

#include "base/err.h"
#include "graph/attr.h"
#include "op/lib/emit.h"
#include "op/norm/norm.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

enum { MEAN, RSTD, VARIANCE, VECTORS };

#define MOST_PIECES 1000         /* most inputs of a concatenation of vectors */

/* The pieces of a concatenated tensor; of another tensor, the tensor itself. */
struct piece_list {
	int n;
	tid *piece;
};

struct piece {
	int norms;                   /* number of norms that normalise it, with this eps */
	double eps;
	tid vector[VECTORS];         /* its vectors of statistics, or NONE */
};

struct piece_statistics {
	struct graph *g;
	struct rewrite edit;
	struct arena *scratch;
	struct piece_list *list;     /* by tensor: its pieces; n is 0: not looked at yet */
	struct piece *piece;         /* by tensor */
};

static double eps_of(const struct node *n)
{
	return ((const struct norm_attr *)n->attr)->eps;
}

/* Outputs that the host reads do not change. */
static bool is_read_outside(const struct graph *g, const struct node *n)
{
	for (int k = 0; k < n->nout; k++)
		if (n->out[k] != NONE && g->tensor[n->out[k]]->output)
			return true;
	return false;
}

static bool is_norm(const struct graph *g, const struct node *n)
{
	return rewrite_is(n, "batch_norm") && !node_meets(n) && n->phase == PHASE_FORWARD &&
	       !is_read_outside(g, n);
}

/* --- pieces --- */

/* The concat of channels that makes t, or NULL. */
static const struct node *concat_of(const struct graph *g, tid t)
{
	const struct node *n = rewrite_producer(g, t);
	return n && (n->op->flags & OP_CONCAT) && n->op->piece(g, n, 0).axis == 1 ? n : NULL;
}

static const struct piece_list *pieces_of(struct piece_statistics *p, tid t)
{
	struct piece_list *l = &p->list[t];
	const struct node *concat = concat_of(p->g, t);
	int n = 0;
	if (l->n)
		return l;
	for (int i = 0; concat && i < concat->nin; i++)
		n += pieces_of(p, concat->in[i])->n;
	l->piece = ARENA_ARRAY(p->scratch, tid, concat ? n : 1);
	if (!concat)
		l->piece[l->n++] = t;
	for (int i = 0; concat && i < concat->nin; i++) {
		const struct piece_list *from = &p->list[concat->in[i]];
		memcpy(l->piece + l->n, from->piece, (size_t)from->n * sizeof *l->piece);
		l->n += from->n;
	}
	return l;
}

static void count_norm(struct piece_statistics *p, const struct node *n)
{
	const struct piece_list *l = pieces_of(p, n->in[0]);
	for (int i = 0; i < l->n; i++) {
		struct piece *x = &p->piece[l->piece[i]];
		if (x->norms == 0)
			x->eps = eps_of(n);
		x->norms += x->eps == eps_of(n);
	}
}

/* Whether half of the channels or more are normalised by other norms too. */
static bool is_shared(const struct piece_statistics *p, const struct node *n)
{
	const struct piece_list *l = &p->list[n->in[0]];
	int64_t shared = 0;
	if (l->n > MOST_PIECES)
		return false;
	for (int i = 0; i < l->n; i++) {
		const struct piece *x = &p->piece[l->piece[i]];
		if (x->eps != eps_of(n))
			return false;
		if (x->norms > 1)
			shared += p->g->tensor[l->piece[i]]->shape.d[1];
	}
	return 2 * shared >= p->g->tensor[n->in[0]]->shape.d[1];
}

/* --- the new nodes --- */

static int emit_statistics(struct piece_statistics *p, tid t, double eps)
{
	struct piece *x = &p->piece[t];
	if (x->vector[MEAN] != NONE)
		return 0;
	return graph_emit(p->g, "batch_norm_statistics", &(struct norm_attr){ .eps = eps }, 1, &t,
	                  VECTORS, x->vector);
}

/* Concatenates the vectors of all pieces. */
static int concat_vectors(struct piece_statistics *p, const struct piece_list *l, int which,
                          tid *out)
{
	tid *in = ARENA_ARRAY(p->scratch, tid, l->n);
	for (int i = 0; i < l->n; i++)
		in[i] = p->piece[l->piece[i]].vector[which];
	return emit_concat(p->g, 0, l->n, in, out);
}

/* Readers of n's statistics read the new ones. */
static int take_apart(struct piece_statistics *p, struct node *n)
{
	const struct piece_list *l = &p->list[n->in[0]];
	tid vector[VECTORS];
	rewrite_before(&p->edit, n, n);
	for (int i = 0; i < l->n; i++)
		TRY(emit_statistics(p, l->piece[i], eps_of(n)));
	for (int k = 0; k < VECTORS; k++) {
		if (k == VARIANCE && n->out[1 + k] == NONE)
			continue;
		TRY(concat_vectors(p, l, k, &vector[k]));
		if (n->out[1 + k] != NONE)
			rewrite_instead(&p->edit, n->out[1 + k], vector[k]);
	}
	const bool residual = n->nin > 3 && n->in[3] != NONE;
	const tid in[] = { n->in[0], n->in[1], n->in[2], vector[MEAN], vector[RSTD],
	                   residual ? n->in[3] : NONE };
	return rewrite_become(p->g, n, "batch_norm_apply", residual ? 6 : 5, in);
}

/* --- the pass --- */

static int apply(struct piece_statistics *p)
{
	struct graph *g = p->g;
	for (int i = 0; i < p->edit.nnode; i++)
		if (is_norm(g, g->node[i]))
			count_norm(p, g->node[i]);
	for (int i = 0; i < p->edit.nnode; i++)
		if (is_norm(g, g->node[i]) && is_shared(p, g->node[i]))
			TRY(take_apart(p, g->node[i]));
	return 0;
}

int pass_piece_statistics(struct graph *g, struct pass_env *env)
{
	struct piece_statistics p = { .g = g, .scratch = arena_new() };
	if (env->backend != BACKEND_CPU) {
		arena_free(p.scratch);
		return 0;
	}
	p.list = ARENA_ARRAY(p.scratch, struct piece_list, g->ntensor + 1);
	p.piece = ARENA_ARRAY(p.scratch, struct piece, g->ntensor + 1);
	for (tid t = 0; t < g->ntensor; t++)
		for (int k = 0; k < VECTORS; k++)
			p.piece[t].vector[k] = NONE;
	rewrite_begin(&p.edit, g);
	int rc = rewrite_commit(&p.edit, apply(&p));
	arena_free(p.scratch);
	return rc == 0 && g->nnode > p.edit.nnode ? piece_statistics_grad(g) : rc;
}
