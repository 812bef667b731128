/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Resize of all spatial axes, nearest, linear (bilinear; trilinear for three axes) or by means
 * (area). With in and out sizes of an axis, output o reads the input at
 *   nearest                floor(o * in / out)
 *   linear                 max(0, (o + 1/2) * in / out - 1/2)
 *   linear, align_corners  o * (in - 1) / (out - 1), so that the corners map onto each other
 *   area                   the mean of floor(o * in / out) .. ceil((o + 1) * in / out) - 1
 * as torch.nn.functional.interpolate does; area is adaptive average pooling. resize and resize_grad
 * are linear maps, each the other's transpose and gradient.
 *
 * CPU: each axis has a sparse matrix (for each index of the result: source indices and weights).
 * The gradient uses its transpose, so it is a gather, too: it needs no atomics, and its bits do not
 * depend on the number of threads. */
#include "op/resize.h"

#include <string.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/elementwise.h"
#include "op/lib/emit.h"
#include "op/lib/fork.h"
#include "op/lib/grid.h"
#include "op/lib/reads.h"
#include "op/lib/row.h"
#include "op/lib/simd.h"
#include "op/lib/window_cuda.h"

static const char *const mode_names[] = { "bilinear", "nearest", "area", NULL };

static const struct field fields[] = {
	FIELD_INTS(struct resize, size, "", 1, 1 << 24, "spatial size of the result"),
	FIELD_ENUM(struct resize, mode, "bilinear", mode_names,
	           "linear along each axis, nearest, or means"),
	FIELD_BOOL(struct resize, align_corners, "false", "map corner onto corner (bilinear only)"),
	FIELD_INTS(struct resize, whole, NULL, 1, INT32_MAX,
	           "of a piece: spatial sizes of the whole before, then after"),
	FIELD_INTS(struct resize, at, NULL, 0, INT32_MAX,
	           "of a piece: where it begins before, then after; none: at 0"),
	FIELD_END
};

/* --- shape --- */

/* The grid of the result: that of input 0 with the spatial size in the attributes. */
static int result_grid(struct graph *g, const struct node *n, struct grid *y)
{
	const struct resize *at = n->attr;
	TRY(check_float(g, n, 0));
	TRY(check_rank(g, n, 0, 3, 5));
	*y = grid_of(node_in_shape(g, n, 0));
	if (at->align_corners && at->mode != RESIZE_BILINEAR)
		return ERR(E_CONFIG, &g->cur_loc,
		           "layer '%s': 'align_corners' of '%s' goes with mode bilinear only",
		           check_layer(n), n->op->name);
	if ((at->whole.n && at->whole.n != 2 * y->axes) || (at->at.n && at->at.n != 2 * y->axes))
		return ERR(E_CONFIG, &g->cur_loc,
		           "layer '%s': 'whole' and 'at' of '%s' have %d and %d entries, expected none or "
		           "%d", check_layer(n), n->op->name, at->whole.n, at->at.n, 2 * y->axes);
	return grid_ints(&g->cur_loc, n, "size", &at->size, y->axes, 1, y->d);
}

static int shape(struct graph *g, struct node *n)
{
	struct grid y;
	TRY(result_grid(g, n, &y));
	struct shape s = grid_shape(&y);
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &s);
}

/* Sets the missing attributes of a piece: the sizes of the whole, and the piece's size where it is
 * a whole number of steps smaller. */
static void cut(struct graph *g, struct node *n, const struct shape *in, const struct shape *out)
{
	struct resize *at = n->attr;
	const struct shape *x = node_in_shape(g, n, 0);
	int64_t size[MAXD], whole[2 * MAXD];
	const int axes = in->nd - 2;
	if (x->nd != in->nd || shape_equal(x, in) || at->align_corners)
		return;
	for (int k = 0; k < axes; k++) {
		const int64_t all = out->d[k + 2], left = (in->d[k + 2] - x->d[k + 2]) * all;
		whole[k] = in->d[k + 2];
		whole[axes + k] = all;
		size[k] = all - left / whole[k];
		if (left % whole[k] || size[k] < 1)
			return;
	}
	at->size = ints_make(g, axes, size);
	at->whole = ints_make(g, 2 * axes, whole);
}

