/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation on the CPU. x is a matrix of rows x C, the rows possibly apart (a slice of
 * channels), cut into blocks of about 32 KiB whatever the number of threads. Each block sums in
 * float around a shift of its own (the mean of its first rows, which bounds the cancellation), and
 * blocks are joined in order in double, as in Chan, Golub and LeVeque (1983).
 *
 * Both forward and backward read x twice. The second pass goes through the blocks of each thread
 * the other way round, so that it begins with what the caches still hold. */
#include <math.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/err.h"
#include "op/norm.h"
#include "op/simd.h"

#define BLOCK_FLOATS 8192 /* 32 KiB */
#define BLOCK_ROWS   128  /* at least, if that leaves BLOCKS of them: sums are a part of the traffic */
#define BLOCKS       16
#define SHIFT_ROWS   8
#define FORK_FLOATS  16384 /* below this a fork costs more than it gains */
#define JOIN         64    /* channels joined together */

enum { MAX_IN = 8, MAX_OUT = 4 };

struct blocks {
	int64_t rows, c;                  /* the matrix */
	int64_t block, n;                 /* rows in a block, blocks */
	int64_t in[MAX_IN], out[MAX_OUT]; /* elements from row to row */
	bool half;                        /* the matrices are bf16, all of them */
};

/* Rows of a tensor; p is NULL where the tensor is absent. */
struct source {
	const void *p;
	int64_t stride;
};
struct sink {
	void *p;
	int64_t stride;
};

static struct source source(const struct kplan *k, const struct kargs *a, int i)
{
	const struct blocks *b = k->state;
	if (i < 0 || i >= k->n->nin)
		return (struct source){ 0 };
	return (struct source){ a->in[i], b->in[i] };
}

static struct sink sink(const struct kplan *k, const struct kargs *a, int i)
{
	const struct blocks *b = k->state;
	return i < 0 ? (struct sink){ 0 } : (struct sink){ a->out[i], b->out[i] };
}

/* --- plan --- */

/* 0 for the vectors. */
static int64_t stride_of(const struct kplan *k, tid t)
{
	struct layout_rows rows;
	const struct tensor *x = t == NONE ? NULL : graph_t(k->g, t);
	if (!x || !shape_equal(&x->shape, node_in_shape(k->g, k->n, 0)))
		return 0;
	BUG_IF(!layout_rows(&x->layout, &x->shape, &rows), "'%s' has no rows", x->name);
	return rows.stride;
}

static int64_t block_of(int64_t rows, int64_t c)
{
	int64_t least = rows / BLOCKS < BLOCK_ROWS ? rows / BLOCKS : BLOCK_ROWS;
	int64_t block = BLOCK_FLOATS / c > least ? BLOCK_FLOATS / c : least;
	return block > 32 ? block : 32;
}

/* Workspace: 2 * c doubles, then 4 * c floats, then n blocks of 3 * c floats. */
int norm_plan(struct kplan *k)
{
	const struct shape *x = node_in_shape(k->g, k->n, 0);
	struct blocks *b = k->state = ARENA_NEW(k->arena, struct blocks);
	b->c = x->d[1];
	b->half = graph_t(k->g, k->n->in[0])->dtype == DTYPE_BF16;
	b->rows = shape_count(x) / b->c;
	b->block = block_of(b->rows, b->c);
	b->n = (b->rows + b->block - 1) / b->block;
	for (int i = 0; i < k->n->nin; i++)
		b->in[i] = stride_of(k, k->n->in[i]);
	for (int i = 0; i < k->n->nout; i++)
		b->out[i] = stride_of(k, k->n->out[i]);
	k->ws_bytes = (size_t)b->c * (2 * sizeof(double) + (4 + 3 * (size_t)b->n) * sizeof(float));
	return 0;
}

static float *vector_part(const struct blocks *b, void *ws, int i)
{
	return (float *)((double *)ws + 2 * b->c) + i * b->c;
}

/* shift, s1, s2 of block i, c each. */
static float *block_part(const struct blocks *b, void *ws, int64_t i)
{
	return vector_part(b, ws, 4) + i * 3 * b->c;
}

static int64_t block_begin(const struct blocks *b, int64_t i)
{
	return i * b->block;
}

static int64_t block_end(const struct blocks *b, int64_t i)
{
	return i + 1 < b->n ? (i + 1) * b->block : b->rows;
}

