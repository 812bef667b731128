/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of the soft Dice loss and of its gradient on the CPU. One loop computes the exponentials of
 * several points, for all classes. */
#include <math.h>

#include "base/simd.h"
#include "op/loss/dice.h"
#include "op/loss/shifted_exp.h"

#define TOGETHER DICE_CLASSES            /* floats that one loop processes */

/* Softmax q of n points with c classes, and log sum exp x of each. */
SIMD_CLONES(void, softmax, (const float *x, int64_t n, int64_t c, float *q, float *lse),
            (x, n, c, q, lse))
{
	float max[TOGETHER];
	shifted_exp(x, n, c, max, q);
	for (int64_t p = 0; p < n; p++) {
		float sum = 0, inverse;
		for (int64_t j = 0; j < c; j++)
			sum += q[p * c + j];
		inverse = 1 / sum;
		for (int64_t j = 0; j < c; j++)
			q[p * c + j] *= inverse;
		lse[p] = max[p] + logf(sum);
	}
}

static void add_point(const struct dice_attr *c, const float *x, const float *q, float lse,
                      int64_t classes, int32_t label, struct dice_sums *sums)
{
	for (int64_t j = 0; j < classes; j++) {
		double v = (double)q[j];
		sums[j].share += c->squared ? v * v : v;
	}
	sums[label].both += (double)q[label];
	sums[label].labels += 1;
	sums[label].entropy += (double)(lse - x[label]);
}

void dice_row(const struct labels *l, const struct dice_attr *c, const float *x, const int32_t *y,
              int64_t row, struct dice_sums *sums, struct bad_labels *bad)
{
	float q[TOGETHER], lse[TOGETHER];
	int64_t classes = l->classes, block = TOGETHER / classes;
	const int32_t *label = y + labels_row(l, row);
	for (int64_t i = 0; i < l->w; i += block) {
		int64_t n = l->w - i < block ? l->w - i : block, at = row * l->w + i;
		const float *from = x + at * classes;
		softmax(from, n, classes, q, lse);
		for (int64_t p = 0; p < n; p++) {
			int32_t v = label[(i + p) * l->step];
			if (labels_valid(l, v, at + p, bad))
				add_point(c, from + p * classes, q + p * classes, lse[p], classes, v, sums);
		}
	}
}

/* dx of one point, whose softmax is q. */
static void grad_point(const struct dice_attr *c, const float *q, const float *table,
                       int64_t classes, int32_t label, float f, float *dx)
{
	const float *overlap = table, *size = table + classes, *entropy = table + 2 * classes;
	float mean = q[label] * overlap[label], own = f * entropy[label];
	for (int64_t j = 0; j < classes; j++)
		mean += size[j] * (c->squared ? q[j] * q[j] : q[j]);
	for (int64_t j = 0; j < classes; j++)
		dx[j] = q[j] * (f * (size[j] * (c->squared ? q[j] : 1) - mean) + own);
	dx[label] += f * q[label] * overlap[label] - own;
}

void dice_grad_row(const struct labels *l, const struct dice_attr *c, const float *x,
                   const int32_t *y, const float *table, float f, int64_t row, float *dx)
{
	float q[TOGETHER], lse[TOGETHER];
	int64_t classes = l->classes, block = TOGETHER / classes;
	const int32_t *label = y + labels_row(l, row);
	struct bad_labels seen = { 0 };
	for (int64_t i = 0; i < l->w; i += block) {
		int64_t n = l->w - i < block ? l->w - i : block, at = (row * l->w + i) * classes;
		softmax(x + at, n, classes, q, lse);
		for (int64_t p = 0; p < n; p++) {
			int32_t v = label[(i + p) * l->step];
			if (labels_valid(l, v, i + p, &seen))
				grad_point(c, q + p * classes, table, classes, v, f, dx + at + p * classes);
			else
				for (int64_t j = 0; j < classes; j++)
					dx[at + p * classes + j] = 0;
		}
	}
}
