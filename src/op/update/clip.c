/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gradient clipping by the norm over all parameters:
 *
 *   sum_squares  <x1, x1> + <x2, x2> + ..., of many gradients at once (op/update/bundle.h)
 *   clip_factor  scale min(1, max_norm / (scale sqrt(s1 + ... + sn))) from the sums of all
 *                gradients; a gradient counts as multiplied by scale
 *
 * The optimizers take the factor as their input grad_scale. */
#include <limits.h>
#include <math.h>

#include "base/err.h"
#include "base/simd.h"
#include "op/lib/cuda.h"
#include "op/lib/emit.h"
#include "op/lib/walk.h"
#include "op/update/bundle_cuda.h"
#include "op/update/update.h"

/* --- attributes --- */

static const struct field clip_factor_fields[] = {
	FIELD_FLOAT(struct clip_factor_attr, max_norm, "", 1e-30, 1e30,
	            "largest norm that is left alone"),
	FIELD_END
};

/* --- shape --- */

static const char *const squares_member[] = { "input" };
static const struct bundle_form squares_form = { 0, 1, 0, squares_member };

static int sum_squares_shape(struct graph *g, struct node *n)
{
	const struct shape scalar = { 0 };
	TRY(bundle_check(g, n, squares_form));
	return graph_out(g, n, 0, DTYPE_F32, &scalar);
}

static int clip_factor_shape(struct graph *g, struct node *n)
{
	const struct shape scalar = { 0 };
	if (n->nin < 2)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' needs a sum", n->op->name);
	for (int i = 0; i < n->nin; i++) {
		if (i == 0 && !node_has(n, 0))
			continue;
		TRY(node_want_float(g, n, i, "input"));
		TRY(node_want_scalar(g, n, i, "input"));
	}
	return graph_out(g, n, 0, DTYPE_F32, &scalar);
}

/* --- grad --- */

static int sum_squares_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	for (int i = 0; i < n->nin; i++) {
		if (!grad_wanted(g, n, i))
			continue;
		TRY(graph_emit1(g, "scale_by", NULL, 2, (tid[]){ n->in[i], dy[0] }, &t));
		TRY(emit_scale(g, t, 2, 0, &dx[i]));
	}
	return 0;
}

/* --- cost --- */

static void sum_squares_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	for (int i = 0; i < n->nin; i++)
		c->flops += 2 * (double)shape_count(node_in_shape(g, n, i));
}

static void clip_factor_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops += n->nin + 2;
}

/* --- layouts: an input may have any, since padding adds zeros --- */

static int sum_squares_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, squares_form, in, out);
}

/* --- kernels --- */

/* Sums over pieces of fixed size: threads sum whole pieces in double, then one thread adds the sums
 * of the pieces in order. */
static int sum_squares_plan(struct kplan *k)
{
	TRY(bundle_plan(k, squares_form));
	k->ws_bytes = (size_t)bundle_pieces(k) * sizeof(double);
	return 0;
}

SIMD_CLONES(double, squares, (const float *x, int64_t n), (x, n))
{
	double sum = 0;

#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	return sum;
}

static void squares_piece(const struct kplan *k, const struct kargs *a, int t, int64_t lo,
                          int64_t hi, int64_t number)
{
	((double *)a->ws)[number] = squares((const float *)a->in[t] + lo, hi - lo);
}

static void squares_piece_reference(const struct kplan *k, const struct kargs *a, int t, int64_t lo,
                                    int64_t hi, int64_t number)
{
	const double *x = a->in[t];
	double sum = 0;
	for (int64_t i = lo; i < hi; i++)
		sum += x[i] * x[i];
	((double *)a->ws)[number] = sum;
}

static double sum_of_pieces(const struct kplan *k, const struct kargs *a)
{
	const double *part = a->ws;
	double sum = 0;
	for (int64_t i = 0; i < bundle_pieces(k); i++)
		sum += part[i];
	return sum;
}

static int sum_squares_cpu(const struct kplan *k, const struct kargs *a)
{
	bundle_run_pieces(k, a, squares_piece);
	*(float *)a->out[0] = (float)sum_of_pieces(k, a);
	return 0;
}

static int sum_squares_reference(const struct kplan *k, const struct kargs *a)
{
	bundle_run_pieces(k, a, squares_piece_reference);
	*(double *)a->out[0] = sum_of_pieces(k, a);
	return 0;
}

/* If a sum is NaN the factor is NaN, so that a broken gradient does not look like a clipped one. */
static double clip_factor(double squares_sum, double scale, double max_norm)
{
	double norm = scale * sqrt(squares_sum);
	return norm <= max_norm ? scale : scale * (max_norm / norm);
}