/* --- a walk over blocks --- */

/* Calls f(arg, i) for every block, each thread for a run of neighbours: upwards, or downwards. */
static void each_block(const struct blocks *b, bool down, void (*f)(const void *arg, int64_t i),
                       const void *arg)
{
#pragma omp parallel if (b->rows * b->c > FORK_FLOATS)
	{
#ifdef _OPENMP
		int64_t t = omp_get_thread_num(), threads = omp_get_num_threads();
#else
		int64_t t = 0, threads = 1;
#endif
		int64_t lo = b->n * t / threads, hi = b->n * (t + 1) / threads;
		for (int64_t i = lo; i < hi; i++)
			f(arg, down ? hi - 1 - (i - lo) : i);
	}
}

/* --- statistics --- */

struct statistics {
	const struct blocks *b;
	struct source x;
	void *ws;
};

/* s1 = sum (x - shift), s2 = sum (x - shift)^2 over the rows from lo on, with the shift chosen
 * here. */
SIMD_INLINE void sum_rows(struct source x, bool half, int64_t lo, int64_t rows, int64_t c,
                          float *part)
{
	float *shift = part, *s1 = part + c, *s2 = part + 2 * c;
	int64_t head = rows < SHIFT_ROWS ? rows : SHIFT_ROWS, r = 0, s = x.stride;
	float share = 1.0f / (float)head;
	memset(part, 0, sizeof *part * 3 * (size_t)c);
	for (int64_t i = 0; i < head; i++)
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++)
			shift[j] += simd_get(x.p, half, (lo + i) * s + j) * share;
	for (; r + 4 <= rows; r += 4) {
		const int64_t at = (lo + r) * s;
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float m = shift[j], d0 = simd_get(x.p, half, at + j) - m,
			      d1 = simd_get(x.p, half, at + s + j) - m,
			      d2 = simd_get(x.p, half, at + 2 * s + j) - m,
			      d3 = simd_get(x.p, half, at + 3 * s + j) - m;
			s1[j] += (d0 + d1) + (d2 + d3);
			s2[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
		}
	}
	for (; r < rows; r++)
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float d = simd_get(x.p, half, (lo + r) * s + j) - shift[j];
			s1[j] += d;
			s2[j] += d * d;
		}
}

SIMD_CLONES static void sum_rows_full(struct source x, int64_t lo, int64_t rows, int64_t c,
                                      float *part)
{
	sum_rows(x, false, lo, rows, c, part);
}

SIMD_CLONES static void sum_rows_half(struct source x, int64_t lo, int64_t rows, int64_t c,
                                      float *part)
{
	sum_rows(x, true, lo, rows, c, part);
}

static void sum_block(const void *arg, int64_t i)
{
	const struct statistics *s = arg;
	const struct blocks *b = s->b;
	int64_t lo = block_begin(b, i);
	(b->half ? sum_rows_half : sum_rows_full)(s->x, lo, block_end(b, i) - lo, b->c,
	                                          block_part(b, s->ws, i));
}

SIMD_CLONES static void add_means(const float *part, int64_t c, double rows, int64_t lo, int64_t hi,
                                  double *mean)
{
	SIMD_LOOP
	for (int64_t j = lo; j < hi; j++)
		mean[j] += rows * (double)part[j] + (double)part[c + j];
}

SIMD_CLONES static void add_squares(const float *part, int64_t c, double rows, int64_t lo,
                                    int64_t hi, const double *mean, double *m2)
{
	SIMD_LOOP
	for (int64_t j = lo; j < hi; j++) {
		double s1 = part[c + j], d = (double)part[j] + s1 / rows - mean[j];
		m2[j] += (double)part[2 * c + j] - s1 * s1 / rows + rows * d * d;
	}
}

/* Channels lo to hi of all blocks. */
static void join_statistics(const struct blocks *b, void *ws, int64_t lo, int64_t hi)
{
	double *mean = ws, *m2 = mean + b->c;
	memset(mean + lo, 0, sizeof *mean * (size_t)(hi - lo));
	memset(m2 + lo, 0, sizeof *m2 * (size_t)(hi - lo));
	for (int64_t i = 0; i < b->n; i++)
		add_means(block_part(b, ws, i), b->c,
		          (double)(block_end(b, i) - block_begin(b, i)), lo, hi, mean);
	for (int64_t j = lo; j < hi; j++)
		mean[j] /= (double)b->rows;
	for (int64_t i = 0; i < b->n; i++)
		add_squares(block_part(b, ws, i), b->c,
		            (double)(block_end(b, i) - block_begin(b, i)), lo, hi, mean, m2);
}

