/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of softmax cross-entropy and of its gradient on the CPU. With few classes one loop computes
 * the exponentials of several elements. */
#include "op/loss/loss_row.h"

#include <math.h>
#include <string.h>

#include "op/lib/simd.h"
#include "op/loss/shifted_exp.h"

#define NARROW      64   /* the most classes for which several elements are processed together */
#define TOGETHER    1024 /* floats, or elements of a gradient, that are processed together */

/* (1 - q)^gamma for e = -log q. */
double loss_focus(double gamma, double e)
{
	if (gamma == 0)
		return 1;
	return e > 0 ? pow(-expm1(-e), gamma) : 0;
}

/* The function F of loss.c. As q goes to 1, e / (1 - q) goes to 1, too, and F to 0. */
double loss_focus_slope(double gamma, double e)
{
	if (gamma == 0)
		return 1;
	return e > 0 ? loss_focus(gamma, e) * (1 + gamma * exp(-e) * e / -expm1(-e)) : 0;
}

/* The contribution to W of one counted element whose class weight is w. */
double loss_share(const struct loss_attr *c, double w)
{
	return c->reduction == LOSS_MEAN ? w : 1;
}

/* max and log sum exp(x - max) of n elements with few classes. */
SIMD_CLONES(void, narrow_sums, (const float *x, int64_t n, int64_t c, float *max, float *log_sum),
            (x, n, c, max, log_sum))
{
	float e[TOGETHER];
	shifted_exp(x, n, c, max, e);
	for (int64_t p = 0; p < n; p++) {
		float s = 0;
		for (int64_t j = 0; j < c; j++)
			s += e[p * c + j];
		log_sum[p] = logf(s);
	}
}

/* The same for one element with many classes. */
SIMD_CLONES(void, wide_sums, (const float *x, int64_t c, float *max, float *log_sum),
            (x, c, max, log_sum))
{
	float m = x[0], s = 0;
	for (int64_t j = 1; j < c; j++)
		m = x[j] > m ? x[j] : m;
#pragma omp simd reduction(+ : s)
	for (int64_t j = 0; j < c; j++)
		s += simd_exp(x[j] - m);
	*max = m;
	*log_sum = logf(s);
}

/* s / C  sum_c w[c] (max - x[c] + log_sum) of one element, s the smoothing. */
static double spread_out(const struct loss_attr *c, const float *x, int64_t classes,
                         const float *weights, float max, float log_sum)
{
	double sum = 0;
	for (int64_t j = 0; j < classes; j++)
		sum += (double)((weights ? weights[j] : 1) * (max - x[j] + log_sum));
	return c->smoothing / (double)classes * sum;
}

/* Adds elements at .. at + n - 1 of a row. x: logits of the first one; labels: y[i * step]. */
static void part_of_row(const struct labels *l, const struct loss_attr *c, const float *x,
                      const int32_t *y, const float *weights, int64_t at, int64_t n, float *lse,
                      struct loss_part *part)
{
	float max[TOGETHER], log_sum[TOGETHER];
	if (l->classes <= NARROW)
		narrow_sums(x, n, l->classes, max, log_sum);
	else
		wide_sums(x, l->classes, max, log_sum);
	for (int64_t p = 0; p < n; p++) {
		int32_t label = y[p * l->step];
		if (lse)
			lse[p] = max[p] + log_sum[p];
		if (!labels_valid(l, label, at + p, &part->bad))
			continue;
		float w = weights ? weights[label] : 1,
		      e = max[p] - x[p * l->classes + label] + log_sum[p];
		part->loss += (1 - c->smoothing) * (double)(w * e) * loss_focus(c->gamma, (double)e);
		if (c->smoothing != 0)
			part->loss +=
				spread_out(c, x + p * l->classes, l->classes, weights, max[p], log_sum[p]);
		part->weight += loss_share(c, (double)w);
	}
}

