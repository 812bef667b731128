/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/sweep/sweep_median.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

static bool better(double v, double than, bool rises)
{
	return isfinite(v) && (!isfinite(than) || (rises ? v > than : v < than));
}

void sweep_row_add(struct sweep_row *r, int64_t step, double value, bool rises)
{
	while (r->n && r->at[r->n - 1] >= step)
		r->n--;
	if (r->n == r->cap) {
		r->cap = 2 * r->cap + 16;
		r->at = mem_realloc(r->at, (size_t)r->cap * sizeof *r->at);
		r->value = mem_realloc(r->value, (size_t)r->cap * sizeof *r->value);
	}
	r->at[r->n] = step;
	r->value[r->n++] = value;
	if (better(value, r->best, rises)) {
		r->best = value;
		r->best_step = step;
	}
}

int sweep_best(const struct sweep_row *row, int n, bool rises)
{
	int best = -1;
	for (int i = 0; i < n; i++)
		if (isfinite(row[i].best) && (best < 0 || better(row[i].best, row[best].best, rises)))
			best = i;
	return best;
}

/* The mean of a run's values up to a step; NaN: it has not come as far, or has none. */
static double mean_until(const struct sweep_row *r, int64_t step)
{
	double sum = 0;
	int n = 0;
	if (r->n == 0 || r->at[r->n - 1] < step)
		return NAN;
	for (int i = 0; i < r->n && r->at[i] <= step; i++)
		if (isfinite(r->value[i])) {
			sum += r->value[i];
			n++;
		}
	return n ? sum / n : NAN;
}

static double best_until(const struct sweep_row *r, int64_t step, bool rises)
{
	double best = NAN;
	for (int i = 0; i < r->n && r->at[i] <= step; i++)
		best = better(r->value[i], best, rises) ? r->value[i] : best;
	return best;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

bool sweep_hopeless(const struct sweep_row *row, int n, int of, int64_t step, bool rises)
{
	double *mean = mem_calloc((size_t)n, sizeof *mean), median = NAN;
	int others = 0;
	for (int i = 0; i < n; i++) {
		const double v = i == of ? NAN : mean_until(&row[i], step);
		if (isfinite(v))
			mean[others++] = v;
	}
	qsort(mean, (size_t)others, sizeof *mean, compare);
	if (others >= SWEEP_MEDIAN_LEAST)
		median = (mean[(others - 1) / 2] + mean[others / 2]) / 2;
	mem_free(mean);
	const double mine = best_until(&row[of], step, rises);
	return isfinite(median) && !(rises ? mine >= median : mine <= median);
}