/* Of the batch: ws[0..c) the mean, ws[c..2c) the sum of squared deviations, in double. */
static void statistics(const struct blocks *b, struct source x, void *ws)
{
	struct statistics s = { b, x, ws };
	each_block(b, false, sum_block, &s);
#pragma omp parallel for schedule(static) if (b->n * b->c > FORK_FLOATS)
	for (int64_t lo = 0; lo < b->c; lo += JOIN)
		join_statistics(b, ws, lo, b->c - lo < JOIN ? b->c : lo + JOIN);
}

/* --- y = f((x - mean) * scale + beta [+ residual]) --- */

struct map {
	const struct blocks *b;
	struct source x, residual;
	struct sink y;
	const float *mean, *scale, *beta;
	struct norm_act f;
};

/* v if keep is all ones, +0 if it is zero, whatever v is. */
SIMD_INLINE float kept(float v, uint32_t keep)
{
	return simd_float(simd_bits(v) & keep);
}

SIMD_INLINE uint32_t keep_of(const struct norm_act *f)
{
	return f->slope != 0 ? 0xFFFFFFFFu : 0;
}

SIMD_INLINE void map_rows(const struct map *m, bool half, bool f, bool residual, int64_t lo,
                          int64_t hi)
{
	const float *mean = m->mean, *a = m->scale, *b = m->beta, slope = (float)m->f.slope;
	const uint32_t keep = keep_of(&m->f);
	const int64_t c = m->b->c;
	for (int64_t i = lo; i < hi; i++) {
		const int64_t x = i * m->x.stride, q = i * m->residual.stride, y = i * m->y.stride;
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float z = (simd_get(m->x.p, half, x + j) - mean[j]) * a[j] + b[j];
			z = residual ? z + simd_get(m->residual.p, half, q + j) : z;
			z = f ? simd_select(z < 0, kept(slope * z, keep), z) : z;
			simd_put(m->y.p, half, y + j, z);
		}
	}
}

#define MAP(name, f, residual)                                                               \
	SIMD_CLONES static void name##_full(const struct map *m, int64_t lo, int64_t hi)      \
	{                                                                                    \
		map_rows(m, false, f, residual, lo, hi);                                     \
	}                                                                                    \
	SIMD_CLONES static void name##_half(const struct map *m, int64_t lo, int64_t hi)      \
	{                                                                                    \
		map_rows(m, true, f, residual, lo, hi);                                      \
	}
MAP(map_plain, false, false)
MAP(map_activated, true, false)
MAP(map_residual, true, true)

static void map_block(const void *arg, int64_t i)
{
	const struct map *m = arg;
	const bool half = m->b->half;
	int64_t lo = block_begin(m->b, i), hi = block_end(m->b, i);
	if (!m->f.on)
		(half ? map_plain_half : map_plain_full)(m, lo, hi);
	else if (!m->residual.p)
		(half ? map_activated_half : map_activated_full)(m, lo, hi);
	else
		(half ? map_residual_half : map_residual_full)(m, lo, hi);
}

/* --- forward --- */

int norm_forward_cpu(const struct kplan *k, const struct kargs *a, double eps, struct norm_act f)
{
	const struct blocks *b = k->state;
	const float *gamma = a->in[1], *beta = a->in[2];
	float *mean = a->out[1], *rstd = a->out[2], *variance = a->out[3];
	float *m = vector_part(b, a->ws, 0), *scale = vector_part(b, a->ws, 1);
	const double *sums = a->ws;
	statistics(b, source(k, a, 0), a->ws);
	for (int64_t j = 0; j < b->c; j++) {
		double v = sums[b->c + j] / (double)b->rows;
		float r = (float)(1 / sqrt((v > 0 || isnan(v) ? v : 0) + eps));
		m[j] = (float)sums[j];
		scale[j] = gamma[j] * r;
		if (mean)
			mean[j] = m[j];
		if (rstd)
			rstd[j] = r;
		if (variance)
			variance[j] = (float)v;
	}
	struct map map = { b, source(k, a, 0), source(k, a, 3), sink(k, a, 0), m, scale, beta, f };
	each_block(b, true, map_block, &map);
	return 0;
}

