/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The passes of this folder, and pass_run, which runs a table of passes and verifies the graph
 * after each. The table of a whole compilation is in plan/plan.c and also contains passes of other
 * folders. */
#ifndef DLX_PASS_PASS_H
#define DLX_PASS_PASS_H

#include <stdio.h>

#include "graph/verify.h"

struct pass_env {
	enum backend backend;
	const struct device *dev;
	const struct plan_env *plan; /* inputs of the planner (network, precision, ...); the passes for
	                              * types and layouts need it */
	const char *dump;        /* name of the pass after which the graph is dumped ("all": after
	                          * each), or NULL */
	bool dump_dot;
	FILE *dump_to;
	void *user;              /* private data of the caller, for its own passes */
};

struct pass {
	const char *name;
	const char *doc;
	int (*run)(struct graph *g, struct pass_env *env);
	enum stage stage;        /* the graph's stage after this pass */
};

/* Runs the passes in order, except those that DLX_DEBUG=skip= names. After each pass it dumps the
 * graph if required and verifies it. Errors name the pass. */
int pass_run(struct graph *g, const struct pass *table, int n, struct pass_env *env);

/* Moves ReLU and other monotonic activations after max-pooling, where they have fewer elements.
 * Runs before differentiation. */
int pass_commute(struct graph *g, struct pass_env *env);
/* Simplifies identities: add 0, multiply by 1, a scale of a scale, transposes and reshapes that can
 * be joined or have no effect. Output tensors are kept. */
int pass_fold(struct graph *g, struct pass_env *env);
/* Dead-code elimination: removes nodes whose outputs have no reader. Updates, outputs and nodes
 * flagged OP_NODCE are kept. */
int pass_dce(struct graph *g, struct pass_env *env);
/* Merges adds of channel slices into slices of one add. */
int pass_slice_adds(struct graph *g, struct pass_env *env);
/* Replaces groups of nodes by fused ops for which env->backend has kernels. Tensors that the host
 * reads are kept. */
int pass_fuse(struct graph *g, struct pass_env *env);
/* Where norms read concatenations of the same tensors, computes the batch statistics of each
 * concatenated piece only once. */
int pass_piece_statistics(struct graph *g, struct pass_env *env);
/* Second half of pass_piece_statistics: rewrites the gradients of the norms whose statistics are
 * shared. */
int piece_statistics_grad(struct graph *g);
/* Common subexpression elimination: of several nodes with equal op, attributes and inputs only the
 * first is kept. Tensors that the host reads are kept. */
int pass_cse(struct graph *g, struct pass_env *env);
/* On GPUs: replaces conv and a batch_norm that reads its result by conv_statistics (the convolution
 * also sums the batch statistics) and batch_norm_apply. Runs after pass `statistics`, because norms
 * over several ranks are left as they are. */
int pass_conv_statistics(struct graph *g, struct pass_env *env);
/* Fuses batch norm and ReLU into the convolutions that read their result. For GPUs that compute in
 * 16 bits: with dlx's own kernels for depthwise convolutions, and in fp16 with the engines that
 * cuDNN recommends. Runs after pass `conv_statistics`. */
int pass_prologue(struct graph *g, struct pass_env *env);
/* On GPUs: stores the signs of activations as bits, and lets the gradient of the norm read these
 * instead of the activations (op/norm/norm.h). */
int pass_signs(struct graph *g, struct pass_env *env);
/* On GPUs: updates the running statistics of all norms in one node. */
int pass_running_statistics(struct graph *g, struct pass_env *env);
/* Chooses element types. On the reference device, and on a CPU in float64, all floats become F64;
 * an op without an F64 kernel is refused. Elsewhere, if env->plan->compute is a 16-bit type, it
 * looks for kernels that are faster in 16 bits (enum kernel_bf16): tensors on a path to such a
 * kernel become 16 bits wide, separately in forward and in backward, and `cast` nodes convert.
 * Params, their gradients, states, losses and the update stay F32. */
int pass_precision(struct graph *g, struct pass_env *env);
/* Chooses the physical layout of each tensor and inserts `reorder` nodes, at most one for each
 * (tensor, layout). Sets g->backend. */
int pass_layout(struct graph *g, struct pass_env *env);
/* Keeps 16-bit copies of params, after the choice of layouts, in graphs that train. The cast of a
 * param to 16 bits, and each reorder of such a cast, becomes a state: the update of the param
 * writes it together with the new value, and op weight_copy initialises it when a plan begins. keep
 * false: no copies are kept, and reorders of casts become casts. */
int copies_make(struct graph *g, const struct device *dev, bool keep);
/* Avoids the copies of concatenations and slices of channels: the pieces become views of one tensor
 * (graph/view.h). */
int pass_views(struct graph *g, struct pass_env *env);
/* Chooses the order of nodes. An update runs as soon as the last reader of the state has run, so
 * all phases must then be run in one traversal. With gradient accumulation (a node named
 * `accumulate`) the update phase comes after forward and backward and can be run separately. */
int pass_sched(struct graph *g, struct pass_env *env);
/* If the input of a ReLU is kept in memory anyway, computes the ReLU's mask from it rather than
 * from the output. The order of nodes is final by now, except for recomputed nodes. */
int pass_masks(struct graph *g, struct pass_env *env);
/* Lets a sum overwrite one of its operands in memory. Needs the order of nodes. */
int pass_in_place(struct graph *g, struct pass_env *env);
/* Sets read_first of those prefetched inputs that only the first nodes of a step read, so that
 * their memory is free early. The order of nodes is final by now; later passes may only add nodes
 * after the readers of those inputs. */
int pass_intake(struct graph *g, struct pass_env *env);
/* Sets node.join: chooses nodes that a GPU runs on its second stream, concurrently with the others.
 * The order of nodes is final by now. */
int pass_second_stream(struct graph *g, struct pass_env *env);

#endif
