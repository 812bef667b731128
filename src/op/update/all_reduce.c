/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An all-reduce as two nodes, so that other nodes run in between (comm/reducer.h implements it):
 *
 *   all_reduce_start   (x, g)... -> x': x' = factor g, and starts the bucket's all-reduce
 *   all_reduce_wait    x'... -> x'': the sum over all ranks, the same bits on each
 *
 * The inputs are pairs of a state x and a tensor g of its shape. With a 32-bit wire type, x is
 * stored in the reducer's buffer and reduced in place. With a 16-bit wire type the buffer holds the
 * values in that type, and the wait writes the result to x. A device without a reducer has one
 * rank, and values do not change. */
#include "op/update/all_reduce.h"

#include <limits.h>

#include "base/err.h"
#include "base/simd.h"
#include "comm/reducer.h"
#include "comm/sum.h"
#include "op/lib/cuda.h"
#include "op/update/bundle_cuda.h"

const char *const all_reduce_wires[] = { "f32", "bf16", "fp16", NULL };

enum dtype all_reduce_dtype(int wire)
{
	return (const enum dtype[]){ DTYPE_F32, DTYPE_BF16, DTYPE_F16 }[wire];
}

/* --- attributes --- */

static const struct field fields[] = {
	FIELD_INT(struct all_reduce_attr, group, "0", 0, INT_MAX, "group of the reducer"),
	FIELD_ENUM(struct all_reduce_attr, wire, "f32", all_reduce_wires, "element type between ranks"),
	FIELD_FLOAT(struct all_reduce_attr, factor, "1", 0, 1e30,
	            "what values are multiplied by first"),
	FIELD_END
};

static const char *const start_member[] = { "sum", "value" };
static const struct bundle_form start_form = { 0, 2, 1, start_member };
static const struct bundle_form wait_form = { 0, 1, 1, start_member };

/* --- shape --- */

static int start_shape(struct graph *g, struct node *n)
{
	TRY(bundle_check(g, n, start_form));
	for (int i = 0; i < bundle_groups(n, start_form); i++)
		TRY(graph_out_alias(g, n, i, 2 * i));
	return 0;
}

static int wait_shape(struct graph *g, struct node *n)
{
	TRY(bundle_check(g, n, wait_form));
	for (int i = 0; i < n->nin; i++)
		TRY(graph_out_alias(g, n, i, i));
	return 0;
}

static void start_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	for (int i = 0; i < n->nout; i++)
		c->flops += (double)shape_count(node_out_shape(g, n, i));
}

/* Values in float32 are where they are summed. */
static void wait_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	if (all_reduce_waits(n)->wire == 0)
		c->bytes = 0;
}

/* --- layouts --- */

static int start_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, start_form, in, out);
}

static int wait_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, wait_form, in, out);
}

/* --- kernels --- */

static const struct all_reduce_attr *attr(const struct kplan *k)
{
	return k->n->attr;
}

static int start_plan(struct kplan *k)
{
	return bundle_plan(k, start_form);
}

static int wait_plan(struct kplan *k)
{
	return bundle_plan(k, wait_form);
}

/* NULL: there is one rank. */
static struct reducer *reducer_of(const struct kargs *a)
{
	return a->sums ? a->sums->gradients : NULL;
}

/* The address of tensor t's values in the group's buffer of 16-bit elements. */
static uint16_t *on_wire(const struct kplan *k, const struct kargs *a,
                         struct bundle_form form, int t)
{
	char *at = reducer_bucket_memory(reducer_of(a), (int)attr(k)->group);
	for (int i = 0; i < t; i++)
		at += all_reduce_bytes(kplan_in_elements(k, i * form.in), all_reduce_dtype(attr(k)->wire));
	return (uint16_t *)(void *)at;
}

SIMD_CLONES(void, scale_range,
            (float *restrict x, const float *restrict g, float factor, int64_t n),
            (x, g, factor, n))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++)
		x[i] = factor * g[i];
}

/* Elements of a piece, which stays in the first-level cache. */
#define WIRE_PIECE 1024

static void to_wire(uint16_t *w, const float *g, float factor, int64_t n, enum dtype t)
{
	float scaled[WIRE_PIECE];
	for (int64_t i = 0; i < n; i += WIRE_PIECE) {
		int64_t m = n - i < WIRE_PIECE ? n - i : WIRE_PIECE;
		scale_range(scaled, g + i, factor, m);
		sum_narrow(t, w + i, scaled, m);
	}
}

static void start_range(const struct kplan *k, const struct kargs *a, int t, int64_t lo, int64_t hi)
{
	const float *g = a->in[1 + 2 * t];
	float factor = (float)attr(k)->factor;
	if (attr(k)->wire == 0 || !reducer_of(a))
		scale_range((float *)a->out[t] + lo, g + lo, factor, hi - lo);
	else
		to_wire(on_wire(k, a, start_form, t) + lo, g + lo, factor, hi - lo,
		        all_reduce_dtype(attr(k)->wire));
}

static void wait_range(const struct kplan *k, const struct kargs *a, int t, int64_t lo, int64_t hi)
{
	const uint16_t *w = on_wire(k, a, wait_form, t);
	sum_widen(all_reduce_dtype(attr(k)->wire), (float *)a->out[t] + lo, w + lo, hi - lo);
}

static void start_range_reference(const struct kplan *k, const struct kargs *a, int t, int64_t lo,
                                  int64_t hi)
{
	const double *g = a->in[1 + 2 * t];
	double *x = a->out[t];
	for (int64_t i = lo; i < hi; i++)
		x[i] = attr(k)->factor * g[i];
}