int norm_inference_cpu(const struct kplan *k, const struct kargs *a, double eps, struct norm_act f)
{
	const struct blocks *b = k->state;
	const float *gamma = a->in[1], *spread = a->in[4];
	float *scale = vector_part(b, a->ws, 0);
	for (int64_t j = 0; j < b->c; j++)
		scale[j] = eps == NORM_AGAIN ? gamma[j] * spread[j]
		                             : (float)(gamma[j] / sqrt((double)spread[j] + eps));
	struct map map = { b, source(k, a, 0), source(k, a, 5), sink(k, a, 0), a->in[3], scale,
		a->in[2], f };
	each_block(b, false, map_block, &map);
	return 0;
}

/* --- gradient sums: s1 = sum dz, s2 = sum dz (x - mean) --- */

struct gradient {
	const struct blocks *b;
	struct source x, dy, second, y, addend;
	struct sink dx, masked;
	const float *mean, *scale, *beta;
	const float *k1, *k2;             /* second pass */
	enum norm_mask mask;
	struct norm_act f;
	void *ws;
};

/* The gradient of z: dy, or f'(z) dy, from d = x - mean or y. */
SIMD_INLINE float masked(enum norm_mask mask, float dy, float d, float a, float b, float y,
                         float slope, uint32_t keep)
{
	if (mask == NORM_ALL)
		return dy;
	return simd_select((mask == NORM_FROM_X ? d * a + b : y) > 0, dy, kept(slope * dy, keep));
}

/* Four rows at a time, or one: `step` is a constant to the compiler. */
SIMD_INLINE void sum_gradient_step(const struct gradient *g, bool half, enum norm_mask mask,
                                   bool second, int step, int64_t row, float *s1, float *s2)
{
	const float *mean = g->mean, *a = g->scale, *b = mask == NORM_FROM_X ? g->beta : a;
	const float slope = (float)g->f.slope;
	const uint32_t keep = keep_of(&g->f);
	const bool from_y = mask == NORM_FROM_Y;
	const int64_t c = g->b->c, xs = g->x.stride, es = g->dy.stride;
	const int64_t fs = second ? g->second.stride : 0, ys = from_y ? g->y.stride : 0;
	const int64_t os = from_y ? g->masked.stride : 0;
	const void *y = from_y ? g->y.p : g->x.p;
#define AT(of, q, stride) simd_get(of, half, (row + (q)) * (stride) + j)
#define TERM(q)                                                                            \
	float d##q = AT(g->x.p, q, xs) - m, e##q = AT(g->dy.p, q, es);                     \
	e##q = second ? e##q + AT(g->second.p, q, fs) : e##q;                              \
	e##q = masked(mask, e##q, d##q, a[j], b[j], AT(y, q, ys), slope, keep);            \
	if (from_y)                                                                        \
		simd_put(g->masked.p, half, (row + (q)) * os + j, e##q)
	if (step == 4) {
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float m = mean[j];
			TERM(0);
			TERM(1);
			TERM(2);
			TERM(3);
			s1[j] += (e0 + e1) + (e2 + e3);
			s2[j] += (e0 * d0 + e1 * d1) + (e2 * d2 + e3 * d3);
		}
	} else {
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float m = mean[j];
			TERM(0);
			s1[j] += e0;
			s2[j] += e0 * d0;
		}
	}
#undef TERM
#undef AT
}

SIMD_INLINE void sum_gradient_rows(const struct gradient *g, bool half, enum norm_mask mask,
                                   bool second, int64_t lo, int64_t hi, float *part)
{
	float *s1 = part + g->b->c, *s2 = part + 2 * g->b->c;
	memset(s1, 0, sizeof *s1 * 2 * (size_t)g->b->c);
	for (; lo + 4 <= hi; lo += 4)
		sum_gradient_step(g, half, mask, second, 4, lo, s1, s2);
	for (; lo < hi; lo++)
		sum_gradient_step(g, half, mask, second, 1, lo, s1, s2);
}

typedef void sum_gradient(const struct gradient *g, int64_t lo, int64_t hi, float *part);

