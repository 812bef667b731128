/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation on the CPU. x is a matrix of rows x C, whose rows may have gaps (a slice of
 * channels). It is divided into blocks of about 32 KiB, independent of the number of threads. Each
 * block sums in float relative to a shift of its own (the mean of its first rows, which limits
 * cancellation), and the sums of blocks are combined in order, in double, as in Chan, Golub and
 * LeVeque (1983).
 *
 * Forward and backward read x twice. The second pass visits each thread's blocks in the opposite
 * order, so that it begins with data that is still in the caches. */
#include <math.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/err.h"
#include "op/lib/simd.h"
#include "op/norm/norm_cpu.h"

#define BLOCK_FLOATS 8192 /* 32 KiB */
/* Fewest rows of a block if BLOCKS of them are left: the partial sums cause memory traffic, too. */
#define BLOCK_ROWS   128
#define BLOCKS       16
#define SHIFT_ROWS   8

/* --- plan --- */

/* The distance between rows, in elements; 0 for vectors. */
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
	struct norm_blocks *b = k->state = ARENA_NEW(k->arena, struct norm_blocks);
	b->c = x->d[1];
	b->bf16 = graph_t(k->g, k->n->in[0])->dtype == DTYPE_BF16;
	b->rows = shape_count(x) / b->c;
	b->block = block_of(b->rows, b->c);
	b->n = (b->rows + b->block - 1) / b->block;
	for (int i = 0; i < k->n->nin && i < NORM_MAX_IN; i++)
		b->in[i] = stride_of(k, k->n->in[i]);
	for (int i = 0; i < k->n->nout; i++)
		b->out[i] = stride_of(k, k->n->out[i]);
	k->ws_bytes = (size_t)b->c * (2 * sizeof(double) + (4 + 3 * (size_t)b->n) * sizeof(float));
	return 0;
}

/* --- a walk over blocks --- */

void norm_each_block(const struct norm_blocks *b, bool down, void (*f)(const void *arg, int64_t i),
                     const void *arg)
{
#pragma omp parallel if (b->rows * b->c > NORM_FORK)
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
	const struct norm_blocks *b;
	struct norm_source x;
	void *ws;
};

/* part: the shift, which this function chooses, then sum (x - shift) and sum (x - shift)^2 over
 * `rows` rows from lo on; c floats each. */
SIMD_INLINE void sum_rows(struct norm_source x, bool bf16, int64_t lo, int64_t rows, int64_t c,
                          float *part)
{
	float *shift = part, *s1 = part + c, *s2 = part + 2 * c;
	int64_t head = rows < SHIFT_ROWS ? rows : SHIFT_ROWS, r = 0, s = x.stride;
	float share = 1.0f / (float)head;
	memset(part, 0, sizeof *part * 3 * (size_t)c);
	for (int64_t i = 0; i < head; i++)
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++)
			shift[j] += simd_get(x.p, bf16, (lo + i) * s + j) * share;
	for (; r + 4 <= rows; r += 4) {
		const int64_t at = (lo + r) * s;
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float m = shift[j], d0 = simd_get(x.p, bf16, at + j) - m,
			      d1 = simd_get(x.p, bf16, at + s + j) - m,
			      d2 = simd_get(x.p, bf16, at + 2 * s + j) - m,
			      d3 = simd_get(x.p, bf16, at + 3 * s + j) - m;
			s1[j] += (d0 + d1) + (d2 + d3);
			s2[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
		}
	}
	for (; r < rows; r++)
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float d = simd_get(x.p, bf16, (lo + r) * s + j) - shift[j];
			s1[j] += d;
			s2[j] += d * d;
		}
}

SIMD_CLONES(void, sum_rows_full,
            (struct norm_source x, int64_t lo, int64_t rows, int64_t c, float *part),
            (x, lo, rows, c, part))
{
	sum_rows(x, false, lo, rows, c, part);
}