/* Makes n compute a part of its output: the piece begins where the part begins. The entries of
 * other axes stay those of the whole until `part` is called for them. */
static bool part(struct graph *g, struct node *n, const struct op_part *p)
{
	struct resize *at = n->attr;
	const struct shape *x = node_in_shape(g, n, 0), *y = node_out_shape(g, n, 0);
	const int axes = x->nd - 2, k = p->axis - 2;
	int64_t sizes[2 * MAXD];
	for (int i = 0; i < axes; i++) {
		sizes[i] = at->whole.n ? at->whole.v[i] : x->d[i + 2];
		sizes[axes + i] = at->whole.n ? at->whole.v[axes + i] : y->d[i + 2];
	}
	sizes[k] = p->in_all;
	sizes[axes + k] = p->out_all;
	at->whole = ints_make(g, 2 * axes, sizes);
	reads_set(g, &at->at, 2 * axes, k, 0, p->in_lo);
	reads_set(g, &at->at, 2 * axes, axes + k, 0, p->out_lo);
	reads_set(g, &at->size, axes, k, 1, p->out_hi - p->out_lo);
	return true;
}

/* --- grad --- */

/* The gradient of each of the two ops is the other one, which maps dy back to the size of x. */
static int emit_transpose_map(struct graph *g, const struct node *n, const char *op, const tid *dy,
                              tid *dx)
{
	struct resize at = *(const struct resize *)n->attr;
	const struct shape *x = node_in_shape(g, n, 0);
	if (dy[0] == NONE)
		return 0;
	at.size = ints_make(g, x->nd - 2, x->d + 2);
	return graph_emit1(g, op, &at, 1, dy, &dx[0]);
}

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return emit_transpose_map(g, n, "resize_grad", dy, dx);
}

static int grad_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return emit_transpose_map(g, n, "resize", dy, dx);
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	const struct shape *in = node_in_shape(g, n, 0), *out = node_out_shape(g, n, 0);
	int64_t a = shape_count(in), b = shape_count(out);
	c->flops = ((const struct resize *)n->attr)->mode == RESIZE_NEAREST
	                   ? 0
	                   : (double)(a > b ? a : b) * 2 * (1 << (in->nd - 2));
}

/* --- reference kernels --- */

/* Axis a of three, if the spatial axes that exist are the last ones. */
static struct resize_axis grid_axis(const struct resize *at, const struct grid *small,
                                    const struct grid *large, int a)
{
	const int k = a - (3 - small->axes);
	if (k < 0)
		return (struct resize_axis){ at, 1, 1, 0, 0, 1 };
	return resize_axis_of(at, small->axes, k, small->d[a], large->d[a]);
}

/* Calls visit(output, input, weight) for each pair of one plane; `small` is the grid before the
 * resize. */
static void each_pair(const struct resize *at, const struct grid *small, const struct grid *large,
                      void (*visit)(void *arg, int64_t o, int64_t i, double w), void *arg)
{
	for (int64_t o = 0; o < grid_points(large); o++) {
		int64_t c[3] = { o / (large->d[1] * large->d[2]), o / large->d[2] % large->d[1],
			         o % large->d[2] };
		struct resize_source s[3];
		for (int a = 0; a < 3; a++) {
			const struct resize_axis x = grid_axis(at, small, large, a);
			s[a] = resize_source_of(&x, c[a]);
		}
		for (int64_t i = 0; i < s[0].n * s[1].n * s[2].n; i++) {
			int64_t d = i / (s[1].n * s[2].n), h = i / s[2].n % s[1].n, w = i % s[2].n;
			double weight = resize_weight(&s[0], d) * resize_weight(&s[1], h) *
			                resize_weight(&s[2], w);
			if (weight != 0)
				visit(arg, o,
				      ((s[0].first + d) * small->d[1] + s[1].first + h) * small->d[2] +
				              s[2].first + w,
				      weight);
		}
	}
}