#define SUM_GRADIENT(name, half, mask, second)                                                 \
	SIMD_CLONES static void name(const struct gradient *g, int64_t lo, int64_t hi, float *part) \
	{                                                                                      \
		sum_gradient_rows(g, half, mask, second, lo, hi, part);                        \
	}
SUM_GRADIENT(sum_all, false, NORM_ALL, false)
SUM_GRADIENT(sum_from_x, false, NORM_FROM_X, false)
SUM_GRADIENT(sum_from_y, false, NORM_FROM_Y, false)
SUM_GRADIENT(sum_two_from_y, false, NORM_FROM_Y, true)
SUM_GRADIENT(sum_all_half, true, NORM_ALL, false)
SUM_GRADIENT(sum_from_x_half, true, NORM_FROM_X, false)
SUM_GRADIENT(sum_from_y_half, true, NORM_FROM_Y, false)
SUM_GRADIENT(sum_two_from_y_half, true, NORM_FROM_Y, true)

static void sum_gradient_block(const void *arg, int64_t i)
{
	static sum_gradient *const sums[][2] = {
		{ sum_all, sum_all_half }, { sum_from_x, sum_from_x_half },
		{ sum_from_y, sum_from_y_half }, { sum_two_from_y, sum_two_from_y_half },
	};
	const struct gradient *g = arg;
	int which = g->mask == NORM_ALL ? 0 : g->mask == NORM_FROM_X ? 1 : g->second.p ? 3 : 2;
	sums[which][g->b->half](g, block_begin(g->b, i), block_end(g->b, i),
	                        block_part(g->b, g->ws, i));
}

SIMD_CLONES static void add_sums(const float *part, int64_t c, int64_t lo, int64_t hi, double *sum)
{
	SIMD_LOOP
	for (int64_t j = lo; j < hi; j++) {
		sum[j] += (double)part[c + j];
		sum[c + j] += (double)part[2 * c + j];
	}
}

static void join_sums(const struct blocks *b, void *ws, int64_t lo, int64_t hi)
{
	double *sum = ws;
	memset(sum + lo, 0, sizeof *sum * (size_t)(hi - lo));
	memset(sum + b->c + lo, 0, sizeof *sum * (size_t)(hi - lo));
	for (int64_t i = 0; i < b->n; i++)
		add_sums(block_part(b, ws, i), b->c, lo, hi, sum);
}

/* ws[0..c) = sum dz, ws[c..2c) = sum dz (x - mean), in double. */
static void gradient_sums(const struct gradient *g)
{
	const struct blocks *b = g->b;
	each_block(b, false, sum_gradient_block, g);
#pragma omp parallel for schedule(static) if (b->n * b->c > FORK_FLOATS)
	for (int64_t lo = 0; lo < b->c; lo += JOIN)
		join_sums(b, g->ws, lo, b->c - lo < JOIN ? b->c : lo + JOIN);
}

/* --- dx = dz * scale - ((x - mean) * k2 + k1) [+ addend] --- */

SIMD_INLINE void input_gradient_rows(const struct gradient *g, bool half, bool from_x, bool addend,
                                     int64_t lo, int64_t hi)
{
	const float *mean = g->mean, *a = g->scale, *b = from_x ? g->beta : a, *k1 = g->k1,
		    *k2 = g->k2, slope = (float)g->f.slope;
	const uint32_t keep = keep_of(&g->f);
	const enum norm_mask mask = from_x ? NORM_FROM_X : NORM_ALL;
	const int64_t c = g->b->c;
	for (int64_t i = lo; i < hi; i++) {
		const int64_t x = i * g->x.stride, dy = i * g->dy.stride, dx = i * g->dx.stride,
			      q = i * g->addend.stride;
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float d = simd_get(g->x.p, half, x + j) - mean[j];
			float e = simd_get(g->dy.p, half, dy + j);
			e = masked(mask, e, d, a[j], b[j], 0, slope, keep);
			float v = e * a[j] - (d * k2[j] + k1[j]);
			v = addend ? v + simd_get(g->addend.p, half, q + j) : v;
			simd_put(g->dx.p, half, dx + j, v);
		}
	}
}

typedef void input_gradient(const struct gradient *g, int64_t lo, int64_t hi);

#define INPUT_GRADIENT(name, half, from_x, addend)                                     \
	SIMD_CLONES static void name(const struct gradient *g, int64_t lo, int64_t hi) \
	{                                                                              \
		input_gradient_rows(g, half, from_x, addend, lo, hi);                  \
	}
