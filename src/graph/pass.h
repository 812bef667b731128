/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Graph passes of this folder, and the runner that verifies and dumps after each. The table of a
 * whole compilation stands where the plan is made (train/plan.c); a pass of another folder is a row
 * like any other. */
#ifndef DLX_GRAPH_PASS_H
#define DLX_GRAPH_PASS_H

#include <stdio.h>

#include "graph/op.h"

/* How far a graph has come; graph_verify checks what must hold from each stage on. */
enum stage {
	STAGE_BUILT,       /* shapes known, producers before users, attributes valid */
	STAGE_LAID_OUT,    /* every tensor has a layout, every kernel gets those it takes */
	STAGE_PLANNED      /* offsets: nothing alive at once overlaps, in-place is legal */
};

struct pass_env {
	enum backend backend;
	struct device *dev;
	const char *dump;        /* pass after which to dump ("all" for each), or NULL */
	bool dump_dot;
	FILE *dump_to;
	void *user;              /* for passes of other folders */
};

struct pass {
	const char *name;
	const char *doc;
	int (*run)(struct graph *g, struct pass_env *env);
	enum stage stage;        /* reached after it */
};

/* Runs the rows in order; after each: dump if asked, verify. Errors say which pass. */
int pass_run(struct graph *g, const struct pass *table, int n, struct pass_env *env);

/* Activations behind the pooling that follows them. Before there are gradients. */
int pass_commute(struct graph *g, struct pass_env *env);
/* Identities: add 0, multiply by 1, scale of a scale, transposes and reshapes that join or do
 * nothing. Output tensors stay. */
int pass_fold(struct graph *g, struct pass_env *env);
/* Drops nodes whose outputs nobody reads; updates, outputs and OP_NODCE are roots. */
int pass_dce(struct graph *g, struct pass_env *env);
/* Sums of cuts of channels become cuts of one sum. */
int pass_cuts(struct graph *g, struct pass_env *env);
/* Nodes that env->backend has one kernel for become one node; what the host reads stays. */
int pass_fuse(struct graph *g, struct pass_env *env);
/* Batch statistics of joined channels, once for each part for all that normalise it. */
int pass_parts(struct graph *g, struct pass_env *env);
/* Physical layouts; inserts `reorder` nodes, each (tensor, layout) once. Sets g->backend. */
int pass_layout(struct graph *g, struct pass_env *env);
/* Joins and cuts of channels without copies: tensors become windows (graph/windows.h). */
int pass_views(struct graph *g, struct pass_env *env);
/* The order: updates as soon as the last reader of the state has run, so all phases must then be
 * run by one walk; with gradient accumulation (a node named `accumulate`) the update phase stays
 * behind forward and backward and can be run apart. */
int pass_sched(struct graph *g, struct pass_env *env);
/* In-place and offsets, without workspace (see memplan_workspace). */
int pass_memplan(struct graph *g, struct pass_env *env);

/* Bytes of t's buffer: what its layout holds, padding included. */
int64_t tensor_buffer_bytes(const struct graph *g, tid t);

/* Workspace of each node, known to whoever planned the kernels. */
struct memplan_workspace {
	const size_t *bytes;     /* by node id; NULL: none */
	int64_t *offset;         /* filled: bytes into the arena, by node id */
};
int memplan(struct graph *g, const struct memplan_workspace *ws);
/* What the arena gives to a buffer of n bytes. */
int64_t memplan_aligned(const struct graph *g, int64_t n);
/* Bytes that are alive at each node (live[nnode]), as memplan would have it; nothing is placed. ws: bytes by
 * node id, or NULL. */
void memplan_profile(struct graph *g, const size_t *ws, int64_t *live);

/* E_BUG with what is wrong (node, tensor, rule). */
int graph_verify(const struct graph *g, enum stage stage);

/* One line a node: id, op, attributes that differ from the default, inputs and outputs with shape,
 * dtype, layout, offset, place. */
void graph_dump_text(const struct graph *g, struct buf *out);
void graph_dump_dot(const struct graph *g, struct buf *out);

/* Sums over nodes of a phase mask (bit = 1 << phase). */
struct cost graph_cost(const struct graph *g, unsigned phases);
/* A hash of everything that decides what the ranks will do: nodes, attributes, shapes, dtypes,
 * layouts, order. */
uint64_t graph_fingerprint(const struct graph *g);

#endif
