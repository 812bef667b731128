/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sum, mean and maximum over any set of axes.
 *
 *   sum    y = sum x           dx = dy repeated
 *   mean   y = sum x / n       dx = dy / n repeated
 *   max    y = max x           dx = dy at the first maximum (in row-major order), 0 elsewhere
 *
 * The CPU kernel divides the axes of x into kept and summed ones. If adjacent elements of x belong
 * to different results (channels-last, channels kept), a task computes up to 64 adjacent results,
 * adding rows of x to 64 accumulators; otherwise it computes one result as a sum of runs. Few tasks
 * with many elements (a bias gradient, a full sum) are divided into parts. The parts depend on the
 * shapes only, accumulate in double, and are added in order, so results do not depend on the number
 * of threads. */
#include <math.h>

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/elementwise.h"
#include "op/lib/emit.h"
#include "op/lib/reads.h"
#include "op/lib/row.h"
#include "op/lib/simd.h"
#include "op/lib/walk.h"
#include "op/reduce.h"

/* --- attributes --- */

static const struct field fields[] = {
	FIELD_INTS(struct reduce_attr, axes, NULL, 0, MAXD - 1, "axes to reduce; none given: all"),
	FIELD_BOOL(struct reduce_attr, keep, "false", "keep them as axes of size 1"),
	FIELD_END
};

/* Bit i: axis i of nd is reduced. */
static unsigned mask_of(const struct node *n, int nd)
{
	const struct reduce_attr *at = n->attr;
	unsigned mask = 0;
	for (int i = 0; i < at->axes.n; i++)
		mask |= 1u << at->axes.v[i];
	return at->axes.n ? mask : (1u << nd) - 1;
}

/* --- shape --- */

static int check_axes(struct graph *g, const struct node *n)
{
	const struct reduce_attr *at = n->attr;
	const struct shape *x = node_in_shape(g, n, 0);
	unsigned seen = 0;
	char text[SHAPE_TEXT];
	for (int i = 0; i < at->axes.n; i++) {
		int64_t axis = at->axes.v[i];
		if (axis < 0 || axis >= x->nd)
			return ERR(E_SHAPE, &g->cur_loc, "'%s' over axis %lld, but its input %s has %d axes",
			           n->op->name, (long long)axis, shape_text(x, text), x->nd);
		if (seen >> axis & 1)
			return ERR(E_SHAPE, &g->cur_loc, "'%s' names axis %lld twice", n->op->name,
			           (long long)axis);
		seen |= 1u << axis;
	}
	return 0;
}

/* The shape of x with the axes in the mask reduced to size 1 (keep) or removed. */
static struct shape reduced(const struct shape *x, unsigned mask, bool keep)
{
	struct shape s = { 0 };
	for (int i = 0; i < x->nd; i++)
		if (!(mask >> i & 1))
			s.d[s.nd++] = x->d[i];
		else if (keep)
			s.d[s.nd++] = 1;
	return s;
}

static int reduce_shape(struct graph *g, struct node *n)
{
	const struct reduce_attr *at = n->attr;
	const struct shape *x = node_in_shape(g, n, 0);
	struct shape s;
	TRY(node_want_float(g, n, 0, "input"));
	TRY(check_axes(g, n));
	s = reduced(x, mask_of(n, x->nd), at->keep);
	return graph_out(g, n, 0, DTYPE_F32, &s);
}

static int max_grad_shape(struct graph *g, struct node *n)
{
	const struct reduce_attr *at = n->attr;
	const struct shape *x = node_in_shape(g, n, 0), *dy = node_in_shape(g, n, 1);
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	struct shape s;
	TRY(node_want_float(g, n, 0, "input"));
	TRY(node_want_float(g, n, 1, "gradient"));
	TRY(check_axes(g, n));
	s = reduced(x, mask_of(n, x->nd), at->keep);
	if (!shape_equal(&s, dy))
		return ERR(E_SHAPE, &g->cur_loc, "the gradient of 'max' has shape %s, but must have %s",
		           shape_text(dy, a), shape_text(&s, b));
	return graph_out(g, n, 0, DTYPE_F32, x);
}

/* --- grad --- */

/* Repeats dy to the shape of x. */
static int repeat(struct graph *g, const struct node *n, tid dy, tid *dx)
{
	const struct shape *x = node_in_shape(g, n, 0);
	struct shape kept = reduced(x, mask_of(n, x->nd), true);
	tid t;
	TRY(emit_reshape(g, dy, &kept, &t));
	return emit_broadcast(g, t, node_in_shape(g, n, 0), dx);
}

