/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pad adds a border of one value around a tensor, on any axes; its gradient is a slice of each
 * padded axis. Elements may have any type.
 *
 * pad_add is a sum with a padded tensor, made by the pass `fuse`. If it is made in place and the
 * border is 0, as where the gradient of a slice is added to another gradient, it reads and writes
 * the slice alone.
 *
 * CPU: in memory order, axes without padding are merged with the axis before them, so that the last
 * remaining axis is a long run. Each row of the output is border, copy, border, or only border. */
#include <string.h>

#include "base/err.h"
#include "comm/sum.h"
#include "op/lib/check.h"
#include "op/lib/copy_cuda.h"
#include "op/lib/cuda.h"
#include "op/lib/fork.h"
#include "op/lib/grid.h"
#include "op/lib/reads.h"
#include "op/lib/slice.h"

static const struct field fields[] = {
	FIELD_INTS(struct pad, before, "", 0, INT32_MAX,
	           "elements added before, one entry for each axis"),
	FIELD_INTS(struct pad, after, "", 0, INT32_MAX,
	           "elements added after, one entry for each axis"),
	FIELD_FLOAT(struct pad, value, "0", -1e300, 1e300, "the value of the border"),
	FIELD_END
};

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	const struct pad *at = n->attr;
	struct shape y = *node_in_shape(g, n, 0);
	if (at->before.n != y.nd || at->after.n != y.nd)
		return ERR(E_CONFIG, &g->cur_loc,
		           "layer '%s': 'before' and 'after' of '%s' have %d and %d entries, "
		           "expected %d: one per axis",
		           check_layer(n), n->op->name, at->before.n, at->after.n, y.nd);
	for (int i = 0; i < y.nd; i++)
		y.d[i] += at->before.v[i] + at->after.v[i];
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &y);
}

/* --- what an output reads --- */

static bool reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                  int64_t *hi)
{
	const int64_t before = ((const struct pad *)n->attr)->before.v[axis];
	return reads_window(1, before, 0, lo, hi);
}

static bool part(struct graph *g, struct node *n, const struct op_part *p)
{
	struct pad *at = n->attr;
	reads_set(g, &at->before, at->before.n, p->axis, 0, p->before);
	reads_set(g, &at->after, at->after.n, p->axis, 0, p->after);
	return true;
}

/* --- grad --- */

/* The gradient of the padded input in[i]. */
static int unpad(struct graph *g, const struct node *n, int i, tid dy, tid *dx)
{
	const struct pad *at = n->attr;
	const struct shape *x = node_in_shape(g, n, i);
	for (int k = 0; dy != NONE && k < x->nd; k++) {
		struct slice cut = { k, at->before.v[k], x->d[k] };
		if (at->before.v[k] || at->after.v[k])
			TRY(graph_emit1(g, "slice", &cut, 1, &dy, &dy));
	}
	*dx = dy;
	return 0;
}

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return unpad(g, n, 0, dy[0], &dx[0]);
}

/* --- reference kernel --- */

/* Writes one element of the border. */
static void border(const struct kplan *k, void *out)
{
	dtype_set(graph_t(k->g, k->n->out[0])->dtype, out, 0,
	          ((const struct pad *)k->n->attr)->value);
}

static int ref_run(const struct kplan *k, const struct kargs *a)
{
	const struct pad *at = k->n->attr;
	const struct shape *x = node_in_shape(k->g, k->n, 0), *y = node_out_shape(k->g, k->n, 0);
	size_t bytes = dtype_size(graph_t(k->g, k->n->out[0])->dtype);
	for (int64_t e = 0; e < shape_count(y); e++) {
		int64_t index[MAXD];
		bool inside = true;
		char *to = (char *)a->out[0] + (size_t)e * bytes;
		grid_split(y, e, index);
		for (int i = 0; i < y->nd; i++) {
			index[i] -= at->before.v[i];
			inside &= index[i] >= 0 && index[i] < x->d[i];
		}
		if (inside)
			memcpy(to, (const char *)a->in[0] + (size_t)grid_join(x, index) * bytes,
			       bytes);
		else
			border(k, to);
	}
	return 0;
}

