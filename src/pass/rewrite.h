/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What passes that change a graph share: the producer and the readers of a tensor, nodes that are
 * emitted at a place of the order, nodes and tensors that replace others, one commit of it all.
 *
 *     struct rewrite r;
 *     rewrite_begin(&r, g);
 *     for (int i = 0; rc == 0 && i < r.nnode; i++)
 *         if (suits(g->node[i])) {
 *             rewrite_before(&r, g->node[i], g->node[i]);
 *             rc = emit_some_nodes(g, ...);
 *             rewrite_drop(&r, g->node[i]);
 *         }
 *     return rewrite_commit(&r, rc);
 *
 * Until the commit, g->node[0] to g->node[r.nnode - 1] are the old nodes in the old order and with
 * their old ids; new nodes follow with ids from r.nnode on, so that rewrite_producer is right at
 * any time. Operands, ops and attributes of nodes may be changed directly in between. A pass that
 * needs the order or the readers as changed commits and begins again, which costs one walk
 * through the graph. The new order is not checked here: graph_verify does that after each pass. */
#ifndef DLX_PASS_REWRITE_H
#define DLX_PASS_REWRITE_H

#include "graph/op.h"

/* --- what a graph is like --- */

/* Whether n is there and of this op. */
bool rewrite_is(const struct node *n, const char *op);
/* The node that makes t, or NULL (t may be NONE). */
struct node *rewrite_producer(const struct graph *g, tid t);
/* The same, but NULL unless it is of this op. */
struct node *rewrite_made_by(const struct graph *g, tid t, const char *op);

/* A node and which of its operands. */
struct reader {
	struct node *n;
	int in;
};
/* The readers of every tensor, as the graph was when the lists were made. */
struct readers {
	int *first;                  /* by tensor: index of its first reader; and one more entry */
	struct reader *reader;       /* in the order of nodes, then of operands */
};
/* In the arena. */
struct readers rewrite_readers(const struct graph *g, struct arena *a);
static inline int readers_count(const struct readers *r, tid t)
{
	return r->first[t + 1] - r->first[t];
}
/* The first of readers_count(r, t). */
static inline const struct reader *readers_of(const struct readers *r, tid t)
{
	return &r->reader[r->first[t]];
}

/* --- changing it --- */

struct rewrite {
	struct graph *g;
	int nnode, ntensor;          /* of the graph as it was */
	struct rewrite_own *own;
};

void rewrite_begin(struct rewrite *r, struct graph *g);
/* What is emitted from here on is directly before the old node `at` (NULL: after all), after
 * what was put there already, and has the name, place and phase of `like`. Before the first call,
 * nodes follow all others, in the context of the graph. */
void rewrite_before(struct rewrite *r, const struct node *at, const struct node *like);
/* Moves old node n directly before old node `at`, which does not move itself, after what was put
 * there already. */
void rewrite_move(struct rewrite *r, struct node *n, const struct node *at);
/* Takes old node n out. Its outputs must have no reader left or be taken by another node. */
void rewrite_drop(struct rewrite *r, const struct node *n);
/* All readers of the old tensor t, new nodes too, read `to` instead from the commit on; views that
 * alias t alias `to`. t is no output of the graph. */
void rewrite_instead(struct rewrite *r, tid t, tid to);
/* Replaces old node `old` by one of another op in its place. The attributes are rewrite_attr's of
 * `old` and `like` (NULL: none); absent operands at the end of `in` are left off. Outputs are new
 * tensors: see rewrite_take. */
int rewrite_replace(struct rewrite *r, struct node *old, const char *op, const struct node *like,
                    int nin, const tid *in, struct node **made);
/* Ends it and returns rc. If that is 0 the changes take place; otherwise the old nodes stay as they
 * are, and new ones after them. */
int rewrite_commit(struct rewrite *r, int rc);

/* Output i of `made` becomes the existing tensor t, unless t is NONE; the tensor that was made for
 * it stays unused. */
void rewrite_take(struct graph *g, struct node *made, int i, tid t);
/* Attributes for op, in the graph's arena (NULL if it has none): its defaults, overwritten by
 * those of like[0] under the same names, then by those of like[1], and so on to like[n - 1]. */
int rewrite_attr(struct graph *g, const struct op *op, int n, const struct node *const *like,
                 void **attr);
/* Turns node n, in its place, into a node of another op. Its operands are `in`, its attributes
 * those of rewrite_attr with n as `like`, its outputs the first ones of n that the op has. */
int rewrite_become(struct graph *g, struct node *n, const char *op, int nin, const tid *in);
/* Operands t of n for which instead[t] is a tensor become that, for t < ntensor; views follow. */
void rewrite_operands(struct graph *g, struct node *n, const tid *instead, int ntensor);

#endif
