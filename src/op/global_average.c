/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mean over all spatial axes: (N, C, ...) -> (N, C), or (N, C, 1, ...) with `keep`. The
 * gradient is made of other ops.
 *
 * CPU: tensors are channels-last. The pixels of a sample are divided into blocks of a fixed size,
 * independent of the number of threads. Blocks sum in float, and their sums are added in order, in
 * double. */
#include <string.h>

#include "base/err.h"
#include "base/round.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/emit.h"
#include "op/lib/fork.h"
#include "op/lib/grid.h"
#include "op/lib/row.h"
#include "op/lib/simd.h"

struct global_average {
	bool keep;
};

static const struct field fields[] = {
	FIELD_BOOL(struct global_average, keep, "false", "keep the spatial axes, with size 1"),
	FIELD_END
};

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	const struct global_average *at = n->attr;
	TRY(check_float(g, n, 0));
	TRY(check_rank(g, n, 0, 3, 5));
	struct grid x = grid_of(node_in_shape(g, n, 0));
	x.d[0] = x.d[1] = x.d[2] = 1;
	if (!at->keep)
		x.axes = 0;
	struct shape y = grid_shape(&x);
	return graph_out(g, n, 0, DTYPE_F32, &y);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	struct shape x = *node_in_shape(g, n, 0);
	struct grid one = grid_of(&x);
	double points = (double)grid_points(&one);
	one.d[0] = one.d[1] = one.d[2] = 1;
	struct shape kept = grid_shape(&one);
	tid t;
	if (dy[0] == NONE)
		return 0;
	TRY(emit_scale(g, dy[0], 1 / points, 0, &t));
	TRY(emit_reshape(g, t, &kept, &t));
	return emit_broadcast(g, t, &x, &dx[0]);
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = (double)shape_count(node_in_shape(g, n, 0));
}

/* --- reference kernel --- */

static int ref_run(const struct kplan *k, const struct kargs *a)
{
	struct grid x = grid_of(node_in_shape(k->g, k->n, 0));
	const double *in = a->in[0];
	double *out = a->out[0];
	for (int64_t p = 0; p < x.n * x.c; p++) {
		double sum = 0;
		for (int64_t i = 0; i < grid_points(&x); i++)
			sum += in[p * grid_points(&x) + i];
		out[p] = sum / (double)grid_points(&x);
	}
	return 0;
}

/* --- cpu kernel --- */

#define BLOCK       128   /* pixels */

static int64_t block_count(const struct grid *x)
{
	return ceil_div(grid_points(x), BLOCK);
}

/* Workspace: c floats for each block of each batch element. */
static int cpu_plan(struct kplan *k)
{
	struct grid *x = k->state = ARENA_NEW(k->arena, struct grid);
	*x = grid_of(node_in_shape(k->g, k->n, 0));
	k->ws_bytes = sizeof(float) * (size_t)(x->n * block_count(x) * x->c);
	return 0;
}

SIMD_INLINE void sum_rows(const void *x, const int bf16, int64_t rows, int64_t c, float *sum)
{
	memset(sum, 0, sizeof *sum * (size_t)c);
	for (int64_t r = 0; r < rows; r++)
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++)
			sum[j] += simd_get(x, bf16, r * c + j);
}

SIMD_CLONES(void, add_rows, (const void *x, int64_t rows, int64_t c, float *sum),
            (x, rows, c, sum))
{
	sum_rows(x, 0, rows, c, sum);
}

SIMD_CLONES(void, add_rows_bf16, (const void *x, int64_t rows, int64_t c, float *sum),
            (x, rows, c, sum))
{
	sum_rows(x, 1, rows, c, sum);
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	const struct grid *g = k->state;
	int64_t points = grid_points(g), blocks = block_count(g), c = g->c;
	bool bf16 = row_bf16(k, 0);
	float *part = a->ws, *y = a->out[0];
#pragma omp parallel for schedule(static) if (g->n * points * c > FORK_FLOATS)
	for (int64_t i = 0; i < g->n * blocks; i++) {
		int64_t first = i % blocks * BLOCK,
			rows = points - first < BLOCK ? points - first : BLOCK;
		const void *x = row_at(a->in[0], bf16, (i / blocks * points + first) * c);
		(bf16 ? add_rows_bf16 : add_rows)(x, rows, c, part + i * c);
	}
	for (int64_t i = 0; i < g->n * c; i++) {
		double sum = 0;
		for (int64_t b = 0; b < blocks; b++)
			sum += (double)part[(i / c * blocks + b) * c + i % c];
		y[i] = (float)(sum / (double)points);
	}
	return 0;
}

/* --- cuda kernel: channels are columns of a reduction --- */

#ifdef HAVE_CUDA
static int cuda_plan(struct kplan *k)
{
	const struct grid x = grid_of(node_in_shape(k->g, k->n, 0));
	struct k_reduce *r = k->state = ARENA_NEW(k->arena, struct k_reduce);
	*r = (struct k_reduce){
		.kept = { 1, x.n, { x.n }, { grid_points(&x) * x.c }, { x.c } },
		.summed = { 1, grid_points(&x), { grid_points(&x) }, { x.c }, { 0 } },
		.columns = x.c, .column_y = 1, .factor = 1 / (double)grid_points(&x) };
	k->ws_bytes = (size_t)k_reduce_workspace(r);
	return 0;
}

static int cuda_run(const struct kplan *k, const struct kargs *a)
{
	return cuda_launched(k,
	                     k_reduce_run(cuda_stream(k->dev), cuda_in_type(k, 0), cuda_out_type(k, 0),
	                                  k->state, a->in[0], a->out[0], a->ws));
}
#endif

/* --- samples --- */

static const char *const samples[] = { "2x3x5x7", "3x17x3x4x5; keep: true", "2x5x9",
	                               "2x48x16x19; keep: true", NULL };

/* --- records --- */

static const struct op op_global_average = {
	.name = "global_average",
	.doc = "mean over all spatial axes",
	.flags = OP_LAYER,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct global_average), .attrs = fields,
	.shape = shape, .grad = grad, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ref_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_run,
		                  .bf16_in = 1 },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_plan, .run = cuda_run, .bf16_in = 1)
	},
	.samples = samples,
};

OPSET(global_average, &op_global_average);