struct planes {
	const double *from;
	double *to;
};

static void pull(void *arg, int64_t o, int64_t i, double w)
{
	struct planes *p = arg;
	p->to[o] += w * p->from[i];
}

static void push(void *arg, int64_t o, int64_t i, double w)
{
	struct planes *p = arg;
	p->to[i] += w * p->from[o];
}

static int ref_any_run(const struct kplan *k, const struct kargs *a, bool transposed)
{
	struct grid x = grid_of(node_in_shape(k->g, k->n, 0)),
		    y = grid_of(node_out_shape(k->g, k->n, 0));
	struct planes p = { a->in[0], a->out[0] };
	memset(p.to, 0, sizeof *p.to * (size_t)(y.n * y.c * grid_points(&y)));
	for (int64_t i = 0; i < x.n * x.c;
	     i++, p.from += grid_points(&x), p.to += grid_points(&y)) {
		if (transposed)
			each_pair(k->n->attr, &y, &x, push, &p);
		else
			each_pair(k->n->attr, &x, &y, pull, &p);
	}
	return 0;
}

static int ref_run(const struct kplan *k, const struct kargs *a)
{
	return ref_any_run(k, a, false);
}

static int ref_grad_run(const struct kplan *k, const struct kargs *a)
{
	return ref_any_run(k, a, true);
}

/* --- cpu kernels --- */

/* The sparse matrix of one axis: entries first[i] .. first[i + 1] - 1 belong to result index i. */
struct axis_map {
	int64_t *first, *from;
	float *w;
};

struct maps {
	struct grid from, to;
	struct axis_map axis[3];
	bool bf16;                   /* the input is bf16 */
};

static struct axis_map map_new(struct arena *arena, int64_t n, int64_t entries)
{
	return (struct axis_map){ ARENA_ARRAY(arena, int64_t, n + 1),
		                  ARENA_ARRAY(arena, int64_t, entries + 1),
		                  ARENA_ARRAY(arena, float, entries + 1) };
}

/* The matrix of an axis with `out` result indices. */
static struct axis_map map_make(struct arena *arena, const struct resize_axis *x, int64_t out)
{
	struct axis_map m = map_new(arena, out, 2 * out + (x->at->mode == RESIZE_AREA ? x->n : 0));
	int64_t e = 0;
	for (int64_t o = 0; o < out; o++) {
		struct resize_source s = resize_source_of(x, o);
		m.first[o] = e;
		for (int64_t j = 0; j < s.n; j++)
			if (resize_weight(&s, j) != 0) {
				m.from[e] = s.first + j;
				m.w[e++] = (float)resize_weight(&s, j);
			}
	}
	m.first[out] = e;
	return m;
}

static struct axis_map map_transpose(struct arena *arena, const struct axis_map *m, int64_t in,
                                     int64_t out)
{
	int64_t entries = m->first[out];
	struct axis_map t = map_new(arena, in + 1, entries);
	int64_t *next = t.first + 1; /* the end of each index's entries, which advances while they are
	                              * filled in */
	for (int64_t e = 0; e < entries; e++)
		next[m->from[e] + 1]++;
	for (int64_t i = 1; i <= in; i++)
		next[i] += next[i - 1];
	for (int64_t o = 0; o < out; o++)
		for (int64_t e = m->first[o]; e < m->first[o + 1]; e++) {
			int64_t to = next[m->from[e]]++;
			t.from[to] = o;
			t.w[to] = m->w[e];
		}
	return t;
}

static int plan_any(struct kplan *k, bool transposed)
{
	struct maps *m = k->state = ARENA_NEW(k->arena, struct maps);
	m->from = grid_of(node_in_shape(k->g, k->n, 0));
	m->to = grid_of(node_out_shape(k->g, k->n, 0));
	m->bf16 = row_bf16(k, 0);
	k->ws_bytes = row_workspace(k, m->to.d[2] * m->to.c);
	for (int a = 0; a < 3; a++) {
		const struct grid *small = transposed ? &m->to : &m->from,
		                  *large = transposed ? &m->from : &m->to;
		const struct resize_axis x = grid_axis(k->n->attr, small, large, a);
		m->axis[a] = map_make(k->arena, &x, large->d[a]);
		if (transposed)
			m->axis[a] = map_transpose(k->arena, &m->axis[a], small->d[a], large->d[a]);
	}
	return 0;
}