static int start_reference(const struct kplan *k, const struct kargs *a)
{
	bundle_run(k, a, start_range_reference);
	if (reducer_of(a))
		reducer_start(reducer_of(a), (int)attr(k)->group);
	return 0;
}

static int wait_reference(const struct kplan *k, const struct kargs *a)
{
	return reducer_of(a) ? reducer_wait(reducer_of(a), (int)attr(k)->group) : 0;
}

static int start_cpu(const struct kplan *k, const struct kargs *a)
{
	bundle_run(k, a, start_range);
	if (reducer_of(a))
		reducer_start(reducer_of(a), (int)attr(k)->group);
	return 0;
}

static int wait_cpu(const struct kplan *k, const struct kargs *a)
{
	int group = (int)attr(k)->group;

	/* A sum that was completed before a checkpoint, or was read from one, is in x already. */
	if (!reducer_of(a) || !reducer_under_way(reducer_of(a), group))
		return 0;
	TRY(reducer_wait(reducer_of(a), group));
	if (attr(k)->wire)
		bundle_run(k, a, wait_range);
	return 0;
}

#ifdef HAVE_CUDA
static int start_cuda_plan(struct kplan *k)
{
	return bundle_cuda_plan(k, start_form);
}

static void start_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                       int row, int t)
{
	(void)k;
	table->p[0][row] = a->out[t];
	table->p[1][row] = a->in[1 + 2 * t];
}

static int start_launch(const struct kplan *k, const struct kargs *a, const struct k_table *table,
                        int group, int64_t block)
{
	(void)a;
	(void)group;
	(void)block;
	return cuda_launched(k, k_scaled(cuda_stream(k->dev), table, (float)attr(k)->factor));
}

static void to_wire_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                         int row, int t)
{
	table->p[0][row] = on_wire(k, a, start_form, t);
	table->p[1][row] = a->in[1 + 2 * t];
}

static int to_wire_launch(const struct kplan *k, const struct kargs *a, const struct k_table *table,
                          int group, int64_t block)
{
	(void)a;
	(void)group;
	(void)block;
	return cuda_launched(k, k_scaled_to(cuda_stream(k->dev), (int)all_reduce_dtype(attr(k)->wire),
	                                    table, (float)attr(k)->factor));
}

static int start_cuda(const struct kplan *k, const struct kargs *a)
{
	bool as_it_is = attr(k)->wire == 0 || !reducer_of(a);
	struct bundle_launch how = { as_it_is ? start_fill : to_wire_fill,
		as_it_is ? start_launch : to_wire_launch };
	TRY(bundle_cuda_run(k, a, &how));
	if (reducer_of(a))
		reducer_start(reducer_of(a), (int)attr(k)->group);
	return 0;
}

static int wait_cuda_plan(struct kplan *k)
{
	return bundle_cuda_plan(k, wait_form);
}

static void wait_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                      int row, int t)
{
	table->p[0][row] = a->out[t];
	table->p[1][row] = on_wire(k, a, wait_form, t);
}

static int wait_launch(const struct kplan *k, const struct kargs *a, const struct k_table *table,
                       int group, int64_t block)
{
	(void)a;
	(void)group;
	(void)block;
	return cuda_launched(k, k_widened(cuda_stream(k->dev), (int)all_reduce_dtype(attr(k)->wire),
	                                  table));
}

static int wait_cuda(const struct kplan *k, const struct kargs *a)
{
	if (!reducer_of(a))
		return 0;
	TRY(reducer_wait(reducer_of(a), (int)attr(k)->group));
	return attr(k)->wire ? bundle_cuda_run(k, a, &(struct bundle_launch){ wait_fill,
		wait_launch }) : 0;
}
#endif

/* --- samples --- */

static const char *const start_samples[] = {
	"5@ 5", "3x5@ 3x5 7@ 7 s@ s; factor: 0.25", "113x211@ 113x211; factor: 0.5", NULL
};
static const char *const wait_samples[] = { "5@", "3x5@ 7@ s@", NULL };

/* --- records --- */

static const struct op op_start = {
	.name = "all_reduce_start",
	.doc = "(x, g)... -> x' = factor g, and their sum over all ranks begins",
	.flags = OP_UPDATE | OP_NODCE | OP_BEGINS,
	.min_in = 2, .max_in = INT_MAX, .nout = -1,
	.attr_size = sizeof(struct all_reduce_attr), .attrs = fields,
	.shape = start_shape, .cost = start_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = start_plan, .run = start_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = start_choose, .plan = start_plan,
			.run = start_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = start_choose, .plan = start_cuda_plan,
		            .run = start_cuda)
	},
	.samples = start_samples,
};

static const struct op op_wait = {
	.name = "all_reduce_wait",
	.doc = "x... -> the sum over all ranks that was begun with x",
	.flags = OP_UPDATE | OP_NODCE | OP_AWAITS,
	.min_in = 1, .max_in = INT_MAX, .nout = -1,
	.attr_size = sizeof(struct all_reduce_attr), .attrs = fields,
	.shape = wait_shape, .cost = wait_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = wait_plan, .run = wait_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = wait_choose, .plan = wait_plan,
			.run = wait_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = wait_choose, .plan = wait_cuda_plan,
		            .run = wait_cuda)
	},
	.samples = wait_samples,
};

OPSET(all_reduce, &op_start, &op_wait);

const struct all_reduce_attr *all_reduce_begins(const struct node *n)
{
	return n->op == &op_start ? n->attr : NULL;
}

const struct all_reduce_attr *all_reduce_waits(const struct node *n)
{
	return n->op == &op_wait ? n->attr : NULL;
}
