/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over elements of a function of prediction - target. */
#include "op/loss/pointwise_error.h"

#include <math.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/fork.h"
#include "op/lib/simd.h"

#define PIECE 4096 /* elements */

int pointwise_error_check(struct graph *g, const struct node *n)
{
	TRY(check_dtype(g, n, 0, DTYPE_F32));
	TRY(check_dtype(g, n, 1, DTYPE_F32));
	return check_equal(g, n, 0, 1);
}

void pointwise_error_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 3.0 * (double)shape_count(node_in_shape(g, n, 0));
}

double pointwise_error_sum_reference(enum pointwise_error f, double delta, const double *x,
                                     const double *t, int64_t n)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++) {
		double d = fabs(x[i] - t[i]);
		if (f == ERROR_ABSOLUTE)
			sum += d;
		else if (f == ERROR_SQUARE)
			sum += d * d;
		else
			sum += d <= delta ? 0.5 * d * d : delta * (d - 0.5 * delta);
	}
	return sum;
}

size_t pointwise_error_workspace(int64_t n)
{
	return sizeof(double) * (size_t)((n + PIECE - 1) / PIECE);
}

SIMD_CLONES(double, absolute, (const float *x, const float *t, int64_t n), (x, t, n))
{
	double sum = 0;
#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++)
		sum += (double)fabsf(x[i] - t[i]);
	return sum;
}

SIMD_CLONES(double, square, (const float *x, const float *t, int64_t n), (x, t, n))
{
	double sum = 0;
#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++) {
		double d = (double)(x[i] - t[i]);
		sum += d * d;
	}
	return sum;
}

/* With m = min(|d|, delta) both branches are m (|d| - m / 2). */
SIMD_CLONES(double, huber, (float delta, const float *x, const float *t, int64_t n),
            (delta, x, t, n))
{
	double sum = 0;
#pragma omp simd reduction(+ : sum)
	for (int64_t i = 0; i < n; i++) {
		float d = fabsf(x[i] - t[i]), m = simd_select(d > delta, delta, d);
		sum += (double)(m * (d - 0.5f * m));
	}
	return sum;
}

double pointwise_error_sum(enum pointwise_error f, float delta, const float *x, const float *t,
                           int64_t n, void *ws)
{
	double *part = ws, sum = 0;
	int64_t pieces = (n + PIECE - 1) / PIECE;
#pragma omp parallel for schedule(static) if (n >= FORK_DIFFERENCES)
	for (int64_t p = 0; p < pieces; p++) {
		int64_t at = p * PIECE, m = n - at < PIECE ? n - at : PIECE;
		part[p] = f == ERROR_ABSOLUTE ? absolute(x + at, t + at, m)
		          : f == ERROR_SQUARE ? square(x + at, t + at, m)
		                                  : huber(delta, x + at, t + at, m);
	}
	for (int64_t p = 0; p < pieces; p++)
		sum += part[p];
	return sum;
}
