/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the element-wise ops: checks of shape rules, the choice of a common layout, and the
 * parallel loop over flat buffers. Each element of the result is computed from the same element of
 * the inputs only, so every such op may run in place. */
#ifndef DLX_OP_LIB_WALK_H
#define DLX_OP_LIB_WALK_H

#include "graph/op.h"
#include "op/lib/reads.h"
#include "op/lib/walk_double.h"

/* --- shape rules --- */

bool node_has(const struct node *n, int i);          /* whether optional input i is present */
/* Check that input i is float32, is a scalar, or has the shape of input `like`. what: its role in
 * messages ("momentum"). */
int node_want_float(const struct graph *g, const struct node *n, int i, const char *what);
int node_want_scalar(const struct graph *g, const struct node *n, int i, const char *what);
int node_want_like(const struct graph *g, const struct node *n, int i, int like, const char *what);
/* The shape rule of ops whose inputs and single output are float32 of one shape. */
int walk_shape(struct graph *g, struct node *n);
/* Whether the gradient to input i is needed; if not, dx[i] stays NONE. */
bool grad_wanted(const struct graph *g, const struct node *n, int i);

/* --- cost --- */

/* One operation for each element of out[0]. */
void walk_cost(const struct graph *g, const struct node *n, struct cost *c);

/* --- layouts --- */

/* For ops that may turn zero into another value. Padding must stay zero, so all tensors of out[0]'s
 * shape get one layout without padding: that of a gradient's parameter, or of the first input, or
 * the native one. Other tensors are row-major. */
int walk_choose_dense(struct kplan *k, struct layout *in, struct layout *out);
/* The same for ops that map zero to zero: any common layout will do. */
int walk_choose_any(struct kplan *k, struct layout *in, struct layout *out);

/* --- kernels --- */

/* Calls range on pieces of [0, n), in parallel if n is large. Pieces start at multiples of 16. */
typedef void walk_range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi);
void walk_run(const struct kplan *k, const struct kargs *a, int64_t n, walk_range *range);
/* The same over the elements of out[0], for kernels whose tensors of that shape may be views. Their
 * `plan` is walk_plan, or calls it and does not change k->state. */
int walk_plan(struct kplan *k);
void walk_views(const struct kplan *k, const struct kargs *a, walk_range *range);
/* For takes_slice: any channels-last tensor of out[0]'s shape may become a view. */
bool walk_takes_slice(const struct kplan *k, bool output, int i);
#define WALK_VIEWS                                                                        \
	.plan = walk_plan, .slice_in = ~0u, .slice_out = ~0u, .takes_slice = walk_takes_slice

/* --- records --- */

/* WALK_ZERO is for ops with f(0) = 0: the loop includes padding, which stays zero. WALK_DENSE is
 * for all others: layouts have no padding. */
#define WALK_ZERO(fn) .layouts = KL_SAME, .run = fn, .bf16_in = 3, .bf16_out = 1
#define WALK_DENSE(fn) .layouts = KL_CHOOSE, .choose = walk_choose_dense, .run = fn, .bf16_in = 3, \
	.bf16_out = 1

/* The record of an op with one or two inputs and one output, all of one type and shape; the output
 * may share memory with any input. id_grad, id_reference, id_cpu and id_cuda are its functions.
 * layouts: WALK_ZERO or WALK_DENSE. */
#define WALK_RECORD(id, inputs, text, layouts_, samples_)                                          \
	static const struct op op_##id = {                                                             \
		.name = #id, .doc = text, .flags = OP_LAYER | OP_ELEMENTWISE,                              \
		.min_in = inputs, .max_in = inputs, .nout = 1,                                             \
		.inplace = (1 << inputs) - 1, .shape = walk_shape, .grad = id##_grad, .cost = walk_cost,   \
		.reads = reads_point,                                                                      \
		.kernel = {                                                                                \
			WALK_DOUBLE(id##_reference),                                                           \
			[BACKEND_CPU] = { layouts_(id##_cpu), WALK_VIEWS },                                    \
			CUDA_KERNEL(layouts_(id##_cuda), CUDA_VIEWS, .bf16 = KB_ALIKE)                         \
		},                                                                                         \
		.samples = samples_,                                                                       \
	}

#endif