/* --- cpu kernel --- */

/* The axes in memory order, merged; run: the last one. */
struct box {
	struct shape in, out;
	int64_t before[MAXD];
	int64_t rows;   /* rows of the output */
	size_t bytes;   /* bytes of an element */
	uint64_t value; /* value of the border, in the first bytes */
};

/* Appends an axis, or merges it with the previous one. */
static void box_add(struct box *b, int64_t size, int64_t before, int64_t after)
{
	int last = b->in.nd - 1;
	if (last >= 0 && before == 0 && after == 0) {
		b->in.d[last] *= size;
		b->out.d[last] *= size;
		b->before[last] *= size;
		return;
	}
	b->in.d[++last] = size;
	b->out.d[last] = before + size + after;
	b->before[last] = before;
	b->in.nd = b->out.nd = last + 1;
}

static int cpu_plan(struct kplan *k)
{
	const struct pad *at = k->n->attr;
	const struct shape *x = node_in_shape(k->g, k->n, 0);
	struct box *b = k->state = ARENA_NEW(k->arena, struct box);
	int order[MAXD];
	grid_memory_order(k, x, order);
	for (int i = 0; i < x->nd; i++)
		box_add(b, x->d[order[i]], at->before.v[order[i]], at->after.v[order[i]]);
	if (x->nd == 0)
		box_add(b, 1, 0, 0);
	b->rows = shape_count(&b->out) / b->out.d[b->out.nd - 1];
	b->bytes = dtype_size(graph_t(k->g, k->n->out[0])->dtype);
	border(k, &b->value);
	return 0;
}

static void fill(const struct box *b, char *to, int64_t n)
{
	if (b->bytes == sizeof b->value) {
		for (int64_t i = 0; i < n; i++)
			((uint64_t *)(void *)to)[i] = b->value;
		return;
	}
	if (b->bytes == sizeof(uint32_t)) {
		uint32_t v;
		memcpy(&v, &b->value, sizeof v);
		for (int64_t i = 0; i < n; i++)
			((uint32_t *)(void *)to)[i] = v;
		return;
	}
	if (b->bytes == sizeof(uint16_t)) {
		uint16_t v;
		memcpy(&v, &b->value, sizeof v);
		for (int64_t i = 0; i < n; i++)
			((uint16_t *)(void *)to)[i] = v;
		return;
	}
	for (int64_t i = 0; i < n; i++)
		memcpy(to + (size_t)i * b->bytes, &b->value, b->bytes);
}

/* The input row that is copied to output row `row`; -1: none, the row is border. */
static int64_t input_row(const struct box *b, int64_t row)
{
	int64_t at = 0, scale = 1;
	for (int i = b->in.nd - 2; i >= 0; i--) {
		int64_t x = row % b->out.d[i] - b->before[i];
		row /= b->out.d[i];
		if (x < 0 || x >= b->in.d[i])
			return -1;
		at += x * scale;
		scale *= b->in.d[i];
	}
	return at;
}

static void pad_row(const struct box *b, int64_t row, const char *x, char *y)
{
	int last = b->in.nd - 1;
	int64_t n = b->in.d[last], before = b->before[last], total = b->out.d[last],
		from = input_row(b, row);
	if (from < 0) {
		fill(b, y, total);
		return;
	}
	fill(b, y, before);
	memcpy(y + (size_t)before * b->bytes, x + (size_t)(from * n) * b->bytes,
	       (size_t)n * b->bytes);
	fill(b, y + (size_t)(before + n) * b->bytes, total - before - n);
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	const struct box *b = k->state;
	size_t length = (size_t)b->out.d[b->out.nd - 1] * b->bytes;
#pragma omp parallel for schedule(static) if ((size_t)b->rows * length > FORK_BYTES)
	for (int64_t row = 0; row < b->rows; row++)
		pad_row(b, row, a->in[0], (char *)a->out[0] + (size_t)row * length);
	return 0;
}

/* --- pad_add --- */

enum { ADD_X, ADD_Y };
#define ADD_PIECE 1024