SIMD_CLONES(void, sum_rows_bf16,
            (struct norm_source x, int64_t lo, int64_t rows, int64_t c, float *part),
            (x, lo, rows, c, part))
{
	sum_rows(x, true, lo, rows, c, part);
}

static void sum_block(const void *arg, int64_t i)
{
	const struct statistics *s = arg;
	const struct norm_blocks *b = s->b;
	int64_t lo = norm_begin(b, i);
	(b->bf16 ? sum_rows_bf16 : sum_rows_full)(s->x, lo, norm_end(b, i) - lo, b->c,
	                                          norm_part(b, s->ws, i));
}

SIMD_CLONES(void, add_means,
            (const float *part, int64_t c, double rows, int64_t lo, int64_t hi, double *mean),
            (part, c, rows, lo, hi, mean))
{
	SIMD_LOOP
	for (int64_t j = lo; j < hi; j++)
		mean[j] += rows * (double)part[j] + (double)part[c + j];
}

SIMD_CLONES(void, add_squares,
            (const float *part, int64_t c, double rows, int64_t lo, int64_t hi, const double *mean,
             double *m2), (part, c, rows, lo, hi, mean, m2))
{
	SIMD_LOOP
	for (int64_t j = lo; j < hi; j++) {
		double s1 = part[c + j], d = (double)part[j] + s1 / rows - mean[j];
		m2[j] += (double)part[2 * c + j] - s1 * s1 / rows + rows * d * d;
	}
}

/* Combines the sums of all blocks for channels lo to hi - 1. */
static void join_statistics(const struct norm_blocks *b, void *ws, int64_t lo, int64_t hi)
{
	double *mean = ws, *m2 = mean + b->c;
	memset(mean + lo, 0, sizeof *mean * (size_t)(hi - lo));
	memset(m2 + lo, 0, sizeof *m2 * (size_t)(hi - lo));
	for (int64_t i = 0; i < b->n; i++)
		add_means(norm_part(b, ws, i), b->c,
		          (double)(norm_end(b, i) - norm_begin(b, i)), lo, hi, mean);
	for (int64_t j = lo; j < hi; j++)
		mean[j] /= (double)b->rows;
	for (int64_t i = 0; i < b->n; i++)
		add_squares(norm_part(b, ws, i), b->c,
		            (double)(norm_end(b, i) - norm_begin(b, i)), lo, hi, mean, m2);
}

/* Computes the batch's statistics: ws[0..c) the mean,
 * ws[c..2c) the sum of squared deviations, in double. */
static void statistics(const struct norm_blocks *b, struct norm_source x, void *ws)
{
	struct statistics s = { b, x, ws };
	norm_each_block(b, false, sum_block, &s);
#pragma omp parallel for schedule(static) if (b->n * b->c > NORM_FORK)
	for (int64_t lo = 0; lo < b->c; lo += NORM_JOIN)
		join_statistics(b, ws, lo, b->c - lo < NORM_JOIN ? b->c : lo + NORM_JOIN);
}

/* --- y = f((x - mean) * scale + beta [+ residual]) --- */

SIMD_INLINE void map_rows(const struct norm_map *m, bool bf16, bool f, bool residual, int64_t lo,
                          int64_t hi)
{
	const float *mean = m->mean, *a = m->scale, *b = m->beta, slope = (float)m->f.slope;
	const uint32_t keep = norm_keep(&m->f);
	const int64_t c = m->b->c;
	for (int64_t i = lo; i < hi; i++) {
		const int64_t x = i * m->x.stride, q = i * m->residual.stride, y = i * m->y.stride;
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float z = (simd_get(m->x.p, bf16, x + j) - mean[j]) * a[j] + b[j];
			z = residual ? z + simd_get(m->residual.p, bf16, q + j) : z;
			z = f ? simd_select(z < 0, norm_kept(slope * z, keep), z) : z;
			simd_put(m->y.p, bf16, y + j, z);
		}
	}
}

