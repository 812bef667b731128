/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Computes the values of metrics from the sums over a set. */
#include <math.h>

#include "optim/metric_table.h"

/* --- by class --- */

static struct hits flag_hits(const struct metrics *m, int64_t c)
{
	const double *n = m->sum[FLAG_COUNTS] + 4 * c;
	return (struct hits){ n[3], n[2] + n[3], n[1] + n[3] };
}

static struct hits label_hits(const struct metrics *m, int64_t c)
{
	const double *n = m->sum[CONFUSION];
	struct hits h = { n[c * m->classes + c], 0, 0 };
	for (int64_t j = 0; j < m->classes; j++) {
		h.labelled += n[c * m->classes + j];
		h.predicted += n[j * m->classes + c];
	}
	return h;
}

static double class_score(const struct metrics *m, const struct metric *row, int64_t c)
{
	const struct hits h = m->target == TARGET_FLAGS ? flag_hits(m, c) : label_hits(m, c);
	return row->score(&h);
}

static double mean_score(const struct metrics *m, const struct metric *row)
{
	double sum = 0, n = 0;
	for (int64_t c = 0; c < m->classes; c++) {
		const double v = class_score(m, row, c);
		sum += isnan(v) ? 0 : v;
		n += !isnan(v);
	}
	return n > 0 ? sum / n : NAN;
}

/* --- by output --- */

/* a + b, and the rounding error of the sum (compensated summation). */
static double two_sum(double a, double b, double *rest)
{
	const double s = a + b, b_in_s = s - a;
	*rest += (a - (s - b_in_s)) + (b - b_in_s);
	return s;
}

/* The sum of (t - mean)^2 is sum t^2 - (sum t)^2 / n. Both are large where the mean is, so they are
 * taken with about twice the digits of a double. Constant targets leave less than one float32
 * that differs from 1e10 others by its last bit: that is 0. */
static double variation(const double *sum)
{
	const double n = sum[0], s = sum[3];
	double rest = 0, squares;
	if (!(n > 0))
		return 0;
	squares = two_sum(sum[4], 2 * sum[5], &rest);
	squares = two_sum(squares, sum[6], &rest);
	const double p = s * s, q = p / n, p_rest = fma(s, s, -p), q_rest = fma(-q, n, p);
	const double v = two_sum(squares, -q, &rest) + (rest - (q_rest + p_rest) / n);
	return v > 1e-27 * squares ? v : isnan(v) ? NAN : 0;
}

static struct errors output_errors(const struct metrics *m, int64_t c)
{
	const double *sum = m->sum[ERROR_SUMS] + 7 * c;
	return (struct errors){ sum[0], sum[1], sum[2], variation(sum) };
}

/* Of all outputs. Those whose targets are constant have no part in R2: `explained` leaves them
 * out. */
static struct errors all_errors(const struct metrics *m, bool explained)
{
	struct errors all = { 0 };
	for (int64_t c = 0; c < m->classes; c++) {
		const struct errors e = output_errors(m, c);
		if (explained && e.variation == 0)
			continue;
		all.n += e.n;
		all.absolute += e.absolute;
		all.square += e.square;
		all.variation += e.variation;
	}
	return all;
}

/* --- all --- */

static void finish(const struct metrics *m, const struct chosen_metric *c, double *out)
{
	const struct metric *row = c->row;
	const bool number = row->form == METRIC_NUMBER;
	if (row->finish) {
		row->finish(m, c->k, out);
	} else if (number && row->score) {
		*out = mean_score(m, row);
	} else if (number) {
		const struct errors e = all_errors(m, row->larger_is_better);
		*out = row->error(&e);
	}
	for (int64_t i = 0; i < m->classes && row->score && !number; i++)
		out[i] = class_score(m, row, i);
	for (int64_t i = 0; i < m->classes && row->error && !number; i++) {
		const struct errors e = output_errors(m, i);
		out[i] = row->error(&e);
	}
}

const struct metric_value *metrics_values(struct metrics *m, int *n)
{
	double *at = m->numbers;
	for (int i = 0; i < m->n; i++) {
		const struct metric *row = m->item[i].row;
		const int64_t count = metric_numbers(row->form, m->classes);
		m->value[i] = (struct metric_value){ m->item[i].name, row->form, (int)count, at,
			row->larger_is_better };
		finish(m, &m->item[i], at);
		at += count;
	}
	*n = m->n;
	return m->value;
}
