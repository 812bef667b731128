/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matrix products:
 *
 *   dense    y (N, O) = x (N, I) w (O, I)^T + b (O)
 *   matmul   y (M, N) = a b, each perhaps transposed: a (M, K) or (K, M), b (K, N) or (N, K)
 *
 * The gradients of both consist of matmuls and a sum, so they can be differentiated any number of
 * times. */
#include "op/dense_double.h"
#include "op/lib/cuda.h"

#include <inttypes.h>
#include <math.h>

#include "backend/cuda/cublas.h"
#include "backend/dnn/dnn.h"
#include "backend/plan_env.h"
#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/emit.h"
#include "op/lib/walk.h"

/* --- attributes --- */

struct matmul_attr {
	bool transpose_a, transpose_b;
};

static const struct field matmul_fields[] = {
	FIELD_BOOL(struct matmul_attr, transpose_a, "false", "use a transposed"),
	FIELD_BOOL(struct matmul_attr, transpose_b, "false", "use b transposed"),
	FIELD_END
};

/* dense is matmul with b transposed. */
static struct matmul_attr transposed(const struct node *n)
{
	const struct matmul_attr dense = { false, true };
	return n->attr ? *(const struct matmul_attr *)n->attr : dense;
}

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	const struct shape *a = node_in_shape(g, n, 0), *b = node_in_shape(g, n, 1);
	const struct matmul_attr at = transposed(n);
	char ta[SHAPE_TEXT], tb[SHAPE_TEXT];
	shape_text(a, ta);
	shape_text(b, tb);

	TRY(check_one_type(g, n));
	if (a->nd != 2 || b->nd != 2)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' of %s and %s: expected two matrices",
			   n->op->name, ta, tb);
	if (a->d[!at.transpose_a] != b->d[at.transpose_b])
		return ERR(E_SHAPE, &g->cur_loc,
			   "'%s' of %s and %s: %" PRId64 " columns do not fit %" PRId64 " rows",
			   n->op->name, ta, tb, a->d[!at.transpose_a], b->d[at.transpose_b]);
	const struct shape y = { 2, { a->d[at.transpose_a], b->d[!at.transpose_b] } };
	if (n->nin > 2 && n->in[2] != NONE) {
		const struct shape *bias = node_in_shape(g, n, 2);
		if (bias->nd != 1 || bias->d[0] != y.d[1])
			return ERR(E_SHAPE, &g->cur_loc,
				   "'%s' of %s and %s: the bias is %s, expected %" PRId64 " values",
				   n->op->name, ta, tb, shape_text(bias, (char[SHAPE_TEXT]){ "" }),
				   y.d[1]);
	}
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &y);
}

/* --- grad --- */

static int emit_matmul(struct graph *g, tid a, bool ta, tid b, bool tb, tid *out)
{
	const struct matmul_attr at = { ta, tb };
	return graph_emit1(g, "matmul", &at, 2, (tid[]){ a, b }, out);
}

/* With c = op(a) op(b): d op(a) = dc op(b)^T, d op(b) = op(a)^T dc; a transposed operand has the
 * transposed gradient. The gradient to b (the weights) is emitted first, so that the memory of a
 * can be reused after it. */
static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct matmul_attr at = transposed(n);
	const bool ta = at.transpose_a, tb = at.transpose_b;
	const tid a = n->in[0], b = n->in[1];
	for (int i = 0; i < n->nin; i++)
		dx[i] = NONE;
	if (grad_wanted(g, n, 1))
		TRY(tb ? emit_matmul(g, dy[0], true, a, ta, &dx[1])
		       : emit_matmul(g, a, !ta, dy[0], false, &dx[1]));
	if (grad_wanted(g, n, 2))
		TRY(emit_sum(g, dy[0], 1u, false, &dx[2]));
	if (!grad_wanted(g, n, 0))
		return 0;
	return ta ? emit_matmul(g, b, tb, dy[0], true, &dx[0])
	          : emit_matmul(g, dy[0], false, b, !tb, &dx[0]);
}

/* --- cost --- */

