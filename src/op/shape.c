/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ops that move or repeat elements: broadcast, transpose, and reshape, which is a view of the same
 * storage with another shape. The gradient of broadcast is a sum, that of transpose the inverse
 * permutation, that of reshape the opposite reshape.
 *
 * Broadcast and transpose share one kernel: it writes the result in memory order and reads x with
 * permuted strides, which are 0 along repeated axes. x may have any strided layout; the result is
 * native. */
#include <string.h>

#include "base/err.h"
#include "op/lib/copy_cuda.h"
#include "op/lib/cuda.h"
#include "op/lib/elementwise.h"
#include "op/lib/emit.h"
#include "op/lib/nest.h"
#include "op/lib/reads.h"
#include "op/lib/walk.h"

/* --- attributes --- */

static const struct field broadcast_fields[] = {
	FIELD_INTS(struct shape_attr, shape, "", 1, INT32_MAX, "shape of the result"),
	FIELD_END
};

static const struct field reshape_fields[] = {
	FIELD_INTS(struct shape_attr, shape, NULL, -1, INT32_MAX,
	           "shape of the result, one -1 for what is left; none given: a scalar"),
	FIELD_END
};

static const struct field transpose_fields[] = {
	FIELD_INTS(struct transpose_attr, perm, "", 0, MAXD - 1,
	           "for each axis of the result the axis of the input"),
	FIELD_END
};

/* --- shape --- */

static int wanted_shape(struct graph *g, const struct node *n, struct shape *s)
{
	const struct shape_attr *at = n->attr;
	if (at->shape.n > MAXD)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' makes tensors of up to %d axes, not %d", n->op->name,
		           MAXD, at->shape.n);
	*s = shape_of(at->shape.n, at->shape.v);
	return 0;
}

static int broadcast_shape(struct graph *g, struct node *n)
{
	const struct shape *x = node_in_shape(g, n, 0);
	struct shape s;
	int lead;
	bool fits;
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	TRY(node_want_float(g, n, 0, "input"));
	TRY(wanted_shape(g, n, &s));
	lead = s.nd - x->nd;
	fits = lead >= 0;
	for (int i = 0; fits && i < x->nd; i++)
		fits = x->d[i] == 1 || x->d[i] == s.d[lead + i];
	if (!fits)
		return ERR(E_SHAPE, &g->cur_loc, "%s cannot be repeated to %s: its axes, counted from the "
		           "last, must be 1 or equal", shape_text(x, a), shape_text(&s, b));
	return graph_out(g, n, 0, DTYPE_F32, &s);
}

/* Replaces the entry -1 by the size that makes the element counts equal. */
static int infer(struct graph *g, int64_t count, struct shape *s)
{
	int64_t rest = 1;
	int hole = NONE;
	for (int i = 0; i < s->nd; i++) {
		if (s->d[i] == -1 && hole != NONE)
			return ERR(E_SHAPE, &g->cur_loc, "'reshape' can infer one axis, not two");
		if (s->d[i] == -1)
			hole = i;
		else if (s->d[i] < 1 || __builtin_mul_overflow(rest, s->d[i], &rest))
			return ERR(E_SHAPE, &g->cur_loc, "'reshape' cannot make an axis of size %lld",
			           (long long)s->d[i]);
	}
	if (hole != NONE && count % rest == 0)
		s->d[hole] = count / rest;
	return 0;
}

static int reshape_shape(struct graph *g, struct node *n)
{
	const struct shape *x = node_in_shape(g, n, 0);
	struct shape s;
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	TRY(wanted_shape(g, n, &s));
	TRY(infer(g, shape_count(x), &s));
	if (shape_count(&s) != shape_count(x))
		return ERR(E_SHAPE, &g->cur_loc, "%s of %lld elements cannot be reshaped to %s",
		           shape_text(x, a), (long long)shape_count(x), shape_text(&s, b));
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &s);
}

static int transpose_shape(struct graph *g, struct node *n)
{
	const struct transpose_attr *at = n->attr;
	const struct shape *x = node_in_shape(g, n, 0);
	struct shape s = { .nd = x->nd };
	unsigned seen = 0;
	char text[SHAPE_TEXT];
	TRY(node_want_float(g, n, 0, "input"));
	if (at->perm.n != x->nd)
		return ERR(E_SHAPE, &g->cur_loc, "'perm' names %d axes, but the input %s has %d",
		           at->perm.n, shape_text(x, text), x->nd);
	for (int i = 0; i < x->nd; i++) {
		int64_t axis = at->perm.v[i];
		if (axis < 0 || axis >= x->nd || seen >> axis & 1)
			return ERR(E_SHAPE, &g->cur_loc, "'perm' must name each axis from 0 to %d once",
			           x->nd - 1);
		seen |= 1u << axis;
		s.d[i] = x->d[axis];
	}
	return graph_out(g, n, 0, DTYPE_F32, &s);
}