void loss_row(const struct labels *l, const struct loss_attr *c, const float *x,
                     const int32_t *y, const float *weights, int64_t row, float *lse,
                     struct loss_part *part)
{
	int64_t block = l->classes <= NARROW ? TOGETHER / l->classes : 1;
	*part = (struct loss_part){ 0 };
	for (int64_t i = 0; i < l->w; i += block) {
		int64_t n = l->w - i < block ? l->w - i : block, at = row * l->w + i;
		part_of_row(l, c, x + at * l->classes, y + labels_row(l, row) + i * l->step, weights,
		          at, n, lse ? lse + at : NULL, part);
	}
}

/* dx = exp(x - lse) for n elements. */
SIMD_CLONES(void, softmax, (const float *x, const float *lse, int64_t n, int64_t c, float *dx),
            (x, lse, n, c, dx))
{
	for (int64_t p = 0; p < n; p++)
		for (int64_t j = 0; j < c; j++)
			dx[p * c + j] = x[p * c + j] - lse[p];
#pragma omp simd
	for (int64_t i = 0; i < n * c; i++)
		dx[i] = simd_exp(dx[i]);
}

static void scale_element(float f, int64_t c, int64_t label, float *dx)
{
	if (f == 0) {
		memset(dx, 0, sizeof *dx * (size_t)c);
		return;
	}
	for (int64_t j = 0; j < c; j++)
		dx[j] *= f;
	dx[label] -= f;
}

static float sum_of_weights(const float *weights, int64_t c)
{
	double sum = 0;
	for (int64_t j = 0; j < c; j++)
		sum += weights ? (double)weights[j] : 1;
	return (float)sum;
}

/* The gradient with smoothing. all: the sum of the class weights; dx: holds the softmax. */
static void smooth_element(const struct loss_gradient *g, float f, float all, int32_t label,
                           float *dx)
{
	struct bad_labels seen = { 0 };
	int64_t c = g->l->classes;
	float own = f * (float)(1 - g->c->smoothing),
	      s = g->each * (float)(g->c->smoothing / (double)c);
	if (!labels_valid(g->l, label, 0, &seen)) {
		memset(dx, 0, sizeof *dx * (size_t)c);
		return;
	}
	for (int64_t j = 0; j < c; j++)
		dx[j] = (own + s * all) * dx[j] - s * (g->weights ? g->weights[j] : 1);
	dx[label] -= own;
}

/* The factors of the elements at .. at + n - 1 of a row. Call it before dx is written, which may be
 * x. */
static void factors(const struct loss_gradient *g, const int32_t *y, int64_t at, int64_t n,
                    float *f, struct bad_labels *bad)
{
	double gamma = g->c->gamma;
	for (int64_t i = 0, p = at; i < n; i++, p++) {
		int32_t label = y[i * g->l->step];
		f[i] = labels_valid(g->l, label, p, bad) ? g->each : 0;
		if (f[i] != 0 && g->weights)
			f[i] *= g->weights[label];
		if (f[i] != 0 && gamma != 0)
			f[i] *= (float)loss_focus_slope(gamma,
			                                (double)(g->lse[p] - g->x[p * g->l->classes + label]));
	}
}

/* One row of the gradient. */
void loss_grad_row(const struct loss_gradient *g, int64_t row, struct bad_labels *bad)
{
	const struct labels *l = g->l;
	float f[TOGETHER], all = sum_of_weights(g->weights, l->classes);
	int64_t c = l->classes;
	bool smooth = g->c->smoothing != 0;
	for (int64_t i = 0; i < l->w; i += TOGETHER) {
		int64_t n = l->w - i < TOGETHER ? l->w - i : TOGETHER, at = row * l->w + i;
		const int32_t *y = g->y + labels_row(l, row) + i * l->step;
		factors(g, y, at, n, f, bad);
		softmax(g->x + at * c, g->lse + at, n, c, g->dx + at * c);
		for (int64_t p = 0; p < n; p++)
			if (smooth)
				smooth_element(g, f[p], all, y[p * l->step], g->dx + (at + p) * c);
			else
				scale_element(f[p], c, y[p * l->step], g->dx + (at + p) * c);
	}
}