static int sum_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return repeat(g, n, dy[0], &dx[0]);
}

/* The number of elements in one result. */
static double group(const struct graph *g, const struct node *n)
{
	double x = (double)shape_count(node_in_shape(g, n, 0));
	return x / (double)shape_count(node_out_shape(g, n, 0));
}

static int mean_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid t;
	TRY(emit_scale(g, dy[0], 1 / group(g, n), 0, &t));
	return repeat(g, n, t, &dx[0]);
}

static int max_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return graph_emit1(g, "max_grad", n->attr, 2, (tid[]){ n->in[0], dy[0] }, &dx[0]);
}

/* max_grad is linear in its second input, and its places do not depend on that input. So its
 * gradient picks the elements at those places; max_grad of ones marks them. */
static int max_grad_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	tid ones, place, t;
	dx[0] = NONE;
	TRY(emit_fill(g, 1, node_in_shape(g, n, 1), &ones));
	TRY(graph_emit1(g, "max_grad", n->attr, 2, (tid[]){ n->in[0], ones }, &place));
	TRY(emit_mul(g, place, dy[0], &t));
	return graph_emit1(g, "sum", n->attr, 1, &t, &dx[1]);
}

/* --- cost --- */

static void reduce_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops += (double)shape_count(node_in_shape(g, n, 0));
}

/* --- reference kernels --- */

/* For each axis of x the stride of the row-major result, 0 for a reduced axis. */
static void result_strides(const struct kplan *k, int64_t *stride)
{
	const struct shape *x = node_in_shape(k->g, k->n, 0);
	unsigned mask = mask_of(k->n, x->nd);
	int64_t at = 1;
	for (int i = x->nd - 1; i >= 0; i--) {
		stride[i] = mask >> i & 1 ? 0 : at;
		if (stride[i])
			at *= x->d[i];
	}
}

/* The index of the result to which element i of x belongs; both indices are row-major. */
static int64_t result_index(const struct shape *x, const int64_t *stride, int64_t i)
{
	int64_t at = 0;
	for (int d = x->nd - 1; d >= 0; d--) {
		at += i % x->d[d] * stride[d];
		i /= x->d[d];
	}
	return at;
}

/* NaN counts as larger than any number, so that it is not lost. */
static bool larger(double a, double b)
{
	return a > b || (isnan(a) && !isnan(b));
}

static void reference(const struct kplan *k, const struct kargs *a, double start, bool max)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const double *x = a->in[0];
	double *y = a->out[0];
	int64_t stride[MAXD], n = shape_count(s), m = kplan_out_elements(k, 0);
	result_strides(k, stride);
	for (int64_t j = 0; j < m; j++)
		y[j] = start;
	for (int64_t i = 0; i < n; i++) {
		int64_t j = result_index(s, stride, i);
		if (!max)
			y[j] += x[i];
		else if (larger(x[i], y[j]))
			y[j] = x[i];
	}
}

static int sum_reference(const struct kplan *k, const struct kargs *a)
{
	reference(k, a, 0, false);
	return 0;
}

static int mean_reference(const struct kplan *k, const struct kargs *a)
{
	double *y = a->out[0], n = group(k->g, k->n);
	int64_t m = kplan_out_elements(k, 0);
	reference(k, a, 0, false);
	for (int64_t j = 0; j < m; j++)
		y[j] /= n;
	return 0;
}

static int max_reference(const struct kplan *k, const struct kargs *a)
{
	reference(k, a, -INFINITY, true);
	return 0;
}

/* --- cpu kernels --- */

#define COLUMNS 64
#define PARTS 64             /* the most parts of all tasks together, approximately */
#define PART_ELEMENTS 16384  /* the fewest elements in a part */

struct reduction {
	struct nest kept, summed;
	int64_t columns, column_y;   /* adjacent elements of x that belong to different results, and
	                              * their stride in y */
	int64_t runs;                /* runs of COLUMNS results that cover `columns` */
	int64_t tasks, parts;
	double start, factor;
	enum dtype type;             /* type of x and y; if x is bf16, y is F32 */
	size_t size;                 /* bytes of an element of x */
	void (*fold)(double *acc, const void *x, int64_t stride, int64_t rows, int columns);
	void (*join)(double *acc, const double *part, int columns);
};

/* The sum of n adjacent elements. */
SIMD_INLINE double sum_run(const void *x, const int bf16, int64_t n)
{
	double sum = 0;
#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++)
		sum += (double)simd_get(x, bf16, i);
	return sum;
}

