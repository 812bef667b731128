/* SPDX-License-Identifier: BSD-3-Clause
 *
 * concat joins tensors along one axis, slice takes a range of one axis; each occurs in the other's
 * gradient (slice's gradient is a pad). Elements may have any type.
 *
 * CPU: in memory order both tensors are matrices of runs: everything after the axis is contiguous,
 * and a row of a concat consists of a run of each input. Rows are copied in parallel. A piece that
 * is a view of the whole tensor is in place already (graph/view.h) and is not copied. */
#include <string.h>

#include "base/err.h"
#include "graph/view.h"
#include "op/lib/check.h"
#include "op/lib/copy_cuda.h"
#include "op/lib/cuda.h"
#include "op/lib/emit.h"
#include "op/lib/fork.h"
#include "op/lib/grid.h"
#include "op/lib/reads.h"
#include "op/lib/slice.h"

static const struct field concat_fields[] = {
	FIELD_INT(struct concat, axis, "1", 0, MAXD - 1, "the axis to join along; 1 is channels"),
	FIELD_END
};

static const struct field slice_fields[] = {
	FIELD_INT(struct slice, axis, "1", 0, MAXD - 1, "the axis to cut; 1 is channels"),
	FIELD_INT(struct slice, begin, "0", 0, INT32_MAX, "first index that is kept"),
	FIELD_INT(struct slice, size, "", 1, INT32_MAX, "number of indices that are kept"),
	FIELD_END
};

/* --- shape --- */

/* Checks that input i has the shape of input 0 except along the axis. */
static int check_concat(struct graph *g, const struct node *n, int i, int64_t axis)
{
	struct shape a = *node_in_shape(g, n, 0), b = *node_in_shape(g, n, i);
	char ta[SHAPE_TEXT], tb[SHAPE_TEXT];
	TRY(check_dtype(g, n, i, graph_t(g, n->in[0])->dtype));
	shape_text(&a, ta);
	shape_text(&b, tb);
	a.d[axis] = b.d[axis] = 0;
	if (shape_equal(&a, &b))
		return 0;
	return ERR(E_SHAPE, &g->cur_loc,
	           "layer '%s': cannot join %s and %s along axis %lld: other axes differ ('%s' and "
	           "'%s')",
	           check_layer(n), ta, tb, (long long)axis, graph_t(g, n->in[0])->name,
	           graph_t(g, n->in[i])->name);
}

static int concat_shape(struct graph *g, struct node *n)
{
	const struct concat *at = n->attr;
	struct shape y = *node_in_shape(g, n, 0);
	TRY(check_axis(g, n, at->axis, y.nd));
	for (int i = 1; i < n->nin; i++) {
		TRY(check_concat(g, n, i, at->axis));
		y.d[at->axis] += node_in_shape(g, n, i)->d[at->axis];
	}
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &y);
}

static int slice_shape(struct graph *g, struct node *n)
{
	const struct slice *at = n->attr;
	struct shape y = *node_in_shape(g, n, 0);
	char text[SHAPE_TEXT];
	TRY(check_axis(g, n, at->axis, y.nd));
	if (at->begin + at->size > y.d[at->axis])
		return ERR(E_SHAPE, &g->cur_loc,
		           "layer '%s': cannot take %lld from index %lld on along axis %lld of %s",
		           check_layer(n), (long long)at->size, (long long)at->begin,
		           (long long)at->axis, shape_text(&y, text));
	y.d[at->axis] = at->size;
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &y);
}

/* --- pieces --- */

static struct op_piece concat_piece(const struct graph *g, const struct node *n, int i)
{
	struct op_piece p = { (int)((const struct concat *)n->attr)->axis, 0 };
	for (int k = 0; k < i; k++)
		p.first += node_in_shape(g, n, k)->d[p.axis];
	return p;
}

