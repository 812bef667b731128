/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Group normalisation on the CPU. If a set is a row (layer norm), each row is processed at once.
 * Otherwise samples are divided into blocks of rows, independent of the number of threads. A block
 * sums each channel in float, relative to a shift of its own; the sums of a set's blocks and
 * channels are combined in order, in double. If a set's points are divided among ranks, the ranks
 * exchange its sums as doubles. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/simd.h"
#include "op/lib/fork.h"
#include "op/norm/group_norm.h"

#define BLOCK_FLOATS 8192  /* 32 KiB */
#define BLOCK_ROWS   32    /* fewest rows in a block */
#define SHIFT_ROWS   8

enum { PART = 3, VECTORS = 4 }; /* vectors of c floats for each block, and for each sample */

struct cut {
	struct norm_sets s;
	bool by_row;
	int64_t block, blocks; /* rows of a block; number of blocks of a sample or, if by_row, of the
	                        * whole tensor */
	double eps;
};

/* --- plan --- */

static struct cut *plan_cut(struct kplan *k)
{
	struct cut *p = k->state = ARENA_NEW(k->arena, struct cut);
	p->s = norm_sets_of(k);
	p->by_row = p->s.rows == 1 && p->s.across == 1;
	p->block = BLOCK_FLOATS / p->s.c > BLOCK_ROWS ? BLOCK_FLOATS / p->s.c : BLOCK_ROWS;
	p->blocks = ((p->by_row ? p->s.samples : p->s.rows) + p->block - 1) / p->block;
	p->eps = ((const struct group_norm *)k->n->attr)->eps;
	return p;
}

static int64_t all_blocks(const struct cut *p)
{
	return p->by_row ? p->blocks : p->s.samples * p->blocks;
}

static size_t sums_bytes(const struct cut *p)
{
	return p->by_row ? 0 : 2 * sizeof(double) * (size_t)(p->s.samples * p->s.across);
}

/* Workspace: ones and zeros in place of an absent gamma and beta; PART * c floats for each block;
 * VECTORS * c floats for each sample; and before them, unless a set is a row, two doubles for each
 * set. */
static size_t workspace(const struct cut *p)
{
	int64_t vectors = 2 + PART * all_blocks(p) + (p->by_row ? 0 : VECTORS * p->s.samples);
	return sums_bytes(p) + sizeof(float) * (size_t)(vectors * p->s.c);
}

int group_norm_plan(struct kplan *k)
{
	k->ws_bytes = workspace(plan_cut(k));
	return 0;
}

int group_norm_grad_plan(struct kplan *k)
{
	return group_norm_plan(k);
}

/* --- what a run works on --- */

struct work {
	const struct cut *p;
	const float *x, *dy, *gamma, *beta;
	float *y, *mean, *rstd; /* y: in the gradient this is dx */
	float *part, *vector;
	double *sums, count;    /* two numbers for each set, by sample; number of values in a set */
};

static float *filled(float *v, int64_t n, float value)
{
	for (int64_t i = 0; i < n; i++)
		v[i] = value;
	return v;
}

static struct work work_of(const struct kplan *k, const struct kargs *a, const float *gamma,
                           const float *beta)
{
	const struct cut *p = k->state;
	float *ws = (float *)(void *)((char *)a->ws + sums_bytes(p)), *part = ws + 2 * p->s.c;
	struct work w = { .p = p, .x = a->in[0], .y = a->out[0], .part = part, .sums = a->ws,
		.count = (double)(p->s.rows * p->s.width) };
	w.gamma = gamma ? gamma : filled(ws, p->s.c, 1);
	w.beta = beta ? beta : filled(ws + p->s.c, p->s.c, 0);
	w.vector = part + PART * all_blocks(p) * p->s.c;
	return w;
}

static int64_t values(const struct cut *p)
{
	return p->s.samples * p->s.rows * p->s.c;
}

/* Sets the first row of block b, counted over all samples, and returns the number of its rows. */
static int64_t block_rows(const struct cut *p, int64_t b, int64_t *first)
{
	int64_t rows = p->by_row ? p->s.samples : p->s.rows, at = b % p->blocks * p->block;
	*first = b / p->blocks * rows + at;
	return rows - at < p->block ? rows - at : p->block;
}

static float *part_of(const struct work *w, int64_t b)
{
	return w->part + b * PART * w->p->s.c;
}

static float *vector_of(const struct work *w, int64_t sample, int i)
{
	return w->vector + (sample * VECTORS + i) * w->p->s.c;
}

/* --- forward, a row at a time --- */

