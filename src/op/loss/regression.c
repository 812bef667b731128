/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses of a prediction x against a target t of equal shape, means over all n elements, d = x - t:
 *   mse_loss    d^2
 *   l1_loss     |d|
 *   huber_loss  d^2 / 2 up to |d| = delta, then delta (|d| - delta / 2)
 * as PyTorch has them. The second output is the weight of the mean, n. The gradient of mse_loss is
 * ordinary graph, so it can be differentiated again; the others' are separate ops. A NaN target is
 * no special case: it makes the loss NaN. */
#include <math.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/emit.h"
#include "op/lib/fork.h"
#include "op/lib/simd.h"
#include "op/loss/pointwise_error.h"

struct huber {
	double delta;
};

static const struct field huber_fields[] = {
	FIELD_FLOAT(struct huber, delta, "1", 1e-12, 1e12, "where the square turns into a line"),
	FIELD_END
};

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 };
	TRY(pointwise_error_check(g, n));
	TRY(graph_out(g, n, 0, DTYPE_F32, &scalar));
	return graph_out(g, n, 1, DTYPE_F32, &scalar);
}

static int grad_shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 }, x = *node_in_shape(g, n, 0);
	TRY(pointwise_error_check(g, n));
	TRY(check_shape(g, n, 2, &scalar));
	return graph_out(g, n, 0, DTYPE_F32, &x);
}

/* --- grad --- */

/* Given dx[0], computes the target's gradient, which is its negative. */
static int target_gradient(struct graph *g, const struct node *n, tid *dx)
{
	return graph_t(g, n->in[1])->requires_grad ? emit_scale(g, dx[0], -1, 0, &dx[1]) : 0;
}

static int mse_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	double count = (double)shape_count(node_in_shape(g, n, 0));
	tid d, factor;
	if (dy[0] == NONE)
		return 0;
	TRY(emit_sub(g, n->in[0], n->in[1], &d));
	TRY(emit_scale(g, dy[0], 2 / count, 0, &factor));
	TRY(graph_emit1(g, "scale_by", NULL, 2, (tid[]){ d, factor }, &dx[0]));
	return target_gradient(g, n, dx);
}

static int l1_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (dy[0] == NONE)
		return 0;
	TRY(graph_emit1(g, "l1_loss_grad", NULL, 3, (tid[]){ n->in[0], n->in[1], dy[0] }, &dx[0]));
	return target_gradient(g, n, dx);
}

static int huber_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (dy[0] == NONE)
		return 0;
	TRY(graph_emit1(g, "huber_loss_grad", n->attr, 3, (tid[]){ n->in[0], n->in[1], dy[0] },
	                &dx[0]));
	return target_gradient(g, n, dx);
}

/* --- reference kernels --- */

static double delta_of(const struct kplan *k)
{
	return k->n->attr ? ((const struct huber *)k->n->attr)->delta : 0;
}

static int64_t count_of(const struct kplan *k)
{
	return shape_count(node_in_shape(k->g, k->n, 0));
}

static int ref_any(const struct kplan *k, const struct kargs *a, enum pointwise_error f)
{
	int64_t n = count_of(k);
	*(double *)a->out[0] =
		pointwise_error_sum_reference(f, delta_of(k), a->in[0], a->in[1], n) / (double)n;
	*(double *)a->out[1] = (double)n;
	return 0;
}

static int ref_mse_run(const struct kplan *k, const struct kargs *a)
{
	return ref_any(k, a, ERROR_SQUARE);
}

static int ref_l1_run(const struct kplan *k, const struct kargs *a)
{
	return ref_any(k, a, ERROR_ABSOLUTE);
}

static int ref_huber_run(const struct kplan *k, const struct kargs *a)
{
	return ref_any(k, a, ERROR_HUBER);
}

static int ref_l1_grad_run(const struct kplan *k, const struct kargs *a)
{
	int64_t n = count_of(k);
	const double *x = a->in[0], *t = a->in[1], f = *(const double *)a->in[2] / (double)n;
	double *dx = a->out[0];
	for (int64_t i = 0; i < n; i++) {
		double d = x[i] - t[i];
		dx[i] = isnan(d) ? d : f * ((d > 0) - (d < 0));
	}
	return 0;
}

static int ref_huber_grad_run(const struct kplan *k, const struct kargs *a)
{
	int64_t n = count_of(k);
	const double *x = a->in[0], *t = a->in[1], f = *(const double *)a->in[2] / (double)n,
		     delta = delta_of(k);
	double *dx = a->out[0];
	for (int64_t i = 0; i < n; i++) {
		double d = x[i] - t[i];
		dx[i] = f * (d > delta ? delta : d < -delta ? -delta : d);
	}
	return 0;
}