INPUT_GRADIENT(input_all, false, false, false)
INPUT_GRADIENT(input_all_added, false, false, true)
INPUT_GRADIENT(input_from_x, false, true, false)
INPUT_GRADIENT(input_from_x_added, false, true, true)
INPUT_GRADIENT(input_all_half, true, false, false)
INPUT_GRADIENT(input_all_added_half, true, false, true)
INPUT_GRADIENT(input_from_x_half, true, true, false)
INPUT_GRADIENT(input_from_x_added_half, true, true, true)

static void input_gradient_block(const void *arg, int64_t i)
{
	static input_gradient *const gradients[2][2][2] = {
		{ { input_all, input_all_half }, { input_all_added, input_all_added_half } },
		{ { input_from_x, input_from_x_half }, { input_from_x_added, input_from_x_added_half } },
	};
	const struct gradient *g = arg;
	gradients[g->mask == NORM_FROM_X][g->addend.p != NULL][g->b->half](
		g, block_begin(g->b, i), block_end(g->b, i));
}

int norm_grad_cpu(const struct kplan *k, const struct kargs *a, const struct norm_grad *at)
{
	const struct blocks *b = k->state;
	const float *gamma = a->in[at->gamma], *rstd = a->in[at->rstd];
	float *dgamma = a->out[1], *dbeta = a->out[2];
	float *scale = vector_part(b, a->ws, 0), *k1 = vector_part(b, a->ws, 1),
	      *k2 = vector_part(b, a->ws, 2);
	const double *sums = a->ws;
	struct gradient g = {
		.b = b, .x = source(k, a, at->x), .dy = source(k, a, at->dy),
		.second = source(k, a, at->second), .y = source(k, a, at->y),
		.addend = source(k, a, at->addend), .dx = sink(k, a, 0),
		.masked = sink(k, a, at->masked), .mean = a->in[at->mean], .scale = scale,
		.beta = source(k, a, at->beta).p, .k1 = k1, .k2 = k2, .f = at->f, .ws = a->ws,
		.mask = !at->f.on ? NORM_ALL : at->y < 0 ? NORM_FROM_X : NORM_FROM_Y,
	};
	for (int64_t j = 0; j < b->c; j++)
		scale[j] = gamma[j] * rstd[j];    /* as forward: the same z, the same sign */
	gradient_sums(&g);
	for (int64_t j = 0; j < b->c; j++) {
		double db = sums[j], dg = sums[b->c + j] * rstd[j], s = (double)gamma[j] * rstd[j];
		dbeta[j] = (float)db;
		dgamma[j] = (float)dg;
		k1[j] = (float)(s * db / (double)b->rows);
		k2[j] = (float)(s * rstd[j] * dg / (double)b->rows);
	}
	if (g.mask == NORM_FROM_Y) {              /* the first pass left dz there */
		g.dy = (struct source){ g.masked.p, g.masked.stride };
		g.mask = NORM_ALL;
	}
	each_block(b, true, input_gradient_block, &g);
	return 0;
}

/* Inputs x, dy, gamma, mean, variance: the statistics are constants. */
int norm_inference_grad_cpu(const struct kplan *k, const struct kargs *a, double eps)
{
	const struct blocks *b = k->state;
	const float *gamma = a->in[2], *variance = a->in[4];
	float *dgamma = a->out[1], *dbeta = a->out[2], *scale = vector_part(b, a->ws, 0),
	      *zero = vector_part(b, a->ws, 1);
	const double *sums = a->ws;
	struct gradient g = { .b = b, .x = source(k, a, 0), .dy = source(k, a, 1),
		.mean = a->in[3], .scale = scale, .mask = NORM_ALL, .ws = a->ws };
	gradient_sums(&g);
	for (int64_t j = 0; j < b->c; j++) {
		double r = 1 / sqrt((double)variance[j] + eps);
		dbeta[j] = (float)sums[j];
		dgamma[j] = (float)(sums[b->c + j] * r);
		scale[j] = (float)(gamma[j] * r);
		zero[j] = 0;
	}
	struct map map = { b, g.dy, { 0 }, sink(k, a, 0), zero, scale, zero, { 0 } };
	each_block(b, true, map_block, &map);
	return 0;
}