/* --- what an output reads --- */

static bool transpose_reads(const struct graph *g, const struct node *n, int i, int axis,
                            int64_t *lo, int64_t *hi)
{
	const struct transpose_attr *at = n->attr;
	return at->perm.v[axis] == axis && reads_point(g, n, i, axis, lo, hi);
}

/* An axis of the result is an axis of the input if both have equally many elements after it. */
static bool reshape_reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                          int64_t *hi)
{
	const struct shape *x = node_in_shape(g, n, 0), *y = node_out_shape(g, n, 0);
	int64_t a = 1, b = 1;
	for (int k = axis + 1; k < x->nd; k++)
		a *= x->d[k];
	for (int k = axis + 1; k < y->nd; k++)
		b *= y->d[k];
	return axis < x->nd && a == b && x->d[axis] == y->d[axis] &&
	       reads_point(g, n, i, axis, lo, hi);
}

/* The callback `part` of ops whose attributes contain the result's shape. */
static bool shape_part(struct graph *g, struct node *n, const struct op_part *p)
{
	struct shape_attr *at = n->attr;
	reads_set(g, &at->shape, at->shape.n, p->axis, 1, p->out_hi - p->out_lo);
	return true;
}

/* --- grad --- */

static int broadcast_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	struct shape x = *node_in_shape(g, n, 0), y = *node_out_shape(g, n, 0);
	int lead = y.nd - x.nd;
	unsigned axes = 0;
	tid t;
	for (int i = 0; i < y.nd; i++)
		if (i < lead || x.d[i - lead] != y.d[i])
			axes |= 1u << i;
	TRY(emit_sum(g, dy[0], axes, true, &t));
	return emit_reshape(g, t, &x, &dx[0]);
}

static int reshape_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return emit_reshape(g, dy[0], node_in_shape(g, n, 0), &dx[0]);
}

static int transpose_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct transpose_attr *at = n->attr;
	int inverse[MAXD];
	for (int i = 0; i < at->perm.n; i++)
		inverse[at->perm.v[i]] = i;
	return emit_transpose(g, dy[0], inverse, &dx[0]);
}

/* --- kernels of broadcast and transpose --- */

/* The axis of x that corresponds to axis i of the result; NONE: x is repeated along it. */
typedef int source_axis(const struct kplan *k, int i);

static int broadcast_axis(const struct kplan *k, int i)
{
	const struct shape *x = node_in_shape(k->g, k->n, 0);
	int axis = i - (node_out_shape(k->g, k->n, 0)->nd - x->nd);
	return axis < 0 || x->d[axis] == 1 ? NONE : axis;
}

static int transpose_axis(const struct kplan *k, int i)
{
	const struct transpose_attr *at = k->n->attr;
	return (int)at->perm.v[i];
}

static int reference(const struct kplan *k, const struct kargs *a, source_axis *source)
{
	const struct shape *s = node_out_shape(k->g, k->n, 0);
	struct layout l = layout_plain(node_in_shape(k->g, k->n, 0));
	const double *x = a->in[0];
	double *y = a->out[0];
	int64_t n = shape_count(s);
	for (int64_t i = 0; i < n; i++) {
		int64_t at = 0, rest = i;
		for (int d = s->nd - 1; d >= 0; d--) {
			int axis = source(k, d);
			at += axis == NONE ? 0 : rest % s->d[d] * l.stride[axis];
			rest /= s->d[d];
		}
		y[i] = x[at];
	}
	return 0;
}

static int broadcast_reference(const struct kplan *k, const struct kargs *a)
{
	return reference(k, a, broadcast_axis);
}

static int transpose_reference(const struct kplan *k, const struct kargs *a)
{
	return reference(k, a, transpose_axis);
}

static int choose(struct kplan *k, struct layout *in, struct layout *out)
{
	strided_choose(k, &in[0], &out[0]);
	return 0;
}

static int plan(struct kplan *k, source_axis *source)
{
	struct nest *t = ARENA_NEW(k->arena, struct nest);
	const struct shape *s = node_out_shape(k->g, k->n, 0);
	struct layout x = strided_layout(k->g, k->n->in[0]), y = strided_layout(k->g, k->n->out[0]);
	for (int i = 0; i < s->nd; i++) {
		int axis = source(k, i);
		nest_add(t, s->d[i], axis == NONE ? 0 : x.stride[axis], y.stride[i]);
	}
	nest_close(t, true);
	k->state = t;
	return 0;
}