/* --- cpu kernels --- */

#define PIECE 4096 /* elements */

static int cpu_plan(struct kplan *k)
{
	k->ws_bytes = pointwise_error_workspace(count_of(k));
	return 0;
}

static int cpu_any(const struct kplan *k, const struct kargs *a, enum pointwise_error f)
{
	int64_t n = count_of(k);
	*(float *)a->out[0] =
		(float)(pointwise_error_sum(f, (float)delta_of(k), a->in[0], a->in[1], n, a->ws) /
	                (double)n);
	*(float *)a->out[1] = (float)n;
	return 0;
}

static int cpu_mse_run(const struct kplan *k, const struct kargs *a)
{
	return cpu_any(k, a, ERROR_SQUARE);
}

static int cpu_l1_run(const struct kplan *k, const struct kargs *a)
{
	return cpu_any(k, a, ERROR_ABSOLUTE);
}

static int cpu_huber_run(const struct kplan *k, const struct kargs *a)
{
	return cpu_any(k, a, ERROR_HUBER);
}

/* dx = f * (d clamped to [-delta, delta]) */
SIMD_CLONES(void, huber_piece,
            (const float *x, const float *t, float f, float delta, int64_t n, float *dx),
            (x, t, f, delta, n, dx))
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		float d = x[i] - t[i];
		d = simd_select(d > delta, delta, d);
		dx[i] = f * simd_select(d < -delta, -delta, d);
	}
}

/* dx = f * sign(d) */
SIMD_CLONES(void, l1_piece, (const float *x, const float *t, float f, int64_t n, float *dx),
            (x, t, f, n, dx))
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++) {
		float d = x[i] - t[i];
		float sign = (float)((d > 0) - (d < 0));
		dx[i] = simd_select(d != d, d, f * sign);
	}
}

/* The gradient of huber, or of l1 for delta 0. */
static int cpu_any_grad(const struct kplan *k, const struct kargs *a, float delta)
{
	int64_t n = count_of(k), pieces = (n + PIECE - 1) / PIECE;
	const float *x = a->in[0], *t = a->in[1], f = (float)(*(const float *)a->in[2] / (double)n);
	float *dx = a->out[0];
#pragma omp parallel for schedule(static) if (n >= FORK_DIFFERENCES)
	for (int64_t p = 0; p < pieces; p++) {
		int64_t at = p * PIECE, m = n - at < PIECE ? n - at : PIECE;
		if (delta > 0)
			huber_piece(x + at, t + at, f, delta, m, dx + at);
		else
			l1_piece(x + at, t + at, f, m, dx + at);
	}
	return 0;
}

static int cpu_l1_grad_run(const struct kplan *k, const struct kargs *a)
{
	return cpu_any_grad(k, a, 0);
}

