/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradients to x of y = z * w with z = f(norm(x)), norm(x) = (x - mean) rstd gamma + beta, f(v)
 * being v above zero and slope * v below, where z is not stored (made by the pass `prologue`, for
 * GPUs; op/conv/norm_conv.c has the gradient to w):
 *
 *   conv_grad_input_norm    dz = conv_grad_input of dy and w, times the slope where norm(x) is
 *                           not above zero; dbeta = sum dz, dgamma = sum dz (x -
 *                           mean) rstd
 *   batch_norm_grad_rest    dx = gamma rstd (dz - dbeta / n - (x - mean) rstd dgamma / n) [+
 *                           addend]
 *
 * The first is one kernel if dlx's kernels support it (depthwise convolutions) or if cuDNN
 * recommends an engine for all of it, unless separate kernels are measured to be faster
 * (conv_way.h). */
#include "base/err.h"
#include "op/conv/conv_cuda.h"
#include "op/conv/conv_fused.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_normed.h"
#include "op/conv/conv_own.h"
#include "op/conv/conv_reference.h"
#include "op/conv/conv_way.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/norm/norm.h"

static const struct field input_fields[] = {
	CONV_FIELDS, FIELD_INTS(struct conv_attr, input_size, "1", 1, INT32_MAX,
	                        "spatial size of the result"), NORMED_SLOPE, FIELD_END
};

/* Inputs of conv_grad_input_norm; input 2, a bias, is absent. */
enum { AT_X = 3, AT_GAMMA, AT_BETA, AT_MEAN, AT_RSTD };
enum { REST_DZ = 1, REST_GAMMA, REST_MEAN, REST_RSTD, REST_DGAMMA, REST_DBETA, REST_ADDEND };

/* --- shape --- */

static int input_shape(struct graph *g, struct node *n)
{
	TRY(conv_shape_rule(g, n, CONV_BACKWARD_DATA));
	if (n->nin <= AT_X || n->in[AT_X] == NONE)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' has no input %d", n->op->name, AT_X);
	TRY(check_shape(g, n, AT_X, node_out_shape(g, n, 0)));
	TRY(conv_normed_shape(g, n, AT_X, AT_GAMMA));
	const struct shape c = shape_of(1, &node_out_shape(g, n, 0)->d[1]);
	TRY(graph_out(g, n, 1, DTYPE_F32, &c));
	return graph_out(g, n, 2, DTYPE_F32, &c);
}

static int rest_shape(struct graph *g, struct node *n)
{
	return norm_shape(g, n, 1u | 1u << REST_DZ | 1u << REST_ADDEND, 1, 1);
}

/* --- cost --- */

static void input_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	conv_count_flops(g, n, CONV_BACKWARD_DATA, c);
}

/* --- reference kernels --- */

static int input_reference(const struct kplan *k, const struct kargs *a)
{
	const struct shape *s = node_out_shape(k->g, k->n, 0);
	const int64_t n = shape_count(s), channels = s->d[1], size = n / (s->d[0] * channels);
	const double *x = a->in[AT_X], *gamma = a->in[AT_GAMMA], *beta = a->in[AT_BETA],
	             *mean = a->in[AT_MEAN], *rstd = a->in[AT_RSTD];
	const double slope = conv_normed_slope(k->n);
	double *dz = a->out[0], *dgamma = a->out[1], *dbeta = a->out[2];
	void *in[] = { a->in[0], a->in[1], NULL };
	const struct kargs plain = { in, a->out, NULL };
	TRY(conv_grad_input_reference(k, &plain));
	for (int64_t c = 0; c < channels; c++)
		dgamma[c] = dbeta[c] = 0;
	for (int64_t i = 0; i < n; i++) {
		const int64_t c = i / size % channels;
		const double xhat = (x[i] - mean[c]) * rstd[c];
		dz[i] = xhat * gamma[c] + beta[c] > 0 ? dz[i] : slope * dz[i];
		dgamma[c] += dz[i] * xhat;
		dbeta[c] += dz[i];
	}
	return 0;
}

static int rest_reference(const struct kplan *k, const struct kargs *a)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const int64_t n = shape_count(s), channels = s->d[1], size = n / (s->d[0] * channels);
	const double *x = a->in[0], *dz = a->in[REST_DZ], *gamma = a->in[REST_GAMMA],
	             *mean = a->in[REST_MEAN],
		     *rstd = a->in[REST_RSTD], *dgamma = a->in[REST_DGAMMA], *dbeta = a->in[REST_DBETA],
		     *addend = k->n->nin > REST_ADDEND ? a->in[REST_ADDEND] : NULL,
		     rows = (double)(n / channels);
	double *dx = a->out[0];
	for (int64_t i = 0; i < n; i++) {
		const int64_t c = i / size % channels;
		const double xhat = (x[i] - mean[c]) * rstd[c];
		dx[i] = gamma[c] * rstd[c] * (dz[i] - dbeta[c] / rows - xhat * dgamma[c] / rows) +
		        (addend ? addend[i] : 0);
	}
	return 0;
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA

