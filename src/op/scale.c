/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arithmetic with one number: scale (factor * x + shift, with constants of the graph), scale_by (s
 * * x, where s is a scalar tensor) and fill (a tensor of one value, computed when it is needed and
 * not stored in the plan). */
#include "base/err.h"
#include "base/simd.h"
#include "op/lib/cuda.h"
#include "op/lib/elementwise.h"
#include "op/lib/emit.h"
#include "op/lib/reads.h"
#include "op/lib/walk.h"

/* --- attributes --- */

#define BIG 1e300

static const struct field scale_fields[] = {
	FIELD_FLOAT(struct scale_attr, factor, "1", -BIG, BIG, "factor on x"),
	FIELD_FLOAT(struct scale_attr, shift, "0", -BIG, BIG, "number that is added after that"),
	FIELD_END
};

static const struct field fill_fields[] = {
	FIELD_FLOAT(struct fill_attr, value, "0", -BIG, BIG, "value of every element"),
	FIELD_INTS(struct fill_attr, shape, NULL, 1, INT32_MAX,
	           "shape of the result; none given: a scalar"),
	FIELD_END
};

/* --- shape --- */

static int scale_by_shape(struct graph *g, struct node *n)
{
	TRY(node_want_float(g, n, 0, "input"));
	TRY(node_want_float(g, n, 1, "factor"));
	TRY(node_want_scalar(g, n, 1, "factor"));
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, node_in_shape(g, n, 0));
}

static int fill_shape(struct graph *g, struct node *n)
{
	const struct fill_attr *at = n->attr;
	struct shape s;
	if (at->shape.n > MAXD)
		return ERR(E_SHAPE, &g->cur_loc, "'fill' makes tensors of up to %d axes, not %d", MAXD,
		           at->shape.n);
	s = shape_of(at->shape.n, at->shape.v);
	return graph_out(g, n, 0, DTYPE_F32, &s);
}

/* --- grad --- */

static int scale_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct scale_attr *at = n->attr;
	return emit_scale(g, dy[0], at->factor, 0, &dx[0]);
}

/* dx = s dy, ds = <x, dy>. */
static int scale_by_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	int nd = node_in_shape(g, n, 0)->nd;
	tid t;
	dx[0] = dx[1] = NONE;
	if (grad_wanted(g, n, 0))
		TRY(graph_emit1(g, "scale_by", NULL, 2, (tid[]){ dy[0], n->in[1] }, &dx[0]));
	if (!grad_wanted(g, n, 1))
		return 0;
	TRY(emit_mul(g, n->in[0], dy[0], &t));
	return emit_sum(g, t, (1u << nd) - 1, false, &dx[1]);
}

/* --- cost --- */

static void scale_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	const struct scale_attr *at = n->attr;

	int ops = (at->factor != 1) + (at->shift != 0);

	c->flops += (double)ops * (double)shape_count(node_out_shape(g, n, 0));
}

/* --- layouts: a shift or a value would end up in padding --- */

static int scale_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	const struct scale_attr *at = k->n->attr;
	return at->shift != 0 ? walk_choose_dense(k, in, out) : walk_choose_any(k, in, out);
}

static int fill_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	const struct fill_attr *at = k->n->attr;
	return at->value != 0 ? walk_choose_dense(k, in, out) : walk_choose_any(k, in, out);
}

/* --- reference kernels --- */

static int scale_reference(const struct kplan *k, const struct kargs *a)
{
	const struct scale_attr *at = k->n->attr;
	const double *x = a->in[0];
	double *y = a->out[0];
	int64_t n = kplan_out_elements(k, 0);
	for (int64_t i = 0; i < n; i++)
		y[i] = at->factor * x[i] + at->shift;
	return 0;
}

static int scale_by_reference(const struct kplan *k, const struct kargs *a)
{
	const double *x = a->in[0], *s = a->in[1];
	double *y = a->out[0];
	int64_t n = kplan_out_elements(k, 0);
	for (int64_t i = 0; i < n; i++)
		y[i] = *s * x[i];
	return 0;
}

static int fill_reference(const struct kplan *k, const struct kargs *a)
{
	const struct fill_attr *at = k->n->attr;
	double *y = a->out[0];
	int64_t n = kplan_out_elements(k, 0);
	for (int64_t i = 0; i < n; i++)
		y[i] = at->value;
	return 0;
}

/* --- cpu kernels --- */