static int cpu_plan(struct kplan *k)
{
	return plan_any(k, false);
}

static int cpu_grad_plan(struct kplan *k)
{
	return plan_any(k, true);
}

/* Two rows of the input that contribute to a row of the result, and their weights. */
struct pair {
	const void *a, *b;
	float fa, fb;
};

/* y = or += the weighted sum of one or two pixels of both rows. */
SIMD_INLINE void mix_two(const struct pair *r, const int bf16, int64_t i0, float w0, int64_t i1,
                         float w1, int64_t c, bool add, float *y)
{
	const void *a0 = row_at(r->a, bf16, i0 * c), *a1 = row_at(r->a, bf16, i1 * c);
	const void *b0 = row_at(r->b, bf16, i0 * c), *b1 = row_at(r->b, bf16, i1 * c);
	float fa0 = r->fa * w0, fa1 = r->fa * w1, fb0 = r->fb * w0, fb1 = r->fb * w1;
#define MIXED ((fa0 * simd_get(a0, bf16, j) + fa1 * simd_get(a1, bf16, j)) +                     \
	       (fb0 * simd_get(b0, bf16, j) + fb1 * simd_get(b1, bf16, j)))
	if (add)
#pragma omp simd
		for (int64_t j = 0; j < c; j++)
			y[j] += MIXED;
	else
#pragma omp simd
		for (int64_t j = 0; j < c; j++)
			y[j] = MIXED;
#undef MIXED
}

SIMD_INLINE void mix_one(const struct pair *r, const int bf16, int64_t i, float w, int64_t c,
                         bool add, float *y)
{
	const void *a = row_at(r->a, bf16, i * c), *b = row_at(r->b, bf16, i * c);
	float fa = r->fa * w, fb = r->fb * w;
	if (add)
#pragma omp simd
		for (int64_t j = 0; j < c; j++)
			y[j] += fa * simd_get(a, bf16, j) + fb * simd_get(b, bf16, j);
	else
#pragma omp simd
		for (int64_t j = 0; j < c; j++)
			y[j] = fa * simd_get(a, bf16, j) + fb * simd_get(b, bf16, j);
}

/* y = or += two rows, interpolated along their axis by m: n pixels of c channels. */
SIMD_INLINE void blend_two(struct pair r, const int bf16, const struct axis_map *m, int64_t n,
                           int64_t c, bool keep, float *y)
{
	for (int64_t i = 0; i < n; i++, y += c) {
		int64_t e = m->first[i], end = m->first[i + 1];
		bool add = keep;
		if (!add && e == end)
			memset(y, 0, sizeof *y * (size_t)c);
		for (; e + 2 <= end; e += 2, add = true)
			mix_two(&r, bf16, m->from[e], m->w[e], m->from[e + 1], m->w[e + 1], c, add,
			        y);
		if (e < end)
			mix_one(&r, bf16, m->from[e], m->w[e], c, add, y);
	}
}

/* The same for one row. */
SIMD_INLINE void blend_one(const void *x, const int bf16, float weight, const struct axis_map *m,
                           int64_t n, int64_t c, bool keep, float *y)
{
	for (int64_t i = 0; i < n; i++, y += c) {
		int64_t e = m->first[i], end = m->first[i + 1];
		if (!keep && e == end) {
			memset(y, 0, sizeof *y * (size_t)c);
		} else if (!keep) {
			const void *p = row_at(x, bf16, m->from[e] * c);
			float f = weight * m->w[e++];
#pragma omp simd
			for (int64_t j = 0; j < c; j++)
				y[j] = f * simd_get(p, bf16, j);
		}
		for (; e < end; e++) {
			const void *p = row_at(x, bf16, m->from[e] * c);
			float f = weight * m->w[e];
#pragma omp simd
			for (int64_t j = 0; j < c; j++)
				y[j] += f * simd_get(p, bf16, j);
		}
	}
}