SIMD_CLONES(void, norm_row,
            (const float *x, int64_t c, double eps, const float *gamma, const float *beta,
             float *mean, float *rstd, float *y), (x, c, eps, gamma, beta, mean, rstd, y))
{
	float sum = 0, m2 = 0;
#pragma omp simd reduction(+ : sum)
	for (int64_t j = 0; j < c; j++)
		sum += x[j];
	const float m = sum / (float)c;
#pragma omp simd reduction(+ : m2)
	for (int64_t j = 0; j < c; j++)
		m2 += (x[j] - m) * (x[j] - m);
	const float r = (float)(1 / sqrt((double)m2 / (double)c + eps));
	SIMD_LOOP
	for (int64_t j = 0; j < c; j++)
		y[j] = (x[j] - m) * r * gamma[j] + beta[j];
	*mean = m;
	*rstd = r;
}

static void forward_rows(const struct work *w)
{
	const struct cut *p = w->p;
	const int64_t c = p->s.c;
#pragma omp parallel for schedule(static) if (values(p) > FORK_FLOATS)
	for (int64_t i = 0; i < p->s.samples; i++) {
		float mean, rstd;
		norm_row(w->x + i * c, c, p->eps, w->gamma, w->beta, &mean, &rstd, w->y + i * c);
		if (w->mean)
			w->mean[i] = mean;
		if (w->rstd)
			w->rstd[i] = rstd;
	}
}

/* --- forward, blocks of rows --- */

/* part: shift, sum of x - shift, sum of its square, for each channel. */
SIMD_CLONES(void, sum_block, (const float *x, int64_t rows, int64_t c, float *part),
            (x, rows, c, part))
{
	float *shift = part, *s1 = part + c, *s2 = part + 2 * c;
	const int64_t head = rows < SHIFT_ROWS ? rows : SHIFT_ROWS;
	const float share = 1.0f / (float)head;
	memset(part, 0, sizeof *part * (size_t)(PART * c));
	for (int64_t r = 0; r < head; r++)
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++)
			shift[j] += x[r * c + j] * share;
	for (int64_t r = 0; r < rows; r++)
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float d = x[r * c + j] - shift[j];
			s1[j] += d;
			s2[j] += d * d;
		}
}

static int64_t sets(const struct cut *p)
{
	return p->s.samples * p->s.across;
}

/* The mean of a set, and the sum of squared deviations from it. */
static void join_set(const struct work *w, int64_t sample, int64_t g, double *mean, double *above)
{
	const struct cut *p = w->p;
	const int64_t c = p->s.c, lo = g * p->s.width, hi = lo + p->s.width;
	const double m = (double)(p->s.rows * p->s.width);
	double sum = 0, m2 = 0;
	for (int pass = 0; pass < 2; pass++)
		for (int64_t i = 0; i < p->blocks; i++) {
			int64_t first, rows = block_rows(p, sample * p->blocks + i, &first);
			const float *part = part_of(w, sample * p->blocks + i);
			for (int64_t j = lo; j < hi; j++) {
				double own = part[j] + (double)part[c + j] / (double)rows;
				if (pass == 0)
					sum += own * (double)rows;
				else
					m2 += (double)part[2 * c + j] -
					      (double)part[c + j] * (double)part[c + j] / (double)rows +
					      (own - sum / m) * (own - sum / m) * (double)rows;
			}
		}
	*mean = sum / m;
	*above = m2;
}

static void join_sample(const struct work *w, int64_t sample)
{
	const int64_t across = w->p->s.across;
	for (int64_t i = sample * across; i < (sample + 1) * across; i++)
		join_set(w, sample, i - sample * across, &w->sums[i], &w->sums[sets(w->p) + i]);
}

static void finish_sample(const struct work *w, int64_t sample)
{
	const struct norm_sets *s = &w->p->s;
	float *shift = vector_of(w, sample, 0), *factor = vector_of(w, sample, 1);
	for (int64_t g = 0; g < s->across; g++) {
		const double *set = &w->sums[sample * s->across + g], mean = set[0];
		float r = (float)(1 / sqrt(set[sets(w->p)] / w->count + w->p->eps));
		if (w->mean)
			w->mean[sample * s->across + g] = (float)mean;
		if (w->rstd)
			w->rstd[sample * s->across + g] = r;
		for (int64_t j = g * s->width; j < (g + 1) * s->width; j++) {
			shift[j] = (float)mean;
			factor[j] = r * w->gamma[j];
		}
	}
}

SIMD_CLONES(void, apply_block,
            (const float *x, int64_t rows, int64_t c, const float *shift, const float *factor,
             const float *beta, float *y), (x, rows, c, shift, factor, beta, y))
{
	for (int64_t r = 0; r < rows; r++)
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++)
			y[r * c + j] = (x[r * c + j] - shift[j]) * factor[j] + beta[j];
}