static struct op_piece slice_piece(const struct graph *g, const struct node *n, int i)
{
	const struct slice *at = n->attr;
	return (struct op_piece){ (int)at->axis, at->begin };
}

/* --- what an output reads --- */

static bool concat_reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                         int64_t *hi)
{
	int64_t first = 0;
	for (int k = 0; k < i && ((const struct concat *)n->attr)->axis == axis; k++)
		first += node_in_shape(g, n, k)->d[axis];
	return reads_window(1, first, 0, lo, hi);
}

static bool slice_reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                        int64_t *hi)
{
	const struct slice *at = n->attr;
	return reads_window(1, at->axis == axis ? -at->begin : 0, 0, lo, hi);
}

static bool slice_part(struct graph *g, struct node *n, const struct op_part *p)
{
	struct slice *at = n->attr;
	if (at->axis == p->axis)
		*at = (struct slice){ at->axis, 0, p->out_hi - p->out_lo };
	return true;
}

/* --- grad --- */

static int concat_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	struct slice at = { .axis = ((const struct concat *)n->attr)->axis };
	if (dy[0] == NONE)
		return 0;
	for (int i = 0; i < n->nin; i++, at.begin += at.size) {
		at.size = node_in_shape(g, n, i)->d[at.axis];
		if (n->nin == 1)
			dx[i] = dy[0];
		else if (graph_t(g, n->in[i])->requires_grad)
			TRY(graph_emit1(g, "slice", &at, 1, dy, &dx[i]));
	}
	return 0;
}

static int slice_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct slice *at = n->attr;
	const struct shape *x = node_in_shape(g, n, 0);
	int64_t before[MAXD] = { 0 }, after[MAXD] = { 0 };
	if (dy[0] == NONE)
		return 0;
	before[at->axis] = at->begin;
	after[at->axis] = x->d[at->axis] - at->begin - at->size;
	struct pad pad = { ints_make(g, x->nd, before), ints_make(g, x->nd, after), 0 };
	return graph_emit1(g, "pad", &pad, 1, dy, &dx[0]);
}

/* --- reference kernels --- */

static size_t element_bytes(const struct kplan *k)
{
	return dtype_size(graph_t(k->g, k->n->out[0])->dtype);
}

/* Copies element `from` of src to element `to` of dst. */
static void copy_one(void *dst, int64_t to, const void *src, int64_t from, size_t bytes)
{
	memcpy((char *)dst + (size_t)to * bytes, (const char *)src + (size_t)from * bytes, bytes);
}

static int ref_concat_run(const struct kplan *k, const struct kargs *a)
{
	int64_t axis = ((const struct concat *)k->n->attr)->axis, at = 0;
	for (int i = 0; i < k->n->nin; i++) {
		const struct shape *x = node_in_shape(k->g, k->n, i);
		for (int64_t e = 0; e < shape_count(x); e++) {
			int64_t index[MAXD];
			grid_split(x, e, index);
			index[axis] += at;
			copy_one(a->out[0], grid_join(node_out_shape(k->g, k->n, 0), index),
			         a->in[i], e, element_bytes(k));
		}
		at += x->d[axis];
	}
	return 0;
}

static int ref_slice_run(const struct kplan *k, const struct kargs *a)
{
	const struct slice *at = k->n->attr;
	const struct shape *y = node_out_shape(k->g, k->n, 0);
	for (int64_t e = 0; e < shape_count(y); e++) {
		int64_t index[MAXD];
		grid_split(y, e, index);
		index[at->axis] += at->begin;
		copy_one(a->out[0], e, a->in[0], grid_join(node_in_shape(k->g, k->n, 0), index),
		         element_bytes(k));
	}
	return 0;
}

/* --- cpu kernels --- */

/* One piece, in bytes: its rows in its own buffer and in the whole tensor. */
struct copy {
	int piece;                     /* for concat: index of the input */
	int64_t length, stride, at;    /* bytes of a row, from row to row in the piece, and before the
	                                * piece in a row of the whole */
};

