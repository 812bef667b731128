/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gradient clipping by the norm over all parameters:
 *
 *   sum_squares  <x, x>, of one gradient
 *   clip_factor  min(1, max_norm / sqrt(s1 + ... + sn)) from the sums of all gradients
 *
 * The factor reaches the optimizers as their grad_scale. */
#include <limits.h>
#include <math.h>

#include "base/err.h"
#include "op/emit.h"
#include "op/simd.h"
#include "op/update.h"
#include "op/walk.h"

/* --- attributes --- */

static const struct field clip_factor_fields[] = {
	FIELD_FLOAT(struct clip_factor_attr, max_norm, "", 1e-30, 1e30,
	            "largest norm that is left alone"),
	FIELD_END
};

/* --- shape --- */

static int sum_squares_shape(struct graph *g, struct node *n)
{
	const struct shape scalar = { 0 };

	TRY(node_want_float(g, n, 0, "input"));
	return graph_out(g, n, 0, DTYPE_F32, &scalar);
}

static int clip_factor_shape(struct graph *g, struct node *n)
{
	const struct shape scalar = { 0 };

	for (int i = 0; i < n->nin; i++) {
		TRY(node_want_float(g, n, i, "input"));
		TRY(node_want_scalar(g, n, i, "input"));
	}
	return graph_out(g, n, 0, DTYPE_F32, &scalar);
}

/* --- grad --- */

static int sum_squares_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;

	TRY(graph_emit1(g, "scale_by", NULL, 2, (tid[]){ n->in[0], dy[0] }, &t));
	return emit_scale(g, t, 2, 0, &dx[0]);
}

/* --- cost --- */

static void sum_squares_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops += 2 * (double)shape_count(node_in_shape(g, n, 0));
}

static void clip_factor_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops += n->nin + 2;
}

/* --- layouts: whatever x has, padding adds zeros --- */

static int sum_squares_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	if (!in[0].set)
		in[0] = layout_native(node_in_shape(k->g, k->n, 0));
	out[0] = layout_plain(node_out_shape(k->g, k->n, 0));
	return 0;
}

/* --- kernels --- */

/* A sum over fixed pieces: each thread adds up whole pieces in double, then one thread adds the
 * pieces' sums in order. */
#define SQUARES_PIECE 16384

static int64_t squares_pieces(const struct kplan *k)
{
	return (kplan_in_elements(k, 0) + SQUARES_PIECE - 1) / SQUARES_PIECE;
}

static int sum_squares_plan(struct kplan *k)
{
	k->ws_bytes = (size_t)squares_pieces(k) * sizeof(double);
	return 0;
}

SIMD_CLONES static double squares(const float *x, int64_t n)
{
	double sum = 0;

#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	return sum;
}

static int sum_squares_cpu(const struct kplan *k, const struct kargs *a)
{
	const float *x = a->in[0];
	double *part = a->ws, sum = 0;
	int64_t n = kplan_in_elements(k, 0), pieces = squares_pieces(k);

#pragma omp parallel for schedule(static) if (pieces > 2)
	for (int64_t i = 0; i < pieces; i++)
		part[i] = squares(x + i * SQUARES_PIECE,
		                  i + 1 < pieces ? SQUARES_PIECE : n - i * SQUARES_PIECE);
	for (int64_t i = 0; i < pieces; i++)
		sum += part[i];
	*(float *)a->out[0] = (float)sum;
	return 0;
}

static int sum_squares_reference(const struct kplan *k, const struct kargs *a)
{
	const double *x = a->in[0];
	double *y = a->out[0], sum = 0;
	int64_t n = kplan_in_elements(k, 0);

	for (int64_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	*y = sum;
	return 0;
}

/* A NaN among the sums gives a NaN: a broken gradient is not to pass for a clipped one. */
static double clip_factor(double squares_sum, double max_norm)
{
	double norm = sqrt(squares_sum);

	return norm <= max_norm ? 1 : max_norm / norm;
}

static int clip_factor_reference(const struct kplan *k, const struct kargs *a)
{
	const struct clip_factor_attr *at = k->n->attr;
	double *y = a->out[0], sum = 0;

	for (int i = 0; i < k->n->nin; i++)
		sum += *(const double *)a->in[i];
	*y = clip_factor(sum, at->max_norm);
	return 0;
}

static int clip_factor_cpu(const struct kplan *k, const struct kargs *a)
{
	const struct clip_factor_attr *at = k->n->attr;
	double sum = 0;

	for (int i = 0; i < k->n->nin; i++)
		sum += (double)*(const float *)a->in[i];
	*(float *)a->out[0] = (float)clip_factor(sum, at->max_norm);
	return 0;
}

/* --- samples --- */

static const char *const sum_squares_samples[] = { "2x3x4x5", "7", "s", "1x3x5x2x3", "3x37", NULL };
static const char *const clip_factor_samples[] = {
	"s:positive; max_norm: 0.5", "s:positive s:positive s:positive; max_norm: 100",
	"s:zero; max_norm: 1", NULL
};

/* --- records --- */

static const struct op op_sum_squares = {
	.name = "sum_squares",
	.doc = "sum of the squares of all elements",
	.min_in = 1, .max_in = 1, .nout = 1,
	.shape = sum_squares_shape, .grad = sum_squares_grad, .cost = sum_squares_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = sum_squares_reference },
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = sum_squares_choose,
		                  .plan = sum_squares_plan, .run = sum_squares_cpu },
	},
	.samples = sum_squares_samples,
};

static const struct op op_clip_factor = {
	.name = "clip_factor",
	.doc = "min(1, max_norm / norm) with norm the root of the sum of the inputs",
	.flags = OP_NOGRAD,
	.min_in = 1, .max_in = INT_MAX, .nout = 1,
	.attr_size = sizeof(struct clip_factor_attr), .attrs = clip_factor_fields,
	.shape = clip_factor_shape, .cost = clip_factor_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = clip_factor_reference },
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .run = clip_factor_cpu },
	},
	.samples = clip_factor_samples,
};

OPSET(clip, &op_sum_squares, &op_clip_factor);