#define MAP(name, f, residual)                                                         \
	SIMD_CLONES(void, name##_full, (const struct norm_map *m, int64_t lo, int64_t hi), \
	            (m, lo, hi))                                                           \
	{                                                                                  \
		map_rows(m, false, f, residual, lo, hi);                                       \
	}                                                                                  \
	SIMD_CLONES(void, name##_bf16, (const struct norm_map *m, int64_t lo, int64_t hi), \
	            (m, lo, hi))                                                           \
	{                                                                                  \
		map_rows(m, true, f, residual, lo, hi);                                        \
	}
MAP(map_plain, false, false)
MAP(map_activated, true, false)
MAP(map_residual, true, true)

void norm_map_block(const void *arg, int64_t i)
{
	const struct norm_map *m = arg;
	const bool bf16 = m->b->bf16;
	int64_t lo = norm_begin(m->b, i), hi = norm_end(m->b, i);
	if (!m->f.on)
		(bf16 ? map_plain_bf16 : map_plain_full)(m, lo, hi);
	else if (!m->residual.p)
		(bf16 ? map_activated_bf16 : map_activated_full)(m, lo, hi);
	else
		(bf16 ? map_residual_bf16 : map_residual_full)(m, lo, hi);
}

/* --- forward --- */

static float inverse_deviation(double variance, double eps)
{
	return (float)(1 / sqrt((variance > 0 || isnan(variance) ? variance : 0) + eps));
}

int norm_statistics_cpu(const struct kplan *k, const struct kargs *a, double eps)
{
	const struct norm_blocks *b = k->state;
	float *mean = a->out[0], *rstd = a->out[1], *variance = a->out[2];
	const double *sums = a->ws;
	statistics(b, norm_source(k, a, 0), a->ws);
	for (int64_t j = 0; j < b->c; j++) {
		double v = sums[b->c + j] / (double)b->rows;
		mean[j] = (float)sums[j];
		rstd[j] = inverse_deviation(v, eps);
		if (variance)
			variance[j] = (float)v;
	}
	return 0;
}

int norm_sync_forward_cpu(const struct kplan *k, const struct kargs *a, double eps,
                          struct norm_act f, const struct norm_sync *sync)
{
	const struct norm_blocks *b = k->state;
	const float *gamma = a->in[1], *beta = a->in[2];
	float *mean = a->out[1], *rstd = a->out[2], *variance = a->out[3];
	float *m = norm_vector(b, a->ws, 0), *scale = norm_vector(b, a->ws, 1);
	double *sums = a->ws, own = (double)b->rows, count = own;
	statistics(b, norm_source(k, a, 0), a->ws);
	if (sync)
		TRY(norm_sync_moments(sync, b->c, sums, &count));
	for (int64_t j = 0; j < b->c; j++) {
		double v = sums[b->c + j] / count;
		float r = inverse_deviation(v, eps);
		m[j] = (float)sums[j];
		scale[j] = gamma[j] * r;
		if (mean)
			mean[j] = m[j];
		if (rstd)
			rstd[j] = r;
		if (variance)
			variance[j] = (float)(v * norm_sync_correction(count, own));
	}
	struct norm_map map = { b, norm_source(k, a, 0), norm_source(k, a, 3), norm_sink(k, a, 0),
		m, scale, beta, f };
	norm_each_block(b, true, norm_map_block, &map);
	return 0;
}

int norm_inference_cpu(const struct kplan *k, const struct kargs *a, double eps, struct norm_act f)
{
	const struct norm_blocks *b = k->state;
	const float *gamma = a->in[1], *spread = a->in[4];
	float *scale = norm_vector(b, a->ws, 0);
	for (int64_t j = 0; j < b->c; j++)
		scale[j] = eps == NORM_AGAIN ? gamma[j] * spread[j]
		                             : (float)(gamma[j] / sqrt((double)spread[j] + eps));
	struct norm_map map = { b, norm_source(k, a, 0), norm_source(k, a, 5), norm_sink(k, a, 0),
		a->in[3], scale, a->in[2], f };
	norm_each_block(b, false, norm_map_block, &map);
	return 0;
}