static double number(const void *p, bool wide)
{
	return wide ? *(const double *)p : (double)*(const float *)p;
}

static double factor(const struct kplan *k, const struct kargs *a, bool wide)
{
	const struct clip_factor_attr *at = k->n->attr;
	double sum = 0, scale = node_has(k->n, 0) ? number(a->in[0], wide) : 1;
	for (int i = 1; i < k->n->nin; i++)
		sum += number(a->in[i], wide);
	return clip_factor(sum, scale, at->max_norm);
}

static int clip_factor_reference(const struct kplan *k, const struct kargs *a)
{
	*(double *)a->out[0] = factor(k, a, true);
	return 0;
}

static int clip_factor_cpu(const struct kplan *k, const struct kargs *a)
{
	*(float *)a->out[0] = (float)factor(k, a, false);
	return 0;
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int sum_squares_cuda_plan(struct kplan *k)
{
	TRY(bundle_cuda_plan(k, squares_form));
	k->ws_bytes = (size_t)bundle_cuda_blocks(k) * sizeof(double);
	return 0;
}

static bool squares_takes_narrow(const struct node *n, int i)
{
	return bundle_is_gradient(n, squares_form, i);
}

static void squares_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                         int row, int t)
{
	(void)k;
	table->p[0][row] = a->in[t];
}

static int squares_launch(const struct kplan *k, const struct kargs *a, const struct k_table *table,
                          int group, int64_t block)
{
	(void)group;
	return cuda_launched(k, k_bundle_parts(cuda_stream(k->dev), K_SQUARES, table, NULL,
	                                       (double *)a->ws + block));
}

static int sum_squares_cuda(const struct kplan *k, const struct kargs *a)
{
	TRY(bundle_cuda_run(k, a, &(struct bundle_launch){ squares_fill, squares_launch }));
	return cuda_launched(k, k_bundle_join(cuda_stream(k->dev), K_SQUARES, bundle_cuda_blocks(k),
	                                      a->ws, a->out[0]));
}

static int clip_factor_cuda_plan(struct kplan *k)
{
	k->ws_bytes = (size_t)k->n->nin * sizeof(float);
	return 0;
}

static int clip_factor_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct clip_factor_attr *at = k->n->attr;
	void *stream = cuda_stream(k->dev);
	const int sums = k->n->nin - 1;
	TRY(cuda_launched(k, k_gather(stream, sums, (const void *const *)a->in + 1, a->ws)));
	return cuda_launched(k, k_clip_factor(stream, sums, a->ws, a->in[0], at->max_norm, a->out[0]));
}
#endif

/* --- samples --- */

static const char *const sum_squares_samples[] = {
	"2x3x4x5", "7", "s", "1x3x5x2x3", "3x37", "2x3x4x5 7 s 3x37", NULL
};
static const char *const clip_factor_samples[] = {
	"- s:positive; max_norm: 0.5", "- s:positive s:positive s:positive; max_norm: 100",
	"- s:zero; max_norm: 1", "s:positive s:positive s:positive; max_norm: 0.5",
	"s:positive s:positive; max_norm: 3", NULL
};

/* --- records --- */

static const struct op op_sum_squares = {
	.name = "sum_squares",
	.doc = "sum of the squares of all elements of all inputs",
	.min_in = 1, .max_in = INT_MAX, .nout = 1,
	.shape = sum_squares_shape, .grad = sum_squares_grad, .cost = sum_squares_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = sum_squares_plan,
		                     .run = sum_squares_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = sum_squares_choose,
		                  .plan = sum_squares_plan, .run = sum_squares_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = sum_squares_choose,
		            .plan = sum_squares_cuda_plan,
		            .run = sum_squares_cuda, .takes_narrow = squares_takes_narrow)
	},
	.samples = sum_squares_samples,
};

static const struct op op_clip_factor = {
	.name = "clip_factor",
	.doc = "(scale?, sum...) -> scale min(1, max_norm / norm), norm = scale "
	       "times the root of the sums",
	.flags = OP_NOGRAD,
	.min_in = 0, .max_in = INT_MAX, .nout = 1,
	.attr_size = sizeof(struct clip_factor_attr), .attrs = clip_factor_fields,
	.shape = clip_factor_shape, .cost = clip_factor_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = clip_factor_reference),
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .run = clip_factor_cpu },
		CUDA_KERNEL(.layouts = KL_PLAIN, .plan = clip_factor_cuda_plan, .run = clip_factor_cuda)
	},
	.samples = clip_factor_samples,
};

OPSET(clip, &op_sum_squares, &op_clip_factor);