static struct dnn_matmul product(const struct graph *g, const struct node *n)
{
	const struct shape *a = node_in_shape(g, n, 0), *b = node_in_shape(g, n, 1);
	const struct matmul_attr at = transposed(n);
	const int ta = at.transpose_a, tb = at.transpose_b;
	struct dnn_matmul p = { .m = a->d[ta], .k = a->d[!ta], .n = b->d[!tb] };
	p.a_stride[ta] = a->d[1];
	p.a_stride[!ta] = 1;
	p.b_stride[tb] = b->d[1];
	p.b_stride[!tb] = 1;
	p.c_stride[0] = p.n;
	p.c_stride[1] = 1;
	p.bias = n->nin > 2 && n->in[2] != NONE;
	return p;
}

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	const struct dnn_matmul p = product(g, n);
	c->flops += 2.0 * (double)p.m * (double)p.n * (double)p.k;
}

/* --- reference kernel --- */

static int reference(const struct kplan *k, const struct kargs *args)
{
	const struct dnn_matmul p = product(k->g, k->n);
	const double *a = args->in[0], *b = args->in[1], *bias = p.bias ? args->in[2] : NULL;
	double *c = args->out[0];
	for (int64_t i = 0; i < p.m; i++)
		for (int64_t j = 0; j < p.n; j++) {
			double sum = bias ? bias[j] : 0;
			for (int64_t l = 0; l < p.k; l++)
				sum += a[i * p.a_stride[0] + l * p.a_stride[1]]
				       * b[l * p.b_stride[0] + j * p.b_stride[1]];
			c[i * p.n + j] = sum;
		}
	return 0;
}

/* --- expected values --- */

static double element(const struct graph *g, tid t, const void *p, int64_t at)
{
	return dtype_get(graph_t(g, t)->dtype, p, at);
}

static int expect(const struct graph *g, const struct node *n, void *const *in, int o,
                  const struct picks *picks, struct expected *e)
{
	const struct dnn_matmul p = product(g, n);
	const int64_t count = picks_count(picks);
#pragma omp parallel for schedule(dynamic)
	for (int64_t i = 0; i < count; i++) {
		int64_t at[MAXD];
		picks_index(picks, i, at);
		e[i].rounded = 0;
		e[i].value = p.bias ? element(g, n->in[2], in[2], at[1]) : 0;
		e[i].size = fabs(e[i].value);
		for (int64_t l = 0; l < p.k; l++) {
			const int64_t a = at[0] * p.a_stride[0] + l * p.a_stride[1],
			              b = l * p.b_stride[0] + at[1] * p.b_stride[1];
			const double term = element(g, n->in[0], in[0], a) * element(g, n->in[1], in[1], b);
			e[i].value += term;
			e[i].size += fabs(term);
		}
	}
	return 0;
}

/* --- cpu kernel --- */

static int cpu_plan(struct kplan *k)
{
	struct dnn_matmul p = product(k->g, k->n);
	struct dnn_prim *prim = NULL;
	p.a_type = graph_t(k->g, k->n->in[0])->dtype;
	p.b_type = graph_t(k->g, k->n->in[1])->dtype;
	p.c_type = graph_t(k->g, k->n->out[0])->dtype;
	if (p.a_type != DTYPE_F32 && p.a_type != DTYPE_BF16)
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the cpu takes f32 or bf16, not %s",
			   k->n->op->name, dtype_name(p.a_type));
	p.any_threads = k->env->any_threads;
	TRY(dnn_matmul_new(&prim, &p));
	k->state = prim;
	TRY(dnn_prim_prepare(prim));
	k->ws_bytes = dnn_prim_workspace(prim);
	k->impl = arena_strdup(k->arena, dnn_prim_impl(prim));
	k->choice = dnn_prim_choice(prim);
	return 0;
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	void *arg[4] = { a->in[0], a->in[1] };
	int n = 2;
	if (k->n->nin > 2 && k->n->in[2] != NONE)
		arg[n++] = a->in[2];
	arg[n] = a->out[0];
	return dnn_prim_run(k->state, arg, a->ws);
}

static void cpu_free(struct kplan *k)
{
	dnn_prim_free(k->state);
}

/* --- cpu kernel in float64 --- */

static struct dense_double product_double(const struct kplan *k)
{
	const struct dnn_matmul p = product(k->g, k->n);
	return (struct dense_double){ p.m, p.n, p.k, { p.a_stride[0], p.a_stride[1] },
		{ p.b_stride[0], p.b_stride[1] } };
}

static int double_plan(struct kplan *k)
{
	const struct dense_double p = product_double(k);
	k->ws_bytes = dense_double_workspace(&p);
	k->impl = dense_double_name();
	return 0;
}