static int add_shape(struct graph *g, struct node *n)
{
	const struct pad *at = n->attr;
	const struct shape *x = node_in_shape(g, n, ADD_X), *y = node_in_shape(g, n, ADD_Y);
	bool fits = at->before.n == x->nd && at->after.n == x->nd && y->nd == x->nd;
	for (int i = 0; i < x->nd && fits; i++)
		fits = at->before.v[i] + y->d[i] + at->after.v[i] == x->d[i];
	if (!fits)
		return ERR(E_SHAPE, &g->cur_loc, "the padded tensor of '%s' has another shape than the "
		           "other one", n->op->name);
	return graph_out(g, n, 0, graph_t(g, n->in[ADD_X])->dtype, x);
}

static int add_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	dx[ADD_X] = dy[0];
	return unpad(g, n, ADD_Y, dy[0], &dx[ADD_Y]);
}

static int add_reference(const struct kplan *k, const struct kargs *a)
{
	const struct pad *at = k->n->attr;
	const struct shape *y = node_in_shape(k->g, k->n, ADD_Y), *z = node_out_shape(k->g, k->n, 0);
	const double *u = a->in[ADD_X], *v = a->in[ADD_Y];
	double *w = a->out[0];
	for (int64_t e = 0; e < shape_count(z); e++) {
		int64_t index[MAXD];
		bool inside = true;
		grid_split(z, e, index);
		for (int i = 0; i < z->nd; i++) {
			index[i] -= at->before.v[i];
			inside &= index[i] >= 0 && index[i] < y->d[i];
		}
		w[e] = u[e] + (inside ? v[grid_join(y, index)] : at->value);
	}
	return 0;
}

static int add_plan(struct kplan *k)
{
	const struct pad *at = k->n->attr;
	const struct shape *y = node_in_shape(k->g, k->n, ADD_Y);
	struct box *b = k->state = ARENA_NEW(k->arena, struct box);
	int order[MAXD];
	grid_memory_order(k, y, order);
	for (int i = 0; i < y->nd; i++)
		box_add(b, y->d[order[i]], at->before.v[order[i]], at->after.v[order[i]]);
	if (y->nd == 0)
		box_add(b, 1, 0, 0);
	b->rows = shape_count(&b->out) / b->out.d[b->out.nd - 1];
	b->bytes = dtype_size(graph_t(k->g, k->n->out[0])->dtype);
	return 0;
}

/* z = x + y; these may be the same memory. 16-bit values are widened in pieces that stay in the
 * first-level cache. */
static void add_run(enum dtype t, const char *x, const char *y, char *z, int64_t n)
{
	float wide[2][ADD_PIECE];
	for (int64_t i = 0, m; i < n; i += m) {
		const size_t at = (size_t)i * dtype_size(t);
		m = n - i < ADD_PIECE ? n - i : ADD_PIECE;
		const float *u = (const float *)(const void *)(x + at),
		            *v = (const float *)(const void *)(y + at);
		if (t != DTYPE_F32) {
			sum_widen(t, wide[0], x + at, m);
			sum_widen(t, wide[1], y + at, m);
			u = wide[0];
			v = wide[1];
		}
		float *w = t == DTYPE_F32 ? (float *)(void *)(z + at) : wide[0];
		for (int64_t j = 0; j < m; j++)
			w[j] = u[j] + v[j];
		if (t != DTYPE_F32)
			sum_narrow(t, z + at, wide[0], m);
	}
}

static void add_value(enum dtype t, char *z, int64_t n, double value)
{
	for (int64_t i = 0; i < n && value != 0; i++)
		dtype_set(t, z, i, dtype_get(t, z, i) + value);
}

/* Row `row` of the result. */
static void add_row(const struct box *b, enum dtype t, double value, int64_t row,
                    const struct kargs *a)
{
	const int last = b->in.nd - 1;
	const int64_t n = b->in.d[last], from = input_row(b, row);
	const size_t all = (size_t)b->out.d[last] * b->bytes, at = (size_t)row * all,
	             first = at + (size_t)b->before[last] * b->bytes;
	const char *x = a->in[ADD_X];
	char *z = a->out[0];
	if (x != z)
		memcpy(z + at, x + at, all);
	add_value(t, z + at, from < 0 ? b->out.d[last] : b->before[last], value);
	if (from < 0)
		return;
	add_value(t, z + first + (size_t)n * b->bytes, b->out.d[last] - b->before[last] - n, value);
	add_run(t, z + first, (const char *)a->in[ADD_Y] + (size_t)(from * n) * b->bytes, z + first, n);
}