SIMD_CLONES(void, scale_range,
            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), (k, a, lo, hi))
{
	const struct scale_attr *at = k->n->attr;
	const float *x = a->in[0];
	float *y = a->out[0], factor = (float)at->factor, shift = (float)at->shift;
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++)
		y[i] = factor * x[i] + shift;
}

static int scale_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, scale_range);
	return 0;
}

/* s is read once for each piece. It never shares memory with y: that has another shape or, for
 * scalars, only one piece. */
SIMD_CLONES(void, scale_by_range,
            (const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi), (k, a, lo, hi))
{
	const float *x = a->in[0], s = *(const float *)a->in[1];
	float *y = a->out[0];
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++)
		y[i] = s * x[i];
}

static int scale_by_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, scale_by_range);
	return 0;
}

static void fill_range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	const struct fill_attr *at = k->n->attr;
	float *y = a->out[0], value = (float)at->value;
	SIMD_LOOP
	for (int64_t i = lo; i < hi; i++)
		y[i] = value;
}

static int fill_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, fill_range);
	return 0;
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int scale_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct scale_attr *at = k->n->attr;
	const struct k_walk w = cuda_walk(k);
	return cuda_launched(k, k_unary(cuda_stream(k->dev), K_SCALE, cuda_out_type(k, 0), &w,
	                                (float)at->factor, (float)at->shift, a->in[0], a->out[0]));
}

static int scale_by_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_walk w = cuda_walk(k);
	return cuda_launched(k, k_scale_by(cuda_stream(k->dev), cuda_out_type(k, 0), &w, a->in[0],
	                                   a->in[1], a->out[0]));
}

static int fill_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct fill_attr *at = k->n->attr;
	const struct k_walk w = cuda_walk(k);
	return cuda_launched(k, k_fill(cuda_stream(k->dev), cuda_out_type(k, 0), &w, at->value,
	                               a->out[0]));
}
#endif

/* --- samples --- */

static const char *const scale_samples[] = {
	"2x3x4x5; factor: -2.5, shift: 0.75", "7; factor: 3", "s; shift: -1", "1x3x5x2x3",
	"3x37; factor: 0, shift: 2", NULL
};
static const char *const scale_by_samples[] = { "2x3x4x5 s", "7 s", "s s", "3x37 s", "3x181x97 s",
	                                        NULL };
static const char *const fill_samples[] = {
	"; value: 1.5, shape: [2, 3, 4, 5]", "; value: -1", "; shape: [7]",
	"; value: 0.25, shape: [1, 3, 5, 2, 3]", NULL
};

/* --- records --- */

static const struct op op_scale = {
	.name = "scale",
	.doc = "factor * x + shift with constant numbers",
	.flags = OP_LAYER | OP_ELEMENTWISE,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct scale_attr), .attrs = scale_fields,
	.inplace = 1,
	.shape = walk_shape, .grad = scale_grad, .reads = reads_point, .cost = scale_cost,
	.kernel = {
		WALK_DOUBLE(scale_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = scale_choose, .run = scale_cpu,
		                  WALK_VIEWS, .bf16_in = 1, .bf16_out = 1 },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = scale_choose, .run = scale_cuda, CUDA_VIEWS,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = scale_samples,
};

static const struct op op_scale_by = {
	.name = "scale_by",
	.doc = "x multiplied by a scalar tensor",
	.min_in = 2, .max_in = 2, .nout = 1,
	.inplace = 1,
	.shape = scale_by_shape, .grad = scale_by_grad, .reads = reads_point, .cost = walk_cost,
	.kernel = {
		WALK_DOUBLE(scale_by_reference),
		[BACKEND_CPU] = { .layouts = KL_SAME, .run = scale_by_cpu, WALK_VIEWS,
		                  .bf16_in = 1, .bf16_out = 1 },
		CUDA_KERNEL(.layouts = KL_SAME, .run = scale_by_cuda, CUDA_VIEWS,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = scale_by_samples,
};

static const struct op op_fill = {
	.name = "fill",
	.doc = "a tensor of one value",
	.flags = OP_NOGRAD,
	.min_in = 0, .max_in = 0, .nout = 1,
	.attr_size = sizeof(struct fill_attr), .attrs = fill_fields,
	.shape = fill_shape,
	.kernel = {
		WALK_DOUBLE(fill_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = fill_choose, .run = fill_cpu,
		                  WALK_VIEWS },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = fill_choose, .run = fill_cuda, CUDA_VIEWS)
	},
	.samples = fill_samples,
};

OPSET(scale, &op_scale, &op_scale_by, &op_fill);