static int input_plan_way(struct kplan *k, enum conv_way way, const void *user)
{
	struct conv_normed_cuda *s = k->state = ARENA_NEW(k->arena, struct conv_normed_cuda);
	const struct tensor *y = graph_t(k->g, k->n->in[0]), *w = graph_t(k->g, k->n->in[1]),
	                    *x = graph_t(k->g, k->n->in[AT_X]);
	const struct layout to = layout_native(&x->shape);
	struct cudnn_conv c = {
		.kind = CONV_BACKWARD_DATA, .geom = conv_geom_get(k->g, k->n, CONV_BACKWARD_DATA), .x = &to,
		.w = &w->layout,
		.y = &y->layout };
	(void)user;
	TRY(conv_normed_cuda_plan(k, s, way, &c, x));
	size_t end = 0;
	conv_own_reserve(&end, s->own ? s->own_ws : cudnn_plan_workspace(s->plan));
	s->vectors = s->own ? NOWHERE :
	             conv_own_reserve(&end, s->whole ? 5 * conv_normed_cuda_vector(s) :
	                                 (size_t)k_norm_workspace(s->x.rows, s->x.c));
	s->made = s->own || graph_t(k->g, k->n->out[0])->dtype == s->type ? NOWHERE :
	          conv_own_reserve(&end, conv_normed_cuda_dense(s, &x->shape));
	k->ws_bytes = end;
	conv_normed_cuda_name(k, ", then a kernel");
	return 0;
}

/* Runs the kernel of the norm's gradient on cuDNN's result; only the masked gradient and the sums
 * are needed. */
static int mask_and_sum(const struct kplan *k, const struct kargs *a, void *dz, float *dgamma,
                        float *dbeta)
{
	const struct conv_normed_cuda *s = k->state;
	const struct k_norm_grad g = {
		.rows = s->x.rows, .c = s->x.c, .type = (int)s->type, .mask = K_NORM_FROM_X,
		.slope = (float)conv_normed_slope(k->n),
		.x = { a->in[AT_X], s->x.stride },
		.dy = { dz, s->x.c }, .masked = { dz, s->x.c }, .gamma = a->in[AT_GAMMA],
		.beta = a->in[AT_BETA], .mean = a->in[AT_MEAN], .rstd = a->in[AT_RSTD], .dgamma = dgamma,
		.dbeta = dbeta };
	return cuda_launched(k, k_norm_backward(cuda_stream(k->dev), &g, (char *)a->ws + s->vectors));
}

static int run_own(const struct kplan *k, const struct kargs *a)
{
	const struct conv_normed_cuda *s = k->state;
	const struct conv_normed_args all = {
		.x = a->out[0], .w = a->in[1], .y = a->in[0], .ws = a->ws, .of = a->in[AT_X],
		.of_stride = s->x.stride, .gamma = a->in[AT_GAMMA], .beta = a->in[AT_BETA],
		.mean = a->in[AT_MEAN], .rstd = a->in[AT_RSTD], .slope = conv_normed_slope(k->n),
		.dgamma = a->out[1], .dbeta = a->out[2] };
	return conv_depthwise_run_normed(k, s->own, &all);
}

static int input_run(const struct kplan *k, const struct kargs *a)
{
	const struct conv_normed_cuda *s = k->state;
	if (s->own)
		return run_own(k, a);
	char *ws = a->ws, *vector = ws + s->vectors;
	const size_t each = conv_normed_cuda_vector(s);
	void *dz = s->made == NOWHERE ? a->out[0] : ws + s->made, *plain[] = { a->in[0], a->in[1], dz };
	void *dgamma = a->out[1], *dbeta = a->out[2];
	if (s->whole && !dgamma)
		dgamma = vector + 3 * each;
	if (s->whole && !dbeta)
		dbeta = vector + 4 * each;
	void *const whole[] = {
		a->in[0], a->in[1], a->in[AT_X], a->in[AT_MEAN], a->in[AT_RSTD], a->in[AT_GAMMA],
		a->in[AT_BETA], dz, dgamma, dbeta, vector, vector + each, vector + 2 * each };
	TRYC(cudnn_plan_run(s->plan, s->whole ? whole : plain, a->ws), "in '%s'", k->n->name);
	if (!s->whole)
		TRY(mask_and_sum(k, a, dz, dgamma, dbeta));
	return conv_normed_cuda_deliver(k, dz, a->out[0]);
}

static int input_plan(struct kplan *k)
{
	const struct conv_ways ways = { input_plan_way, input_run, conv_normed_cuda_free, NULL };
	return conv_way_plan(k, &ways);
}