#define BLEND(type, bf16)                                                                     \
	SIMD_CLONES(void, blend_pair##type,                                                       \
	            (struct pair r, const struct axis_map *m, int64_t n, int64_t c, bool keep,    \
	             float *y), (r, m, n, c, keep, y))                                            \
	{                                                                                         \
		blend_two(r, bf16, m, n, c, keep, y);                                                 \
	}                                                                                         \
	SIMD_CLONES(void, blend_row##type,                                                        \
	            (const void *x, float weight, const struct axis_map *m, int64_t n, int64_t c, \
	             bool keep, float *y), (x, weight, m, n, c, keep, y))                         \
	{                                                                                         \
		blend_one(x, bf16, weight, m, n, c, keep, y);                                         \
	}

BLEND(, 0)
BLEND(_bf16, 1)

/* Row h of slice d of the result; x points to its sample. */
static void resize_row(const struct maps *m, const void *x, int64_t d, int64_t h, float *y)
{
	const struct axis_map *md = &m->axis[0], *mh = &m->axis[1];
	int64_t length = m->from.d[2] * m->from.c;
	struct pair r = { NULL, NULL, 0, 0 };
	bool keep = false;
	for (int64_t i = md->first[d]; i < md->first[d + 1]; i++)
		for (int64_t j = mh->first[h]; j < mh->first[h + 1]; j++) {
			r.b = r.a, r.fb = r.fa;
			r.a = row_at(x, m->bf16, (md->from[i] * m->from.d[1] + mh->from[j]) * length);
			r.fa = md->w[i] * mh->w[j];
			if (!r.b)
				continue;
			(m->bf16 ? blend_pair_bf16 : blend_pair)(r, &m->axis[2], m->to.d[2], m->to.c,
			                                         keep, y);
			r.a = NULL;
			keep = true;
		}
	if (r.a)
		(m->bf16 ? blend_row_bf16 : blend_row)(r.a, r.fa, &m->axis[2], m->to.d[2], m->to.c,
		                                       keep, y);
	else if (!keep)
		memset(y, 0, sizeof *y * (size_t)(m->to.d[2] * m->to.c));
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	const struct maps *m = k->state;
	const struct grid *g = &m->to;
	int64_t rows = g->n * g->d[0] * g->d[1], length = g->d[2] * g->c,
		element = grid_points(&m->from) * g->c;
	int64_t work = element * g->n > rows * length ? element * g->n : rows * length;
	const struct row_out r = row_out_of(k, a, length);
#pragma omp parallel for schedule(static) if (work > FORK_FLOATS)
	for (int64_t i = 0; i < rows; i++) {
		float *y = row_begin(&r, i);
		resize_row(m, row_at(a->in[0], m->bf16, i / (g->d[0] * g->d[1]) * element),
		           i / g->d[1] % g->d[0], i % g->d[1], y);
		row_end(&r, i, y);
	}
	return 0;
}

/* --- cuda kernels: the same maps, in 32 bits on the device --- */

#ifdef HAVE_CUDA
struct resize_cuda {
	struct k_window grids;
	struct k_resize maps;
};

static int keep_indices(struct kplan *k, const int64_t *v, int64_t n, const int32_t **out)
{
	int32_t *narrow = ARENA_ARRAY(k->arena, int32_t, n);
	void *kept;
	for (int64_t i = 0; i < n; i++)
		narrow[i] = (int32_t)v[i];
	TRY(cuda_keep(k, narrow, sizeof *narrow * (size_t)n, &kept));
	*out = kept;
	return 0;
}

