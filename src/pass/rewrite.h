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

/* Whether n is not NULL and is of this op. */
bool rewrite_is(const struct node *n, const char *op);
/* The node that computes t, or NULL if none does (t may be NONE). */
struct node *rewrite_producer(const struct graph *g, tid t);
/* As rewrite_producer, but NULL if that node is of another op. */
struct node *rewrite_made_by(const struct graph *g, tid t, const char *op);

/* A use of a tensor: it is operand `in` of node n. */
struct reader {
	struct node *n;
	int in;
};
/* The readers of every tensor at the time when the lists were made. */
struct readers {
	int *first;                  /* by tensor: index of its first reader; and one more entry */
	struct reader *reader;       /* in the order of nodes, then of operands */
};
/* Builds the lists, in the arena a. */
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
	int nnode, ntensor;          /* counts of the graph before the changes */
	struct rewrite_own *own;
};

void rewrite_begin(struct rewrite *r, struct graph *g);
/* Nodes emitted from here on are inserted directly before the old node `at` (NULL: at the end),
 * after nodes that were inserted there earlier, and get the name, config location and phase of
 * `like`. Before the first call, emitted nodes are appended at the end, in the graph's current
 * context. */
void rewrite_before(struct rewrite *r, const struct node *at, const struct node *like);
/* Moves old node n directly before old node `at` (which must not be moved itself), after nodes that
 * were inserted there earlier. */
void rewrite_move(struct rewrite *r, struct node *n, const struct node *at);
/* Removes old node n. Its outputs must have no reader left, or another node must take them over
 * (rewrite_take). */
void rewrite_drop(struct rewrite *r, const struct node *n);
/* At the commit, all readers of the old tensor t, new nodes included, are changed to read `to`;
 * views that alias t then alias `to`. t must not be an output of the graph. */
void rewrite_instead(struct rewrite *r, tid t, tid to);
/* Replaces old node `old` by a node of another op at the same position. Its attributes come from
 * rewrite_attr with `old` and `like` (NULL: none); absent operands at the end of `in` are omitted.
 * Its outputs are new tensors: see rewrite_take. */
int rewrite_replace(struct rewrite *r, struct node *old, const char *op, const struct node *like,
                    int nin, const tid *in, struct node **made);
/* Ends the rewrite and returns rc. If rc is 0 the changes are applied; otherwise the old nodes stay
 * as they are, followed by the new ones. */
int rewrite_commit(struct rewrite *r, int rc);

/* Makes the existing tensor t output i of `made`, unless t is NONE; the tensor that was created for
 * that output stays unused. */
void rewrite_take(struct graph *g, struct node *made, int i, tid t);
/* Makes attributes for op, in the graph's arena (NULL if the op has none): its defaults,
 * overwritten by the attributes of like[0] that have the same names, then by those of like[1], and
 * so on to like[n - 1]. */
int rewrite_attr(struct graph *g, const struct op *op, int n, const struct node *const *like,
                 void **attr);
/* Changes node n in place into a node of another op. Its operands become `in`, its attributes those
 * of rewrite_attr with n as `like`. It keeps as many of its first outputs as the new op has. */
int rewrite_become(struct graph *g, struct node *n, const char *op, int nin, const tid *in);
/* Replaces each operand t of n (t < ntensor) by instead[t] if that is a tensor, and in the same
 * manner the tensors that views alias. */
void rewrite_operands(struct graph *g, struct node *n, const tid *instead, int ntensor);

#endif