struct copies {
	int64_t rows, stride;          /* rows of the whole tensor, and bytes from row to row */
	int64_t bytes;
	int n;
	struct copy *copy;
};

/* The rows of a tensor in memory order: their number, and the bytes from one index of the axis to
 * the next. */
struct runs {
	int64_t rows, unit;
};

static struct runs runs_of(const struct kplan *k, const struct shape *s, int64_t axis)
{
	struct runs r = { 1, (int64_t)element_bytes(k) };
	int order[MAXD], i = 0;
	grid_memory_order(k, s, order);
	for (; order[i] != axis; i++)
		r.rows *= s->d[order[i]];
	for (i++; i < s->nd; i++)
		r.unit *= s->d[order[i]];
	return r;
}

/* Bytes from row to row of t. */
static int64_t row_stride(const struct kplan *k, tid t, int64_t axis)
{
	const struct tensor *x = graph_t(k->g, t);
	if (view_is_strided(x))
		return graph_t(k->g, x->view)->shape.d[1] * (int64_t)element_bytes(k);
	return x->shape.d[axis] * runs_of(k, &x->shape, axis).unit;
}

static void add_copy(struct kplan *k, struct copies *c, int i, tid part, int64_t axis,
                     int64_t first)
{
	const struct shape *s = &graph_t(k->g, part)->shape;
	const struct runs r = runs_of(k, s, axis);
	const int64_t length = s->d[axis] * r.unit;
	if (view_in_place(k->g, k->n, i))
		return;
	c->rows = r.rows;
	c->bytes += r.rows * length;
	c->copy[c->n++] = (struct copy){ i, length, row_stride(k, part, axis), first * r.unit };
}

static int concat_plan(struct kplan *k)
{
	const struct concat *at = k->n->attr;
	struct copies *c = k->state = ARENA_NEW(k->arena, struct copies);
	int64_t first = 0;
	c->copy = ARENA_ARRAY(k->arena, struct copy, k->n->nin);
	c->stride = row_stride(k, k->n->out[0], at->axis);
	for (int i = 0; i < k->n->nin; i++) {
		add_copy(k, c, i, k->n->in[i], at->axis, first);
		first += node_in_shape(k->g, k->n, i)->d[at->axis];
	}
	return 0;
}

static int concat_run(const struct kplan *k, const struct kargs *a)
{
	const struct copies *c = k->state;
#pragma omp parallel for schedule(static) if (c->bytes > FORK_BYTES)
	for (int64_t row = 0; row < c->rows; row++) {
		char *to = (char *)a->out[0] + row * c->stride;
		for (const struct copy *p = c->copy; p < c->copy + c->n; p++)
			memcpy(to + p->at, (const char *)a->in[p->piece] + row * p->stride,
			       (size_t)p->length);
	}
	return 0;
}

static int slice_plan(struct kplan *k)
{
	const struct slice *at = k->n->attr;
	struct copies *c = k->state = ARENA_NEW(k->arena, struct copies);
	c->copy = ARENA_NEW(k->arena, struct copy);
	c->stride = row_stride(k, k->n->in[0], at->axis);
	add_copy(k, c, 0, k->n->out[0], at->axis, at->begin);
	return 0;
}

static int slice_run(const struct kplan *k, const struct kargs *a)
{
	const struct copies *c = k->state;
	const struct copy *p = c->copy;
#pragma omp parallel for schedule(static) if (c->bytes > FORK_BYTES)
	for (int64_t row = 0; row < c->rows; row++)
		memcpy((char *)a->out[0] + row * p->stride,
		       (const char *)a->in[0] + row * c->stride + p->at, (size_t)p->length);
	return 0;
}

/* --- cuda kernels: a strided copy for each piece that is not in place --- */