static int add_cpu(const struct kplan *k, const struct kargs *a)
{
	const struct box *b = k->state;
	const enum dtype t = graph_t(k->g, k->n->out[0])->dtype;
	const size_t length = (size_t)b->out.d[b->out.nd - 1] * b->bytes;
	const double value = ((const struct pad *)k->n->attr)->value;
#pragma omp parallel for schedule(static) if ((size_t)b->rows * length > FORK_BYTES)
	for (int64_t row = 0; row < b->rows; row++)
		add_row(b, t, value, row, a);
	return 0;
}

/* --- cuda kernel: the border everywhere, then the inside --- */

#ifdef HAVE_CUDA
static int cuda_run(const struct kplan *k, const struct kargs *a)
{
	const struct pad *at = k->n->attr;
	const struct tensor *y = graph_t(k->g, k->n->out[0]);
	const int64_t *stride = cuda_strides(k, y->id);
	int64_t first = 0;
	for (int i = 0; i < y->shape.nd; i++)
		first += at->before.v[i] * stride[i];
	const struct k_walk all = { .n = kplan_out_elements(k, 0) };
	TRY(cuda_launched(k, k_fill(cuda_stream(k->dev), (int)y->dtype, &all, at->value, a->out[0])));
	return cuda_copy(k, node_in_shape(k->g, k->n, 0), cuda_strides(k, k->n->in[0]), stride,
	                 dtype_size(y->dtype), a->in[0],
	                 (char *)a->out[0] + (size_t)first * dtype_size(y->dtype));
}
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x5x7; before: [0, 0, 1, 2], after: [0, 0, 3, 0]",
	"2x17x3x4; before: [0, 5, 0, 0], after: [0, 2, 0, 0], value: 1.5",
	"1x3x2x3x5; before: [1, 0, 1, 0, 2], after: [0, 1, 0, 1, 1], value: -2",
	"4x5; before: [0, 1], after: [2, 0]",
	"3; before: [1], after: [2]",
	"2x3x2; before: [0, 0, 0], after: [0, 0, 0]",
	"2x48x17x19; before: [0, 16, 0, 0], after: [0, 0, 0, 0]",
	NULL
};
static const char *const add_samples[] = {
	"2x3x5x7 2x3x1x5; before: [0, 0, 1, 2], after: [0, 0, 3, 0]",
	"2x32x3x4 2x16x3x4; before: [0, 16, 0, 0], after: [0, 0, 0, 0]",
	"1x17x4x3x5 1x17x1x3x5; before: [0, 0, 3, 0, 0], after: [0, 0, 0, 0, 0]",
	"3 2; before: [1], after: [0], value: 0.5", NULL
};

/* --- records --- */

static const struct op op_pad = {
	.name = "pad",
	.doc = "adds a border of one value",
	.flags = OP_LAYER,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct pad), .attrs = fields,
	.shape = shape, .grad = grad, .reads = reads, .part = part,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ref_run },
		[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .plan = cpu_plan, .run = cpu_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_run,
		                  .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_check_strided, .run = cuda_run,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = samples,
};

static const struct op op_add = {
	.name = "pad_add",
	.doc = "(x, y) -> x + y, which is padded by zeros to x's size",
	.min_in = 2, .max_in = 2, .nout = 1, .inplace = 1u << ADD_X,
	.attr_size = sizeof(struct pad), .attrs = fields,
	.shape = add_shape, .grad = add_grad,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = add_reference },
		[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .run = add_reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = add_plan, .run = add_cpu,
		                  .bf16_in = 3, .bf16_out = 1, .bf16 = KB_ALIKE },
	},
	.samples = add_samples,
};

OPSET(pad, &op_pad, &op_add);
