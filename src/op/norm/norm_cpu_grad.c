/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradient of batch normalisation on the CPU, over the blocks of norm_cpu.c: first the sums
 * over each channel, then the gradient to x. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/lib/simd.h"
#include "op/norm/norm_cpu.h"

/* --- gradient sums: s1 = sum dz, s2 = sum dz (x - mean) --- */

struct gradient {
	const struct norm_blocks *b;
	struct norm_source x, dy, second, y, addend;
	struct norm_sink dx, masked;
	const float *mean, *scale, *beta;
	const float *k1, *k2;             /* coefficients of dx in the second pass */
	enum norm_mask mask;
	struct norm_act f;
	bool given;                       /* the statistics are constants, so the pass that sums also
	                                   * computes dx */
	void *ws;
};

/* The additional output of the pass that sums: none, dz * scale, or dz * scale + addend. */
enum making { NOTHING, DIRECT, ADDED };

/* The gradient of z: dy, or f'(z) dy, whose sign is found from d = x - mean or from y. */
SIMD_INLINE float masked(enum norm_mask mask, float dy, float d, float a, float b, float y,
                         float slope, uint32_t keep)
{
	if (mask == NORM_ALL)
		return dy;
	return simd_select((mask == NORM_FROM_X ? d * a + b : y) > 0, dy, norm_kept(slope * dy, keep));
}

/* Processes `step` rows, four or one, a compile-time constant. TERM is a macro, since gcc 12 does
 * not vectorize most of these loops if it is an inline function. */