static int broadcast_plan(struct kplan *k)
{
	return plan(k, broadcast_axis);
}

static int transpose_plan(struct kplan *k)
{
	return plan(k, transpose_axis);
}

#define real float
#define NAME(kernel) kernel##_cpu
#include "op/shape_body.h"

#define real double
#define NAME(kernel) kernel##_double
#include "op/shape_body.h"

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int copy_cuda(const struct kplan *k, const struct kargs *a, source_axis *source)
{
	const struct shape *s = node_out_shape(k->g, k->n, 0);
	const int64_t *from = cuda_strides(k, k->n->in[0]);
	int64_t in[MAXD] = { 0 };
	for (int i = 0; i < s->nd; i++)
		in[i] = source(k, i) == NONE ? 0 : from[source(k, i)];
	return cuda_copy(k, s, in, cuda_strides(k, k->n->out[0]),
	                 dtype_size(graph_t(k->g, k->n->out[0])->dtype), a->in[0], a->out[0]);
}

static int broadcast_cuda(const struct kplan *k, const struct kargs *a)
{
	return copy_cuda(k, a, broadcast_axis);
}

static int transpose_cuda(const struct kplan *k, const struct kargs *a)
{
	return copy_cuda(k, a, transpose_axis);
}
#endif

/* --- samples --- */

static const char *const broadcast_samples[] = {
	"1x3x1x1; shape: [2, 3, 4, 5]", "2x3x1x1; shape: [2, 3, 4, 5]", "s; shape: [2, 3, 4, 5]",
	"5; shape: [3, 5]", "3x1; shape: [3, 7]", "4x5; shape: [2, 3, 4, 5]", "1; shape: [1]",
	"1x3x1x1x1; shape: [2, 3, 4, 3, 2]", "2x1x3x1; shape: [2, 5, 3, 4]",
	"2x3x4; shape: [2, 3, 4]", NULL
};
static const char *const reshape_samples[] = {
	"2x3x4x5; shape: [6, 20]", "2x3x4x5; shape: [2, -1]", "6; shape: [1, 6, 1, 1]",
	"1x1; shape: []", "s; shape: [1, 1, 1]", "2x6x4x5; shape: [4, 3, 4, 5]",
	"2x3x4x5; shape: [2, 4, 3, 5]", NULL
};
static const char *const transpose_samples[] = {
	"3x37; perm: [1, 0]", "2x3x4x5; perm: [0, 2, 3, 1]", "2x3x4x5; perm: [3, 1, 0, 2]",
	"7; perm: 0", "2x1x3x1x4; perm: [4, 3, 2, 1, 0]", "2x3x2x3x2x3; perm: [1, 0, 3, 2, 5, 4]", NULL
};

/* --- records --- */

static const struct op op_broadcast = {
	.name = "broadcast",
	.doc = "repeats axes of size 1, and leading axes that are missing, up to a shape",
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct shape_attr), .attrs = broadcast_fields,
	.shape = broadcast_shape, .grad = broadcast_grad, .reads = reads_point, .part = shape_part,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = broadcast_reference },
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = choose, .plan = broadcast_plan,
		                  .run = copy_cpu },
		[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .plan = broadcast_plan, .run = copy_double },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = choose, .plan = cuda_check_strided,
		            .run = broadcast_cuda,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = broadcast_samples,
};

static const struct op op_transpose = {
	.name = "transpose",
	.doc = "permutes axes",
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct transpose_attr), .attrs = transpose_fields,
	.shape = transpose_shape, .grad = transpose_grad, .reads = transpose_reads,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = transpose_reference },
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = choose, .plan = transpose_plan,
		                  .run = copy_cpu },
		[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .plan = transpose_plan, .run = copy_double },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = choose, .plan = cuda_check_strided,
		            .run = transpose_cuda,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = transpose_samples,
};

static const struct op op_reshape = {
	.name = "reshape",
	.doc = "the same elements in row-major order under another shape",
	.flags = OP_VIEW,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct shape_attr), .attrs = reshape_fields,
	.shape = reshape_shape, .grad = reshape_grad, .reads = reshape_reads, .part = shape_part,
	.samples = reshape_samples,
};

OPSET(shape, &op_broadcast, &op_transpose, &op_reshape);