static int keep_axis(struct kplan *k, const struct axis_map *m, int64_t n,
                     struct k_resize *to, int a)
{
	const int64_t entries = m->first[n];
	void *kept;
	TRY(keep_indices(k, m->first, n + 1, &to->first[a]));
	TRY(keep_indices(k, m->from, entries + 1, &to->from[a]));
	TRY(cuda_keep(k, m->w, sizeof *m->w * (size_t)(entries + 1), &kept));
	to->weight[a] = kept;
	return 0;
}

static int cuda_plan_any(struct kplan *k, bool transposed)
{
	TRY(plan_any(k, transposed));
	const struct maps *m = k->state;
	struct resize_cuda *r = k->state = ARENA_NEW(k->arena, struct resize_cuda);
	TRY(window_cuda_check(k, &m->from));
	TRY(window_cuda_check(k, &m->to));
	r->grids.n = m->to.n;
	r->grids.c = m->to.c;
	for (int a = 0; a < 3; a++) {
		r->grids.in[a] = (int)m->from.d[a];
		r->grids.out[a] = (int)m->to.d[a];
		TRY(keep_axis(k, &m->axis[a], m->to.d[a], &r->maps, a));
	}
	return 0;
}

static int cuda_plan(struct kplan *k)
{
	return cuda_plan_any(k, false);
}

static int cuda_grad_plan(struct kplan *k)
{
	return cuda_plan_any(k, true);
}

static int cuda_run(const struct kplan *k, const struct kargs *a)
{
	const struct resize_cuda *r = k->state;
	return cuda_launched(k, k_resample(cuda_stream(k->dev), cuda_in_type(k, 0), &r->grids, &r->maps,
	                                   a->in[0], a->out[0]));
}
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x4x5; size: [7, 9]", "2x17x7x5; size: [3, 11], align_corners: true",
	"1x3x3x4x5; size: [6, 3, 7]", "1x1x3x2x5; size: [5, 4, 1], align_corners: true",
	"2x3x9x7; size: [4, 15], mode: nearest", "1x3x2x5x3; size: [4, 3, 9], mode: nearest",
	"2x5x6; size: 13", "2x5x16; size: 3, mode: area", "2x17x9x7; size: [4, 7], mode: area",
	"1x3x5x2x9; size: [2, 3, 1], mode: area", "2x48x11x13; size: [22, 26]",
	"1x3x1x1; size: [5, 6]",
	"2x3x5x4; size: [7, 6], whole: [9, 12, 15, 16], at: [2, 8, 5, 11]",
	"1x2x6x5; size: [4, 9], mode: nearest, whole: [9, 20, 7, 30], at: [3, 0, 2, 1]",
	"1x2x9x7; size: [3, 2], mode: area, whole: [17, 18, 5, 5], at: [3, 4, 1, 2]", NULL
};
static const char *const grad_samples[] = {
	"2x3x7x9; size: [4, 5]",      "2x17x3x11; size: [7, 5], align_corners: true",
	"1x3x6x3x7; size: [3, 4, 5]", "2x3x4x15; size: [9, 7], mode: nearest",
	"2x48x22x26; size: [11, 13]", "2x17x4x7; size: [9, 7], mode: area",
	"2x3x7x6; size: [5, 4], whole: [9, 12, 15, 16], at: [2, 8, 5, 11]",
	NULL
};

/* --- records --- */

static const struct op op_resize = {
	.name = "resize",
	.doc = "resamples the spatial axes to a given size",
	.flags = OP_LAYER,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct resize), .attrs = fields,
	.shape = shape, .grad = grad, .reads = resize_reads, .cut = cut, .part = part, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ref_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_run,
		                  .bf16_in = 1, .bf16_out = 1 },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_plan, .run = cuda_run,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = samples,
};

static const struct op op_resize_grad = {
	.name = "resize_grad",
	.doc = "gradient of resize; size: the size before it",
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct resize), .attrs = fields,
	.shape = shape, .grad = grad_grad, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ref_grad_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_grad_plan, .run = cpu_run,
		                  .bf16_in = 1, .bf16_out = 1 },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_grad_plan, .run = cuda_run,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = grad_samples,
};

OPSET(resize, &op_resize, &op_resize_grad);