/* acc[c] += x[r * stride + c] for all rows r. */
SIMD_INLINE void sum_rows(double *acc, const void *x, const int bf16, int64_t stride, int64_t rows,
                          int columns)
{
	for (int64_t r = 0; r < rows; r++)
		SIMD_LOOP
		for (int c = 0; c < columns; c++)
			acc[c] += (double)simd_get(x, bf16, r * stride + c);
}

SIMD_INLINE void fold_columns(double *acc, const void *x, const int bf16, int64_t stride,
                              int64_t rows, int columns)
{
	if (columns == 1 && stride == 1)
		*acc += sum_run(x, bf16, rows);
	else
		sum_rows(acc, x, bf16, stride, rows, columns);
}

SIMD_CLONES(void, fold_sum,
            (double *acc, const void *x, int64_t stride, int64_t rows, int columns),
            (acc, x, stride, rows, columns))
{
	fold_columns(acc, x, 0, stride, rows, columns);
}

SIMD_CLONES(void, fold_sum_bf16,
            (double *acc, const void *x, int64_t stride, int64_t rows, int columns),
            (acc, x, stride, rows, columns))
{
	fold_columns(acc, x, 1, stride, rows, columns);
}

SIMD_CLONES(void, fold_sum_double,
            (double *acc, const void *from, int64_t stride, int64_t rows, int columns),
            (acc, from, stride, rows, columns))
{
	const double *x = from;
	for (int64_t r = 0; r < rows; r++)
		SIMD_LOOP
		for (int c = 0; c < columns; c++)
			acc[c] += x[r * stride + c];
}

/* The sum of n adjacent elements, in a fixed number of partial sums that does not depend on the
 * instruction set. */
#define LANES 8
SIMD_CLONES(double, sum_run_double, (const double *x, int64_t n), (x, n))
{
	double lane[LANES] = { 0 }, sum = 0;
	int64_t i = 0;
	for (; i + LANES <= n; i += LANES)
		SIMD_UNROLL
		for (int j = 0; j < LANES; j++)
			lane[j] += x[i + j];
	for (int j = 0; i + j < n; j++)
		lane[j] += x[i + j];
	for (int j = 0; j < LANES; j++)
		sum += lane[j];
	return sum;
}

static void fold_double(double *acc, const void *x, int64_t stride, int64_t rows, int columns)
{
	if (columns == 1 && stride == 1)
		*acc += sum_run_double(x, rows);
	else
		fold_sum_double(acc, x, stride, rows, columns);
}

