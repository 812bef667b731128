/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The passes of this folder, and the runner that verifies and dumps after each. The table of a
 * whole compilation is in plan/plan.c; a pass of another folder is a row like any other. */
#ifndef DLX_PASS_PASS_H
#define DLX_PASS_PASS_H

#include <stdio.h>

#include "graph/verify.h"

struct pass_env {
	enum backend backend;
	const struct device *dev;
	const struct plan_env *plan; /* what the plan is made by; the passes of
	                              * types and layouts need it */
	const char *dump;        /* pass after which to dump ("all" for each), or NULL */
	bool dump_dot;
	FILE *dump_to;
	void *user;              /* what the maker of the table hands to its own passes */
};

struct pass {
	const char *name;
	const char *doc;
	int (*run)(struct graph *g, struct pass_env *env);
	enum stage stage;        /* reached after it */
};

/* Runs the rows in order; after each: dump if asked, verify. Errors say which pass. */
int pass_run(struct graph *g, const struct pass *table, int n, struct pass_env *env);

/* Moves ReLU and other monotonic activations after max-pool. Before there are gradients. */
int pass_commute(struct graph *g, struct pass_env *env);
/* Identities: add 0, multiply by 1, scale of a scale, transposes and reshapes that join or do
 * nothing. Output tensors stay. */
int pass_fold(struct graph *g, struct pass_env *env);
/* Removes nodes whose outputs have no reader; updates, outputs and OP_NODCE are roots. */
int pass_dce(struct graph *g, struct pass_env *env);
/* Merges adds of channel slices into slices of one add. */
int pass_slice_adds(struct graph *g, struct pass_env *env);
/* Replaces nodes by fused ops that env->backend has kernels for; keeps what the host reads. */
int pass_fuse(struct graph *g, struct pass_env *env);
/* Computes the batch statistics of concatenated channels once for each piece. */
int pass_piece_statistics(struct graph *g, struct pass_env *env);
/* Physical layouts; inserts `reorder` nodes, each (tensor, layout) once. Sets g->backend. */
int pass_layout(struct graph *g, struct pass_env *env);
/* Concatenates and slices channels without copies: tensors become views (graph/view.h). */
int pass_views(struct graph *g, struct pass_env *env);
/* The order: updates as soon as the last reader of the state has run, so all phases must then be
 * run by one walk; with gradient accumulation (a node named `accumulate`) the update phase stays
 * after forward and backward and can be run apart. */
int pass_sched(struct graph *g, struct pass_env *env);

#endif