static int double_run(const struct kplan *k, const struct kargs *a)
{
	const struct dense_double p = product_double(k);
	dense_double_run(&p, a->in[0], a->in[1], kargs_in(k, a, 2), a->out[0], a->ws);
	return 0;
}

/* --- cuda kernel --- */

#ifdef HAVE_CUDA
struct cuda_state {
	struct cublas_plan *plan;
	int64_t rows, columns;       /* size of y if the bias is added in a separate pass: cuBLASLt adds
	                              * a float32 bias to float32 results only */
};

static int cuda_plan(struct kplan *k)
{
	const struct dnn_matmul p = product(k->g, k->n);
	const struct cublas_matmul m = { p.m, p.n, p.k, { p.a_stride[0], p.a_stride[1] },
		{ p.b_stride[0], p.b_stride[1] }, { p.c_stride[0], p.c_stride[1] },
		graph_t(k->g, k->n->in[0])->dtype, graph_t(k->g, k->n->out[0])->dtype,
		p.bias && graph_t(k->g, k->n->out[0])->dtype == DTYPE_F32, k->env->tf32 };
	struct cuda_state *s = k->state = ARENA_NEW(k->arena, struct cuda_state);
	if (p.bias && !m.bias) {
		s->rows = p.m;
		s->columns = p.n;
	}
	TRY(cublas_matmul_new(&s->plan, k->dev, k->env->wisdom, &m, CUBLAS_WORKSPACE));
	k->ws_bytes = cublas_plan_workspace(s->plan);
	k->impl = cublas_plan_name(s->plan);
	k->choice = cublas_plan_choice(s->plan);
	return 0;
}

static int cuda_run(const struct kplan *k, const struct kargs *a)
{
	const void *bias = kargs_in(k, a, 2);
	const struct cuda_state *s = k->state;
	TRYC(cublas_plan_run(s->plan, a->in[0], a->in[1], bias, a->out[0], a->ws), "in '%s'",
	     k->n->name);
	return s->columns ? cuda_launched(k, k_add_bias(cuda_stream(k->dev), cuda_out_type(k, 0),
	                                                s->rows, s->columns, s->columns, bias,
	                                                a->out[0])) : 0;
}

static void cuda_free(struct kplan *k)
{
	const struct cuda_state *s = k->state;
	if (s)
		cublas_plan_free(s->plan);
}
#endif

#define KERNELS                                                                           \
	{                                                                                 \
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = reference },          \
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .plan = cpu_plan, .run = cpu_run,  \
		                  .free = cpu_free, .bf16_in = 3, .bf16_out = 1,          \
		                  .bf16 = KB_FASTER },                                    \
		[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .plan = double_plan,            \
		                     .run = double_run },                                 \
		CUDA_KERNEL(.layouts = KL_PLAIN, .plan = cuda_plan, .run = cuda_run,      \
		            .free = cuda_free, .bf16_in = 3, .bf16_out = 1,               \
		            .bf16 = KB_FASTER)                                            \
	}

/* --- samples --- */

static const char *const dense_samples[] = {
	"4x5 3x5! 3!",
	"1x17 16x17! 16!",
	"3x1 48x1!",
	"5x48 1x48! 1!",
	"17x3 5x3",
	"70x131 27x131! 27!",
	NULL
};

static const char *const matmul_samples[] = {
	"4x5 5x3",
	"5x4 5x3 ; transpose_a: true",
	"4x5 3x5 ; transpose_b: true",
	"5x4 3x5 ; transpose_a: true, transpose_b: true",
	"1x17 17x1",
	"1x16 48x1 ; transpose_a: true, transpose_b: true",
	"16x17 17x48!",
	NULL
};

/* --- records --- */

static const struct op dense = {
	.name = "dense",
	.doc = "product of x (N, I) with weights (O, I), plus an optional bias (O)",
	.flags = OP_COUNTED,
	.min_in = 2, .max_in = 3, .nout = 1,
	.shape = shape, .grad = grad, .expect = expect, .cost = cost,
	.kernel = KERNELS,
	.samples = dense_samples,
};

static const struct op matmul = {
	.name = "matmul",
	.doc = "product of two matrices, each optionally transposed",
	.flags = OP_COUNTED,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct matmul_attr), .attrs = matmul_fields,
	.shape = shape, .grad = grad, .expect = expect, .cost = cost,
	.kernel = KERNELS,
	.samples = matmul_samples,
};

OPSET(dense, &dense, &matmul);