#ifdef HAVE_CUDA
/* Copies between the piece and its range of the whole tensor. */
static int copy_piece(const struct kplan *k, tid part, tid whole, int64_t axis, int64_t first,
                      char *of_piece, char *of_whole, bool join)
{
	const struct shape *extents = &graph_t(k->g, part)->shape;
	const int64_t *ps = cuda_strides(k, part), *ws = cuda_strides(k, whole);
	const size_t size = element_bytes(k);
	of_whole += (size_t)(first * ws[axis]) * size;
	return join ? cuda_copy(k, extents, ps, ws, size, of_piece, of_whole)
	            : cuda_copy(k, extents, ws, ps, size, of_whole, of_piece);
}

static int concat_cuda(const struct kplan *k, const struct kargs *a)
{
	const int64_t axis = ((const struct concat *)k->n->attr)->axis;
	int64_t first = 0;
	for (int i = 0; i < k->n->nin; i++) {
		if (!view_in_place(k->g, k->n, i))
			TRY(copy_piece(k, k->n->in[i], k->n->out[0], axis, first, a->in[i], a->out[0], true));
		first += node_in_shape(k->g, k->n, i)->d[axis];
	}
	return 0;
}

static int slice_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct slice *at = k->n->attr;
	return copy_piece(k, k->n->out[0], k->n->in[0], at->axis, at->begin, a->out[0],
	                  a->in[0], false);
}
#endif

/* --- samples --- */

static const char *const concat_samples[] = { "2x3x5x7 2x1x5x7 2x17x5x7",
	                                      "1x3x2x3x5 1x48x2x3x5",
	                                      "2x3x5x7 3x3x5x7; axis: 0",
	                                      "2x3x5x7 2x3x2x7 2x3x1x7; axis: 2",
	                                      "1x3x4x5x2 1x3x4x5x7; axis: 4",
	                                      "4x3 4x5",
	                                      "3 5; axis: 0",
	                                      "2x3x4",
	                                      "2x48x17x23 2x16x17x23",
	                                      NULL };
static const char *const slice_samples[] = { "2x17x5x7; begin: 3, size: 5",
	                                     "2x3x5x7; axis: 2, begin: 1, size: 4",
	                                     "3x2x3; axis: 0, begin: 2, size: 1",
	                                     "1x5x2x3x4; axis: 4, size: 3",
	                                     "4x9; begin: 8, size: 1",
	                                     "2x48x23x21; begin: 16, size: 32",
	                                     NULL };

/* --- records --- */

static const struct op op_concat = {
	.name = "concat",
	.doc = "joins tensors along one axis",
	.flags = OP_LAYER | OP_CONCAT,
	.min_in = 1, .max_in = 1024, .nout = 1,
	.attr_size = sizeof(struct concat), .attrs = concat_fields,
	.shape = concat_shape, .grad = concat_grad, .reads = concat_reads,
	.piece = concat_piece,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ref_concat_run },
		[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .plan = concat_plan, .run = concat_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = concat_plan, .run = concat_run,
		                  .slice_in = ~0u, .slice_out = 1,
		                  .bf16_in = ~0u, .bf16_out = 1, .bf16 = KB_ALIKE },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_check_strided, .run = concat_cuda,
		            .slice_in = ~0u, .slice_out = 1,
		            .bf16_in = ~0u, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = concat_samples,
};

static const struct op op_slice = {
	.name = "slice",
	.doc = "a range of one axis",
	.flags = OP_LAYER | OP_SLICE,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct slice), .attrs = slice_fields,
	.shape = slice_shape, .grad = slice_grad, .reads = slice_reads,
	.part = slice_part, .piece = slice_piece,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ref_slice_run },
		[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .plan = slice_plan, .run = slice_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = slice_plan, .run = slice_run,
		                  .slice_in = 1, .slice_out = 1,
		                  .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_check_strided, .run = slice_cuda,
		            .slice_in = 1, .slice_out = 1,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = slice_samples,
};

OPSET(concat, &op_concat, &op_slice);