SIMD_INLINE void sum_gradient_step(const struct gradient *g, bool bf16, enum norm_mask mask,
                                   bool second, enum making making, int step, int64_t row,
                                   float *s1, float *s2)
{
	const float *mean = g->mean, *a = g->scale, *b = mask == NORM_FROM_X ? g->beta : a;
	const float slope = (float)g->f.slope;
	const uint32_t keep = norm_keep(&g->f);
	const bool from_y = mask == NORM_FROM_Y;
	const int64_t c = g->b->c, xs = g->x.stride, es = g->dy.stride;
	const int64_t fs = second ? g->second.stride : 0, ys = from_y ? g->y.stride : 0;
	const int64_t os = from_y ? g->masked.stride : 0;
	const int64_t vs = making ? g->dx.stride : 0, qs = making == ADDED ? g->addend.stride : 0;
	const void *y = from_y ? g->y.p : g->x.p;
#define AT(of, q, stride) simd_get(of, bf16, (row + (q)) * (stride) + j)
#define TERM(q)                                                                            \
	float d##q = AT(g->x.p, q, xs) - m, e##q = AT(g->dy.p, q, es);                     \
	e##q = second ? e##q + AT(g->second.p, q, fs) : e##q;                              \
	e##q = masked(mask, e##q, d##q, a[j], b[j], AT(y, q, ys), slope, keep);            \
	if (from_y)                                                                        \
		simd_put(g->masked.p, bf16, (row + (q)) * os + j, e##q);                   \
	if (making)                                                                        \
		simd_put(g->dx.p, bf16, (row + (q)) * vs + j,                              \
		         e##q * a[j] + (making == ADDED ? AT(g->addend.p, q, qs) : 0))
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

SIMD_INLINE void sum_gradient_rows(const struct gradient *g, bool bf16, enum norm_mask mask,
                                   bool second, enum making making, int64_t lo, int64_t hi,
                                   float *part)
{
	float *s1 = part + g->b->c, *s2 = part + 2 * g->b->c;
	memset(s1, 0, sizeof *s1 * 2 * (size_t)g->b->c);
	for (; lo + 4 <= hi; lo += 4)
		sum_gradient_step(g, bf16, mask, second, making, 4, lo, s1, s2);
	for (; lo < hi; lo++)
		sum_gradient_step(g, bf16, mask, second, making, 1, lo, s1, s2);
}

typedef void sum_gradient(const struct gradient *g, int64_t lo, int64_t hi, float *part);

#define SUM_GRADIENT(name, mask, second, making)                                 \
	SIMD_CLONES(void, name##_full,                                               \
	            (const struct gradient *g, int64_t lo, int64_t hi, float *part), \
	            (g, lo, hi, part))                                               \
	{                                                                            \
		sum_gradient_rows(g, false, mask, second, making, lo, hi, part);         \
	}                                                                            \
	SIMD_CLONES(void, name##_bf16,                                               \
	            (const struct gradient *g, int64_t lo, int64_t hi, float *part), \
	            (g, lo, hi, part))                                               \
	{                                                                            \
		sum_gradient_rows(g, true, mask, second, making, lo, hi, part);          \
	}
SUM_GRADIENT(sum_all, NORM_ALL, false, NOTHING)
SUM_GRADIENT(sum_from_x, NORM_FROM_X, false, NOTHING)
SUM_GRADIENT(sum_from_y, NORM_FROM_Y, false, NOTHING)
SUM_GRADIENT(sum_two_from_y, NORM_FROM_Y, true, NOTHING)
SUM_GRADIENT(sum_direct, NORM_FROM_X, false, DIRECT)
SUM_GRADIENT(sum_added, NORM_FROM_X, false, ADDED)

static int which_sum(const struct gradient *g)
{
	if (g->given)
		return g->addend.p ? 5 : 4;
	if (g->mask == NORM_FROM_Y)
		return g->second.p ? 3 : 2;
	return g->mask == NORM_FROM_X;
}

static void sum_gradient_block(const void *arg, int64_t i)
{
	static sum_gradient *const sums[][2] = {
		{ sum_all_full, sum_all_bf16 }, { sum_from_x_full, sum_from_x_bf16 },
		{ sum_from_y_full, sum_from_y_bf16 }, { sum_two_from_y_full, sum_two_from_y_bf16 },
		{ sum_direct_full, sum_direct_bf16 }, { sum_added_full, sum_added_bf16 },
	};
	const struct gradient *g = arg;
	sums[which_sum(g)][g->b->bf16](g, norm_begin(g->b, i), norm_end(g->b, i),
	                               norm_part(g->b, g->ws, i));
}

SIMD_CLONES(void, add_sums, (const float *part, int64_t c, int64_t lo, int64_t hi, double *sum),
            (part, c, lo, hi, sum))
{
	SIMD_LOOP
	for (int64_t j = lo; j < hi; j++) {
		sum[j] += (double)part[c + j];
		sum[c + j] += (double)part[2 * c + j];
	}
}

static void join_sums(const struct norm_blocks *b, void *ws, int64_t lo, int64_t hi)
{
	double *sum = ws;
	memset(sum + lo, 0, sizeof *sum * (size_t)(hi - lo));
	memset(sum + b->c + lo, 0, sizeof *sum * (size_t)(hi - lo));
	for (int64_t i = 0; i < b->n; i++)
		add_sums(norm_part(b, ws, i), b->c, lo, hi, sum);
}

/* ws[0..c) = sum dz, ws[c..2c) = sum dz (x - mean), in double. */
static void gradient_sums(const struct gradient *g)
{
	const struct norm_blocks *b = g->b;
	norm_each_block(b, false, sum_gradient_block, g);
#pragma omp parallel for schedule(static) if (b->n * b->c > NORM_FORK)
	for (int64_t lo = 0; lo < b->c; lo += NORM_JOIN)
		join_sums(b, g->ws, lo, b->c - lo < NORM_JOIN ? b->c : lo + NORM_JOIN);
}

/* --- dx = dz * scale - ((x - mean) * k2 + k1) [+ addend] --- */

SIMD_INLINE void input_gradient_rows(const struct gradient *g, bool bf16, bool from_x, bool addend,
                                     int64_t lo, int64_t hi)
{
	const float *mean = g->mean, *a = g->scale, *b = from_x ? g->beta : a, *k1 = g->k1,
		    *k2 = g->k2, slope = (float)g->f.slope;
	const uint32_t keep = norm_keep(&g->f);
	const enum norm_mask mask = from_x ? NORM_FROM_X : NORM_ALL;
	const int64_t c = g->b->c;
	for (int64_t i = lo; i < hi; i++) {
		const int64_t x = i * g->x.stride, dy = i * g->dy.stride, dx = i * g->dx.stride,
			      q = i * g->addend.stride;
		SIMD_LOOP
		for (int64_t j = 0; j < c; j++) {
			float d = simd_get(g->x.p, bf16, x + j) - mean[j];
			float e = simd_get(g->dy.p, bf16, dy + j);
			e = masked(mask, e, d, a[j], b[j], 0, slope, keep);
			float v = e * a[j] - (d * k2[j] + k1[j]);
			v = addend ? v + simd_get(g->addend.p, bf16, q + j) : v;
			simd_put(g->dx.p, bf16, dx + j, v);
		}
	}
}

typedef void input_gradient(const struct gradient *g, int64_t lo, int64_t hi);

#define INPUT_GRADIENT(name, bf16, from_x, addend)                                           \
	SIMD_CLONES(void, name, (const struct gradient *g, int64_t lo, int64_t hi), (g, lo, hi)) \
	{                                                                                        \
		input_gradient_rows(g, bf16, from_x, addend, lo, hi);                                \
	}
INPUT_GRADIENT(input_all, false, false, false)
INPUT_GRADIENT(input_all_added, false, false, true)
INPUT_GRADIENT(input_from_x, false, true, false)
INPUT_GRADIENT(input_from_x_added, false, true, true)
INPUT_GRADIENT(input_all_bf16, true, false, false)
INPUT_GRADIENT(input_all_added_bf16, true, false, true)
INPUT_GRADIENT(input_from_x_bf16, true, true, false)
INPUT_GRADIENT(input_from_x_added_bf16, true, true, true)

static void input_gradient_block(const void *arg, int64_t i)
{
	static input_gradient *const gradients[2][2][2] = {
		{ { input_all, input_all_bf16 }, { input_all_added, input_all_added_bf16 } },
		{ { input_from_x, input_from_x_bf16 }, { input_from_x_added, input_from_x_added_bf16 } },
	};
	const struct gradient *g = arg;
	gradients[g->mask == NORM_FROM_X][g->addend.p != NULL][g->b->bf16](
		g, norm_begin(g->b, i), norm_end(g->b, i));
}

/* The part of dx that goes through the statistics is (x - mean) * k2 + k1 for each channel. */
static void through_statistics(const double *sums, const float *gamma, const float *rstd, int64_t c,
                               double count, float *k1, float *k2)
{
	for (int64_t j = 0; j < c; j++) {
		double db = sums[j], dg = sums[c + j] * rstd[j], s = (double)gamma[j] * rstd[j];
		k1[j] = (float)(s * db / count);
		k2[j] = (float)(s * rstd[j] * dg / count);
	}
}

/* scale is computed as in the forward pass, so that z has the same bits and the same sign. */
static struct gradient gradient_of(const struct kplan *k, const struct kargs *a,
                                   const struct norm_grad *at)
{
	const struct norm_blocks *b = k->state;
	const float *gamma = a->in[at->gamma], *rstd = a->in[at->rstd];
	float *scale = norm_vector(b, a->ws, 0);
	for (int64_t j = 0; j < b->c; j++)
		scale[j] = gamma[j] * rstd[j];
	return (struct gradient){
		.b = b, .x = norm_source(k, a, at->x), .dy = norm_source(k, a, at->dy),
		.second = norm_source(k, a, at->second), .y = norm_source(k, a, at->y),
		.addend = norm_source(k, a, at->addend), .dx = norm_sink(k, a, 0),
		.masked = norm_sink(k, a, at->masked), .mean = a->in[at->mean], .scale = scale,
		.beta = norm_source(k, a, at->beta).p, .f = at->f, .ws = a->ws,
		.mask = !at->f.on ? NORM_ALL : at->y < 0 ? NORM_FROM_X : NORM_FROM_Y,
	};
}

/* Writes the gradients to the parameters. */
static void put_sums(const struct norm_blocks *b, const double *sums, const float *rstd,
                     float *dgamma, float *dbeta)
{
	for (int64_t j = 0; j < b->c; j++) {
		dbeta[j] = (float)sums[j];
		dgamma[j] = (float)(sums[b->c + j] * rstd[j]);
	}
}

int norm_sync_grad_cpu(const struct kplan *k, const struct kargs *a, const struct norm_grad *at,
                       const struct norm_sync *sync)
{
	const struct norm_blocks *b = k->state;
	const float *gamma = a->in[at->gamma], *rstd = a->in[at->rstd];
	float *k1 = norm_vector(b, a->ws, 1), *k2 = norm_vector(b, a->ws, 2);
	double *sums = a->ws, count = (double)b->rows;
	struct gradient g = gradient_of(k, a, at);
	gradient_sums(&g);
	put_sums(b, sums, rstd, a->out[1], a->out[2]);
	if (sync)
		TRY(norm_sync_sums(sync, b->c, sums, &count));
	through_statistics(sums, gamma, rstd, b->c, count, k1, k2);
	g.k1 = k1;
	g.k2 = k2;
	if (g.mask == NORM_FROM_Y) {              /* the first pass has stored dz there */
		g.dy = (struct norm_source){ g.masked.p, g.masked.stride };
		g.mask = NORM_ALL;
	}
	norm_each_block(b, true, input_gradient_block, &g);
	return 0;
}

int norm_grad_given_cpu(const struct kplan *k, const struct kargs *a, const struct norm_grad *at)
{
	const struct norm_blocks *b = k->state;
	const float *rstd = a->in[at->rstd];
	struct gradient g = gradient_of(k, a, at);
	g.given = true;
	gradient_sums(&g);
	put_sums(b, a->ws, rstd, a->out[1], a->out[2]);
	through_statistics(a->ws, a->in[at->gamma], rstd, b->c, (double)b->rows, a->out[3], a->out[4]);
	return 0;
}

/* Computes (x - mean) * -k2 - k1 + dx by the forward pass's loop; its slope is 1, so f is the
 * identity. */
int norm_grad_through_cpu(const struct kplan *k, const struct kargs *a, const int64_t *begin)
{
	const struct norm_blocks *b = k->state;
	float *k1 = norm_vector(b, a->ws, 0), *k2 = norm_vector(b, a->ws, 1);
	for (int64_t j = 0; j < b->c; j++) {
		double s1 = 0, s2 = 0;
		for (int i = 3; i < k->n->nin; i += 2) {
			s1 += (double)((const float *)a->in[i])[begin[(i - 3) / 2] + j];
			s2 += (double)((const float *)a->in[i + 1])[begin[(i - 3) / 2] + j];
		}
		k1[j] = (float)-s1;
		k2[j] = (float)-s2;
	}
	struct norm_map map = { b, norm_source(k, a, 0), norm_source(k, a, 1), norm_sink(k, a, 0),
		a->in[2], k2, k1,
		{ true, 1 } };
	norm_each_block(b, true, norm_map_block, &map);
	return 0;
}

/* Inputs x, dy, gamma, mean, variance: the statistics are constants. */
int norm_inference_grad_cpu(const struct kplan *k, const struct kargs *a, double eps)
{
	const struct norm_blocks *b = k->state;
	const float *gamma = a->in[2], *variance = a->in[4];
	float *dgamma = a->out[1], *dbeta = a->out[2], *scale = norm_vector(b, a->ws, 0),
	      *zero = norm_vector(b, a->ws, 1);
	const double *sums = a->ws;
	struct gradient g = { .b = b, .x = norm_source(k, a, 0), .dy = norm_source(k, a, 1),
		.mean = a->in[3], .scale = scale, .mask = NORM_ALL, .ws = a->ws };
	gradient_sums(&g);
	for (int64_t j = 0; j < b->c; j++) {
		double r = 1 / sqrt((double)variance[j] + eps);
		dbeta[j] = (float)sums[j];
		dgamma[j] = (float)(sums[b->c + j] * r);
		scale[j] = (float)(gamma[j] * r);
		zero[j] = 0;
	}
	struct norm_map map = { b, g.dy, { 0 }, norm_sink(k, a, 0), zero, scale, zero, { 0 } };
	norm_each_block(b, true, norm_map_block, &map);
	return 0;
}
