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

/* Runs the rows in order, but those that DLX_DEBUG=skip= leaves out; after each: dump if asked,
 * verify. Errors say which pass. */
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
/* Its second half: rewrites the gradients of norms whose statistics are shared. */
int piece_statistics_grad(struct graph *g);
/* Computes once what several nodes compute: of nodes with equal op, attributes and inputs the first
 * is kept. Tensors that the host reads stay. */
int pass_cse(struct graph *g, struct pass_env *env);
/* On GPUs: conv, and batch_norm that reads its result, become conv_statistics and batch_norm_apply.
 * Runs after pass `statistics`, since norms over several ranks stay. */
int pass_conv_statistics(struct graph *g, struct pass_env *env);
/* Fuses batch norm and ReLU into the convolutions that read them. For GPUs that compute in 16 bits,
 * with dlx's kernels for depthwise convolutions, and in fp16 with the engines that cuDNN
 * recommends. Runs after pass `conv_statistics`. */
int pass_prologue(struct graph *g, struct pass_env *env);
/* Keeps signs of activations as bits (op/norm/norm.h). For GPUs; others keep their graph. */
int pass_signs(struct graph *g, struct pass_env *env);
/* Updates the running statistics of all norms at once. For GPUs; others keep their graph. */
int pass_running_statistics(struct graph *g, struct pass_env *env);
/* On the reference device, and on a CPU in float64, all floats become F64; there an op
 * without a kernel is refused. On others, if env->plan->compute has 16 bits, the
 * tensors on a way to a kernel that is faster in 16 bits (enum kernel_bf16) have 16 bits, within
 * forward and within backward; `cast` nodes convert. Params, their gradients, states, losses and
 * the update stay f32. */
int pass_precision(struct graph *g, struct pass_env *env);
/* Physical layouts; inserts `reorder` nodes, each (tensor, layout) once. Sets g->backend. */
int pass_layout(struct graph *g, struct pass_env *env);
/* Runs after the choice of layouts, in graphs that train. A param's cast to 16 bits, and reorders
 * of such casts, become states that the update of the param rewrites while it has the new value at
 * hand, and that op weight_copy makes when a plan begins. If they are not to be kept, reorders of
 * casts become casts. */
int copies_make(struct graph *g, const struct device *dev, bool keep);
/* Concatenates and slices channels without copies: tensors become views (graph/view.h). */
int pass_views(struct graph *g, struct pass_env *env);
/* The order: updates as soon as the last reader of the state has run, so all phases must then be
 * run by one walk; with gradient accumulation (a node named `accumulate`) the update phase stays
 * after forward and backward and can be run apart. */
int pass_sched(struct graph *g, struct pass_env *env);
/* Takes the mask of a ReLU from what that has read, where it is kept. The order of nodes is final
 * but for what is computed again. */
int pass_masks(struct graph *g, struct pass_env *env);
/* Stores sums where one of their operands is. Needs the order of nodes. */
int pass_in_place(struct graph *g, struct pass_env *env);
/* Sets read_first of prefetched inputs that the first nodes of a step read, and no others. The
 * order of nodes is final, but for what later passes put after the readers of those inputs. */
int pass_intake(struct graph *g, struct pass_env *env);
/* Sets node.join: nodes that a GPU runs next to the others. The order of nodes is final. */
int pass_second_stream(struct graph *g, struct pass_env *env);

#endif