static struct k_rows rows_of(const struct kplan *k, void *const *p, const tid *t, int n, int i)
{
	struct layout_rows r;
	if (i >= n || t[i] == NONE ||
	    !layout_rows(&graph_t(k->g, t[i])->layout, &graph_t(k->g, t[i])->shape, &r))
		return (struct k_rows){ 0 };
	return (struct k_rows){ p[i], r.stride };
}

static int rest_run(const struct kplan *k, const struct kargs *a)
{
	const struct shape *x = node_in_shape(k->g, k->n, 0);
	const struct node *n = k->n;
	const struct k_norm_grad g = {
		.rows = shape_count(x) / x->d[1], .c = x->d[1], .type = cuda_in_type(k, 0),
		.mask = K_NORM_ALL,
		.x = rows_of(k, a->in, n->in, n->nin, 0), .dy = rows_of(k, a->in, n->in, n->nin, REST_DZ),
		.addend = rows_of(k, a->in, n->in, n->nin, REST_ADDEND),
		.dx = rows_of(k, a->out, n->out, 1, 0),
		.gamma = a->in[REST_GAMMA], .mean = a->in[REST_MEAN], .rstd = a->in[REST_RSTD],
		.dgamma = a->in[REST_DGAMMA],
		.dbeta = a->in[REST_DBETA] };
	return cuda_launched(k, k_norm_backward_rest(cuda_stream(k->dev), &g));
}
#endif

/* --- samples --- */

static const char *const input_samples[] = {
	"2x5x3x4 5x3x3x3! - 2x3x5x6 3 3 3 3:positive; input_size: [5, 6]",
	"2x16x4x3 16x8x3x3! - 2x8x7x6 8 8 8 8:positive; stride: 2, pad_lo: 1, "
	"pad_hi: 1, input_size: [7, 6]",
	"1x48x4x3 48x16x1x1! - 1x16x4x3 16 16 16 16:positive; input_size: [4, 3]",
	"1x8x4x4x5 8x8x3x2x3! - 1x8x4x3x5 8 8 8 8:positive; pad_lo: 1, pad_hi: "
	"1, input_size: [4, 3, 5]",
	"1x16x4 16x8x3! - 1x8x7 8 8 8 8:positive; stride: 2, pad_lo: 1, pad_hi: 1, input_size: 7",
	"2x16x4x5 16x1x3x3! - 2x16x4x5 16 16 16 16:positive; groups: 16, pad_lo: 1, "
	"pad_hi: 1, input_size: [4, 5]",
	"2x40x11x27 40x1x3x3! - 2x40x11x27 40 40 40 40:positive; groups: 40, pad_lo: 1, pad_hi: 1, "
	"input_size: [11, 27], slope: 0.3",
	"1x40x12x9 40x1x3x3! - 1x40x23x17 40 40 40 40:positive; groups: 40, stride: 2, pad_lo: 1, "
	"pad_hi: 1, input_size: [23, 17], slope: 1",
	"1x72x17x19 72x1x3x3! - 1x72x17x19 72 72 72 72:positive; groups: 72, pad_lo: 2, pad_hi: 2, "
	"dilation: 2, input_size: [17, 19]", NULL
};
static const char *const rest_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3:positive 3 3",
	"2x48x21x23 2x48x21x23 48 48 48:positive 48 48 2x48x21x23", "9x5 9x5 5 5 5:positive 5 5", NULL
};

/* --- records --- */

static const struct op op_conv_grad_input_norm = {
	.name = "conv_grad_input_norm",
	.doc = "conv_grad_input through the slope and the sums of the norm by gamma, beta, mean and 1 "
	       "/ deviation of the third",
	.flags = OP_ONCE | OP_COUNTED,
	.min_in = 2, .max_in = 8, .nout = 3,
	.attr_size = sizeof(struct conv_fused), .attrs = input_fields,
	.shape = input_shape, .cost = input_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = input_reference },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = input_plan, .run = input_run,
		            .free = conv_normed_cuda_free,
		            .slice_in = 1u << AT_X,
		            .bf16_in = 3 | 1u << AT_X, .bf16_out = 1, .bf16 = KB_FASTER)
	},
	.samples = input_samples,
};

#define REST_LIKE (1u | 1u << REST_DZ | 1u << REST_ADDEND)

static const struct op op_batch_norm_grad_rest = {
	.name = "batch_norm_grad_rest",
	.doc = "the gradient of batch_norm for x, where those for gamma and beta are there",
	.flags = OP_ONCE,
	.min_in = 7, .max_in = 8, .nout = 1,
	.inplace = REST_LIKE,
	.shape = rest_shape, .cost = norm_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = rest_reference },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = norm_cuda_plan, .run = rest_run,
		            .slice_in = REST_LIKE, .slice_out = 1,
		            .bf16_in = REST_LIKE, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = rest_samples,
};

OPSET(conv_norm_grad, &op_conv_grad_input_norm, &op_batch_norm_grad_rest);