static int forward_blocks(const struct kplan *k, const struct kargs *a, struct work *w)
{
	const struct cut *p = w->p;
	const int64_t c = p->s.c, n = all_blocks(p);
	const bool fork = values(p) > FORK_FLOATS;
#pragma omp parallel for schedule(static) if (fork)
	for (int64_t b = 0; b < n; b++) {
		int64_t first, rows = block_rows(p, b, &first);
		sum_block(w->x + first * c, rows, c, part_of(w, b));
	}
#pragma omp parallel for schedule(static) if (fork)
	for (int64_t i = 0; i < p->s.samples; i++)
		join_sample(w, i);
	TRY(group_norm_moments(k, a, w->sums, &w->count));
	for (int64_t i = 0; i < p->s.samples; i++)
		finish_sample(w, i);
#pragma omp parallel for schedule(static) if (fork)
	for (int64_t b = 0; b < n; b++) {
		int64_t first, rows = block_rows(p, b, &first), i = b / p->blocks;
		apply_block(w->x + first * c, rows, c, vector_of(w, i, 0), vector_of(w, i, 1), w->beta,
		            w->y + first * c);
	}
	return 0;
}

int group_norm_cpu(const struct kplan *k, const struct kargs *a)
{
	struct work w = work_of(k, a, kargs_in(k, a, GROUP_NORM_GAMMA),
	                        kargs_in(k, a, GROUP_NORM_BETA));
	w.mean = a->out[1];
	w.rstd = a->out[2];
	if (!w.p->by_row)
		return forward_blocks(k, a, &w);
	forward_rows(&w);
	return 0;
}

/* --- gradient, a row at a time --- */

/* Adds dy and dy xhat of the row to part. dx may be x or dy. */
SIMD_CLONES(void, grad_row,
            (const float *x, const float *dy, int64_t c, float mean, float rstd,
             const float *gamma, float *part, float *dx), (x, dy, c, mean, rstd, gamma, part, dx))
{
	float s1 = 0, s2 = 0;
#pragma omp simd reduction(+ : s1, s2)
	for (int64_t j = 0; j < c; j++) {
		float d = dy[j] * gamma[j];
		s1 += d;
		s2 += d * (x[j] - mean);
	}
	const float k1 = s1 / (float)c, k2 = s2 * rstd / (float)c;
	float *db = part, *dg = part + c;
	SIMD_LOOP
	for (int64_t j = 0; j < c; j++) {
		float xhat = (x[j] - mean) * rstd, d = dy[j];
		db[j] += d;
		dg[j] += d * xhat;
		dx[j] = rstd * (d * gamma[j] - k1 - xhat * k2);
	}
}

static void grad_rows(const struct work *w)
{
	const struct cut *p = w->p;
	const int64_t c = p->s.c, n = all_blocks(p);
#pragma omp parallel for schedule(static) if (values(p) > FORK_FLOATS)
	for (int64_t b = 0; b < n; b++) {
		int64_t first, rows = block_rows(p, b, &first);
		float *part = part_of(w, b);
		memset(part, 0, sizeof *part * (size_t)(PART * c));
		for (int64_t i = first; i < first + rows; i++)
			grad_row(w->x + i * c, w->dy + i * c, c, w->mean[i], w->rstd[i], w->gamma, part,
			         w->y + i * c);
	}
}

/* --- gradient, blocks of rows --- */

/* part: sums of dy and of dy xhat for each channel. */
SIMD_CLONES(void, grad_sum_block,
            (const float *x, const float *dy, int64_t rows, int64_t c, const float *shift,
             const float *rstd, float *part), (x, dy, rows, c, shift, rstd, part))
{
	float *db = part, *dg = part + c;
	memset(part, 0, sizeof *part * (size_t)(PART * c));
	for (int64_t r = 0; r < rows; r++)
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float d = dy[r * c + j];
			db[j] += d;
			dg[j] += d * (x[r * c + j] - shift[j]);
		}
	SIMD_LOOP
	for (int64_t j = 0; j < c; j++)
		dg[j] *= rstd[j];
}

/* Vectors 0 and 1 of a sample: the mean and 1 / deviation for each channel. */
static void spread_sample(const struct work *w, int64_t sample)
{
	const struct norm_sets *s = &w->p->s;
	float *shift = vector_of(w, sample, 0), *rstd = vector_of(w, sample, 1);
	for (int64_t j = 0; j < s->c; j++) {
		shift[j] = w->mean[sample * s->across + j / s->width];
		rstd[j] = w->rstd[sample * s->across + j / s->width];
	}
}