static void fold_max_double(double *acc, const void *from, int64_t stride, int64_t rows,
                            int columns)
{
	const double *x = from;
	for (int64_t r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			if (larger(x[r * stride + c], acc[c]))
				acc[c] = x[r * stride + c];
}

static void fold_max(double *acc, const void *from, int64_t stride, int64_t rows, int columns)
{
	const float *x = from;
	for (int64_t r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			if (larger((double)x[r * stride + c], acc[c]))
				acc[c] = (double)x[r * stride + c];
}

static void join_sum(double *acc, const double *part, int columns)
{
	for (int c = 0; c < columns; c++)
		acc[c] += part[c];
}

static void join_max(double *acc, const double *part, int columns)
{
	for (int c = 0; c < columns; c++)
		if (larger(part[c], acc[c]))
			acc[c] = part[c];
}

static int reduce_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	strided_choose(k, &in[0], &out[0]);
	return 0;
}

void reduce_nests(const struct kplan *k, tid result, struct nest *kept, struct nest *summed)
{
	const struct reduce_attr *at = k->n->attr;
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	struct layout x = strided_layout(k->g, k->n->in[0]), y = strided_layout(k->g, result);
	unsigned mask = mask_of(k->n, s->nd);
	for (int i = 0, j = 0; i < s->nd; i++) {
		if (mask >> i & 1)
			nest_add(summed, s->d[i], x.stride[i], 0);
		else
			nest_add(kept, s->d[i], x.stride[i], y.stride[j]);
		j += !(mask >> i & 1) || at->keep;
	}
	nest_close(summed, false);
	nest_close(kept, false);
}

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The number of parts: about PARTS pieces of work, none smaller than PART_ELEMENTS. */
static int64_t part_count(const struct reduction *r)
{
	int64_t width = min64(r->columns, COLUMNS), rows = (PART_ELEMENTS + width - 1) / width;
	int64_t parts = min64((PARTS + r->tasks - 1) / r->tasks, r->summed.count / rows);
	return parts < 1 ? 1 : parts;
}

/* how: supplies start, factor, fold and join. */
static int reduce_plan(struct kplan *k, const struct reduction *how)
{
	struct reduction *r = arena_copy(k->arena, how, sizeof *how);
	int last;
	r->type = graph_t(k->g, k->n->in[0])->dtype;
	r->size = dtype_size(r->type);
	reduce_nests(k, k->n->out[0], &r->kept, &r->summed);
	last = r->kept.n - 1;
	r->columns = 1;
	if (last >= 0 && r->kept.x[last] == 1) {
		r->columns = r->kept.size[last];
		r->column_y = r->kept.y[last];
		nest_pop(&r->kept);
	}
	r->runs = (r->columns + COLUMNS - 1) / COLUMNS;
	r->tasks = r->kept.count * r->runs;
	r->parts = part_count(r);
	k->ws_bytes = r->parts > 1 ? (size_t)(r->parts * r->tasks) * COLUMNS * sizeof(double) : 0;
	k->state = r;
	return 0;
}

static int plan_scaled(struct kplan *k, double factor)
{
	const enum dtype x = graph_t(k->g, k->n->in[0])->dtype;
	return reduce_plan(k, &(struct reduction){ .factor = factor, .join = join_sum,
		.fold = x == DTYPE_F64 ? fold_double : x == DTYPE_BF16 ? fold_sum_bf16 : fold_sum });
}

static int sum_plan(struct kplan *k)
{
	return plan_scaled(k, 1);
}

static int mean_plan(struct kplan *k)
{
	return plan_scaled(k, 1 / group(k->g, k->n));
}

static int max_plan(struct kplan *k)
{
	const bool wide = graph_t(k->g, k->n->in[0])->dtype == DTYPE_F64;
	return reduce_plan(k, &(struct reduction){ .start = -INFINITY, .factor = 1,
		.fold = wide ? fold_max_double : fold_max, .join = join_max });
}

static int task_columns(const struct reduction *r, int64_t task)
{
	return (int)min64(COLUMNS, r->columns - task % r->runs * COLUMNS);
}

/* Reduces one part of one task into acc. */
static void reduce_part(const struct reduction *r, const void *x, int64_t task, int64_t part,
                        double *acc)
{
	const struct nest *s = &r->summed;
	int64_t lo = s->count * part / r->parts, hi = s->count * (part + 1) / r->parts;
	int64_t level = s->n ? s->size[s->n - 1] : 1, stride = s->n ? s->x[s->n - 1] : 1;
	int64_t xo, yo, at;
	int columns = task_columns(r, task);
	for (int c = 0; c < columns; c++)
		acc[c] = r->start;
	nest_at(&r->kept, task / r->runs, &xo, &yo);
	x = (const char *)x + (size_t)(xo + task % r->runs * COLUMNS) * r->size;
	while (lo < hi) {
		int64_t rows = min64(level - lo % level, hi - lo);
		nest_at(s, lo, &at, &yo);
		r->fold(acc, (const char *)x + (size_t)at * r->size, stride, rows, columns);
		lo += rows;
	}
}

static void store(const struct reduction *r, void *y, int64_t task, const double *acc)
{
	int64_t xo, yo;
	int columns = task_columns(r, task);
	nest_at(&r->kept, task / r->runs, &xo, &yo);
	yo += task % r->runs * COLUMNS * r->column_y;
	for (int c = 0; c < columns; c++)
		if (r->type == DTYPE_F64)
			((double *)y)[yo + c * r->column_y] = acc[c] * r->factor;
		else
			((float *)y)[yo + c * r->column_y] = (float)(acc[c] * r->factor);
}

static void join_parts(const struct reduction *r, void *y, double *ws)
{
	for (int64_t t = 0; t < r->tasks; t++) {
		double *acc = ws + t * r->parts * COLUMNS;
		for (int64_t p = 1; p < r->parts; p++)
			r->join(acc, acc + p * COLUMNS, task_columns(r, t));
		store(r, y, t, acc);
	}
}

static int reduce_cpu(const struct kplan *k, const struct kargs *a)
{
	const struct reduction *r = k->state;
	const void *x = a->in[0];
	void *y = a->out[0];
	int64_t pieces = r->tasks * r->parts;
	double *ws = a->ws;
	bool large = pieces > 1 && kplan_in_elements(k, 0) > 2 * PART_ELEMENTS;

#pragma omp parallel for schedule(static) if (large)
	for (int64_t i = 0; i < pieces; i++) {
		double acc[COLUMNS];
		if (r->parts > 1) {
			reduce_part(r, x, i / r->parts, i % r->parts, ws + i * COLUMNS);
			continue;
		}
		reduce_part(r, x, i, 0, acc);
		store(r, y, i, acc);
	}
	if (r->parts > 1)
		join_parts(r, y, ws);
	return 0;
}

/* --- max_grad: one source text for both types, on row-major tensors. No network spends time in a
 * maximum over axes, so the search is serial. The workspace holds the place of each maximum. --- */

static int max_grad_plan(struct kplan *k)
{
	k->ws_bytes = (size_t)kplan_in_elements(k, 1) * sizeof(int64_t);
	return 0;
}

#define real double
#define NAME(kernel) kernel##_reference
#include "op/reduce_body.h"

#define real float
#define NAME(kernel) kernel##_cpu
#include "op/reduce_body.h"

/* --- samples --- */

static const char *const sum_samples[] = {
	"2x3x4x5", "2x3x4x5; axes: [0, 2, 3]", "2x3x4x5; axes: [0, 2, 3], keep: true",
	"2x3x4x5; axes: 1, keep: true", "2x70x3x5; axes: [0, 2, 3]", "7", "s", "1; axes: 0",
	"2x1x3x1; axes: [1, 3]", "3x37; axes: 0", "3x37; axes: 1", "2x3x2x3x5; axes: [2, 3, 4]",
	"2x3x2x2x3x2; axes: [1, 4]", "3x36x7x9; axes: [0, 2, 3]", "1x728x3x5; axes: [0, 2, 3]",
	"2x12x5x7; axes: [2, 3]", "2x8x37x61; axes: [0, 2, 3]", NULL
};
static const char *const max_samples[] = {
	"2x3x4x5:distinct", "2x3x4x5:distinct; axes: [0, 2, 3]",
	"2x3x4x5:distinct; axes: 1, keep: true", "7:distinct", "s",
	"3x37:distinct; axes: 0", "2x3x2x3x5:distinct; axes: [2, 3, 4]",
	"2x12x5x7:distinct; axes: [2, 3]", NULL
};
static const char *const max_grad_samples[] = {
	"2x3x4x5:distinct s", "2x3x4x5:distinct 3; axes: [0, 2, 3]",
	"2x3x4x5:distinct 2x1x4x5; axes: 1, keep: true", "7:distinct s", "s s",
	"3x37:distinct 37; axes: 0", NULL
};

/* --- records --- */

#define RECORD(id, text, samples_, bf16)                                                        \
	static const struct op op_##id = {                                                          \
		.name = #id, .doc = text, .min_in = 1, .max_in = 1, .nout = 1,                          \
		.attr_size = sizeof(struct reduce_attr), .attrs = fields,                               \
		.shape = reduce_shape, .grad = id##_grad, .reads = reads_point, .cost = reduce_cost,    \
		.kernel = {                                                                             \
			[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = id##_reference },               \
			[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = reduce_choose, .plan = id##_plan, \
			                  .run = reduce_cpu, .bf16_in = bf16 },                             \
			[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .plan = id##_plan, .run = reduce_cpu },   \
			CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = reduce_choose, .plan = id##_cuda_plan,  \
			            .run = reduce_cuda, .bf16_in = 1)                                       \
		},                                                                                      \
		.samples = samples_,                                                                    \
	}

RECORD(sum, "sum over axes", sum_samples, 1);
RECORD(mean, "mean over axes", sum_samples, 1);
RECORD(max, "maximum over axes; the gradient goes to the first one", max_samples, 0);

static const struct op op_max_grad = {
	.name = "max_grad",
	.doc = "gradient of max: (x, dy) -> dy at the first maximum of x, else 0",
	.flags = OP_FLAT,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct reduce_attr), .attrs = fields,
	.nondiff = 1,
	.shape = max_grad_shape, .grad = max_grad_grad, .cost = reduce_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = max_grad_plan, .run = max_grad_reference),
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .plan = max_grad_plan, .run = max_grad_cpu },
		CUDA_KERNEL(.layouts = KL_PLAIN, .plan = max_grad_cuda_plan, .run = max_grad_cuda,
		            .bf16_in = 3, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = max_grad_samples,
};

OPSET(reduce, &op_sum, &op_mean, &op_max, &op_max_grad);