static int cpu_huber_grad_run(const struct kplan *k, const struct kargs *a)
{
	return cpu_any_grad(k, a, (float)delta_of(k));
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int cuda_plan(struct kplan *k)
{
	k->ws_bytes = (size_t)k_loss_workspace();
	return 0;
}

static int cuda_any(const struct kplan *k, const struct kargs *a, enum k_error_kind kind)
{
	const struct k_error c = { kind, (float)delta_of(k), count_of(k) };
	return cuda_launched(k, k_pointwise_error(cuda_stream(k->dev), cuda_in_type(k, 0), &c, a->in[0],
	                                          a->in[1], a->out[0], a->out[1], a->ws));
}

static int cuda_mse_run(const struct kplan *k, const struct kargs *a)
{
	return cuda_any(k, a, K_ERROR_SQUARE);
}

static int cuda_l1_run(const struct kplan *k, const struct kargs *a)
{
	return cuda_any(k, a, K_ERROR_ABSOLUTE);
}

static int cuda_huber_run(const struct kplan *k, const struct kargs *a)
{
	return cuda_any(k, a, K_ERROR_HUBER);
}

static int cuda_any_grad(const struct kplan *k, const struct kargs *a, enum k_error_kind kind)
{
	const struct k_error c = { kind, (float)delta_of(k), count_of(k) };
	return cuda_launched(k, k_pointwise_error_grad(cuda_stream(k->dev), cuda_in_type(k, 0),
	                                               cuda_out_type(k, 0), &c, a->in[0], a->in[1],
	                                               a->in[2], a->out[0]));
}

static int cuda_l1_grad_run(const struct kplan *k, const struct kargs *a)
{
	return cuda_any_grad(k, a, K_ERROR_ABSOLUTE);
}

static int cuda_huber_grad_run(const struct kplan *k, const struct kargs *a)
{
	return cuda_any_grad(k, a, K_ERROR_HUBER);
}
#endif

/* --- samples --- */

static const char *const mse_samples[] = {
	"2x3x5x7 2x3x5x7", "4x1 4x1", "s s", "2x17x2x3x5 2x17x2x3x5", "2x48x21x23 2x48x21x23",
	NULL
};
/* "away - zero" keeps the differences away from the kink. */
static const char *const l1_samples[] = { "2x3x5x7:away 2x3x5x7:zero", "4x1:positive 4x1:zero",
	                                  "2x17x2x3x5:away 2x17x2x3x5:zero",
	                                  "2x48x21x23:away 2x48x21x23:zero", NULL };
static const char *const huber_samples[] = { "2x3x5x7:away 2x3x5x7:zero; delta: 0.1",
	                                     "4x1 4x1; delta: 100",
	                                     "2x17x2x3x5:positive 2x17x2x3x5:zero; delta: 0.25",
	                                     "2x48x21x23:away 2x48x21x23:zero; delta: 0.15", NULL };
static const char *const l1_grad_samples[] = { "2x3x5x7 2x3x5x7 s", "2x48x21x23 2x48x21x23 s",
	                                       NULL };
static const char *const huber_grad_samples[] = { "2x3x5x7 2x3x5x7 s",
	                                          "2x48x21x23 2x48x21x23 s; delta: 0.5", NULL };

/* --- records --- */

static const struct op op_mse_loss = {
	.name = "mse_loss",
	.doc = "mean squared difference",
	.min_in = 2, .max_in = 2, .nout = 2,
	.shape = shape, .grad = mse_grad, .cost = pointwise_error_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = ref_mse_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_mse_run },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_plan, .run = cuda_mse_run,
		            .bf16_in = 1)
	},
	.samples = mse_samples,
};

static const struct op op_l1_loss = {
	.name = "l1_loss",
	.doc = "mean absolute difference",
	.min_in = 2, .max_in = 2, .nout = 2,
	.shape = shape, .grad = l1_grad, .cost = pointwise_error_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = ref_l1_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_l1_run },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_plan, .run = cuda_l1_run,
		            .bf16_in = 1)
	},
	.samples = l1_samples,
};

static const struct op op_l1_loss_grad = {
	.name = "l1_loss_grad",
	.doc = "gradient of l1_loss for the prediction",
	.flags = OP_ONCE,
	.min_in = 3, .max_in = 3, .nout = 1,
	.inplace = 3,
	.shape = grad_shape, .cost = pointwise_error_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = ref_l1_grad_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .run = cpu_l1_grad_run },
		CUDA_KERNEL(.layouts = KL_NATIVE, .run = cuda_l1_grad_run, .bf16_in = 1, .bf16_out = 1)
	},
	.samples = l1_grad_samples,
};

static const struct op op_huber_loss = {
	.name = "huber_loss",
	.doc = "mean of the squared difference, half of it, up to delta and of a line beyond",
	.min_in = 2, .max_in = 2, .nout = 2,
	.attr_size = sizeof(struct huber), .attrs = huber_fields,
	.shape = shape, .grad = huber_grad, .cost = pointwise_error_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = ref_huber_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_huber_run },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_plan, .run = cuda_huber_run,
		            .bf16_in = 1)
	},
	.samples = huber_samples,
};

static const struct op op_huber_loss_grad = {
	.name = "huber_loss_grad",
	.doc = "gradient of huber_loss for the prediction",
	.flags = OP_ONCE,
	.min_in = 3, .max_in = 3, .nout = 1,
	.attr_size = sizeof(struct huber), .attrs = huber_fields,
	.inplace = 3,
	.shape = grad_shape, .cost = pointwise_error_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = ref_huber_grad_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .run = cpu_huber_grad_run },
		CUDA_KERNEL(.layouts = KL_NATIVE, .run = cuda_huber_grad_run, .bf16_in = 1, .bf16_out = 1)
	},
	.samples = huber_grad_samples,
};

OPSET(regression, &op_mse_loss, &op_l1_loss, &op_l1_loss_grad, &op_huber_loss, &op_huber_loss_grad);