static void grad_join_sample(const struct work *w, int64_t sample)
{
	const struct cut *p = w->p;
	const struct norm_sets *s = &p->s;
	for (int64_t g = 0; g < s->across; g++) {
		const int64_t lo = g * s->width, hi = lo + s->width;
		double s1 = 0, s2 = 0;
		for (int64_t i = 0; i < p->blocks; i++) {
			const float *part = part_of(w, sample * p->blocks + i);
			for (int64_t j = lo; j < hi; j++) {
				s1 += (double)w->gamma[j] * (double)part[j];
				s2 += (double)w->gamma[j] * (double)part[s->c + j];
			}
		}
		w->sums[sample * s->across + g] = s1;
		w->sums[sets(p) + sample * s->across + g] = s2;
	}
}

/* Vectors 2 and 3 of a sample: k1 and k2 for each channel; the sums of a set enter dx as k1 + (x -
 * mean) k2. */
static void grad_finish_sample(const struct work *w, int64_t sample)
{
	const struct norm_sets *s = &w->p->s;
	float *k1 = vector_of(w, sample, 2), *k2 = vector_of(w, sample, 3);
	for (int64_t g = 0; g < s->across; g++) {
		const int64_t at = sample * s->across + g, lo = g * s->width;
		const double r = w->rstd[at], *set = &w->sums[at];
		filled(k1 + lo, s->width, (float)(r * set[0] / w->count));
		filled(k2 + lo, s->width, (float)(r * r * set[sets(w->p)] / w->count));
	}
}

SIMD_CLONES(void, grad_apply_block,
            (const float *x, const float *dy, int64_t rows, int64_t c, const float *vector,
             const float *gamma, float *dx), (x, dy, rows, c, vector, gamma, dx))
{
	const float *shift = vector, *rstd = vector + c, *k1 = vector + 2 * c, *k2 = vector + 3 * c;
	for (int64_t r = 0; r < rows; r++)
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			int64_t i = r * c + j;
			dx[i] = dy[i] * (gamma[j] * rstd[j]) - (x[i] - shift[j]) * k2[j] - k1[j];
		}
}

static int grad_blocks(const struct kplan *k, const struct kargs *a, struct work *w)
{
	const struct cut *p = w->p;
	const int64_t c = p->s.c, n = all_blocks(p);
	const bool fork = values(p) > FORK_FLOATS;
#pragma omp parallel for schedule(static) if (fork)
	for (int64_t i = 0; i < p->s.samples; i++)
		spread_sample(w, i);
#pragma omp parallel for schedule(static) if (fork)
	for (int64_t b = 0; b < n; b++) {
		int64_t first, rows = block_rows(p, b, &first), i = b / p->blocks;
		grad_sum_block(w->x + first * c, w->dy + first * c, rows, c, vector_of(w, i, 0),
		               vector_of(w, i, 1), part_of(w, b));
	}
#pragma omp parallel for schedule(static) if (fork)
	for (int64_t i = 0; i < p->s.samples; i++)
		grad_join_sample(w, i);
	TRY(group_norm_sums(k, a, w->sums, &w->count));
	for (int64_t i = 0; i < p->s.samples; i++)
		grad_finish_sample(w, i);
#pragma omp parallel for schedule(static) if (fork)
	for (int64_t b = 0; b < n; b++) {
		int64_t first, rows = block_rows(p, b, &first);
		grad_apply_block(w->x + first * c, w->dy + first * c, rows, c,
		                 vector_of(w, b / p->blocks, 0), w->gamma, w->y + first * c);
	}
	return 0;
}

/* Adds the sums of the blocks, in order. which: 0: dbeta, 1: dgamma. */
static void join_blocks(const struct work *w, int which, float *out)
{
	const int64_t c = w->p->s.c, n = all_blocks(w->p);
#pragma omp parallel for schedule(static) if (n * c > FORK_FLOATS)
	for (int64_t j = 0; j < c; j++) {
		double sum = 0;
		for (int64_t b = 0; b < n; b++)
			sum += (double)part_of(w, b)[which * c + j];
		out[j] = (float)sum;
	}
}

int group_norm_grad_cpu(const struct kplan *k, const struct kargs *a)
{
	struct work w = work_of(k, a, kargs_in(k, a, GROUP_NORM_GRAD_GAMMA), NULL);
	w.dy = a->in[1];
	w.mean = a->in[2];
	w.rstd = a->in[3];
	if (w.p->by_row)
		grad_rows(&w);
	else
		TRY(grad_blocks(k, a, &w));
	if (a->out[2])
		join_blocks(&w, 0, a->out[2]);
	if (a->out[1])
		join_blocks(&w, 1, a->out[1]);
	return 0;
}
