/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Computes the numbers by which runs are compared, and their best validations. */
#include "data-tools/report/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data-tools/report/obstacles.h"
#include "base/mem.h"

bool metric_falls(const char *name)
{
	static const char *const falling[] = { "loss", "train_loss", "mae", "mse", "rmse" };
	for (size_t i = 0; i < sizeof falling / sizeof *falling; i++)
		if (strcmp(name, falling[i]) == 0)
			return true;
	return false;
}

static const struct series *find(const struct series_list *list, const char *name)
{
	for (int i = 0; i < list->n; i++)
		if (strcmp(list->v[i].name, name) == 0)
			return &list->v[i];
	return NULL;
}

const struct series *run_series(const struct run *r, const char *name)
{
	const struct series *s = find(&r->train, name);
	return s ? s : find(&r->validation, name);
}

/* A value by class, "iou[2]", is as good as the metric. */
static bool falls(const char *series)
{
	char name[128];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(series, "[."), series);
	return metric_falls(name);
}

int series_best(const struct series *s)
{
	int best = -1;
	bool less = falls(s->name);
	for (int i = 0; i < s->n; i++)
		if (isfinite(s->value[i]) &&
		    (best < 0 || (less ? s->value[i] < s->value[best] : s->value[i] > s->value[best])))
			best = i;
	return best;
}

static double last_of(const struct series *s, const double *x)
{
	return s && s->n ? x[s->n - 1] : NAN;
}

double run_seconds(const struct run *r)
{
	const struct series *s = find(&r->train, "train_loss");
	double seconds = s ? last_of(s, s->seconds) : NAN;
	for (int i = 0; i < r->validation.n; i++) {
		s = &r->validation.v[i];
		seconds = fmax(seconds, last_of(s, s->seconds));
	}
	return seconds;
}

/* --- comparing --- */

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

/* The first steps are slower than what follows; of few the last one must do. */
static double median_rate(const struct run *r)
{
	const struct series *s = find(&r->train, "samples_per_second");
	if (!s || !s->n)
		return NAN;
	int first = s->n > 3 ? 2 : s->n - 1, n = 0;
	double *v = mem_alloc(sizeof *v * (size_t)s->n), m;
	for (int i = first; i < s->n; i++)
		if (isfinite(s->value[i]))
			v[n++] = s->value[i];
	qsort(v, (size_t)n, sizeof *v, ascending);
	m = n ? (v[(n - 1) / 2] + v[n / 2]) / 2 : NAN;
	mem_free(v);
	return m;
}

/* Of a run that was killed before it said so, that of its lines, whose rates are smoothed. */
static double largest_rate(const struct run *r)
{
	const struct series *s = find(&r->train, "samples_per_second");
	double most = r->best > 0 ? r->best : NAN;
	for (int i = 0; s && r->best <= 0 && i < s->n; i++)
		most = fmax(most, s->value[i]);
	return most;
}

static void reach(const struct run *r, const struct target *t, struct comparison *c)
{
	const struct series *s = run_series(r, t->metric);
	for (int i = t->window - 1; s && i < s->n && isnan(c->target_seconds); i++) {
		double mean = 0;
		for (int k = 0; k < t->window; k++)
			mean += s->value[i - k] / t->window;
		if (falls(t->metric) ? mean <= t->value : mean >= t->value) {
			c->target_seconds = s->seconds[i];
			c->target_samples = s->samples[i];
		}
	}
}

static void measure(const struct run *r, const struct target *t, struct comparison *c)
{
	const struct series *steps = find(&r->train, "train_loss");
	double seconds = run_seconds(r), samples = steps ? last_of(steps, steps->samples) : NAN;
	*c = (struct comparison){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	c->samples_per_second = seconds > 0 ? samples / seconds : NAN;
	c->step_rate = median_rate(r);
	if (r->sample_flops > 0) {
		c->sustained_flops = r->sample_flops * c->samples_per_second;
		c->peak_flops = r->sample_flops * largest_rate(r);
	}
	if (r->peak_flops > 0)
		c->peak_share = c->sustained_flops / (r->peak_flops * (double)r->ranks);
	if (t)
		reach(r, t, c);
}

double comparison_product(const struct comparison *c)
{
	return c->speedup * c->statistical_efficiency;
}

/* Of the finite ones; NaN: none is. */
static void add_finite(double v, double *sum, int *n)
{
	if (!isfinite(v))
		return;
	*sum += v;
	(*n)++;
}

static struct comparison mean_of(const struct comparison *c, const int *of, int n)
{
	struct comparison m = { 0 };
	int rates = 0, seconds = 0, samples = 0;
	for (int i = 0; i < n; i++) {
		add_finite(c[of[i]].step_rate, &m.step_rate, &rates);
		add_finite(c[of[i]].target_seconds, &m.target_seconds, &seconds);
		add_finite(c[of[i]].target_samples, &m.target_samples, &samples);
	}
	m.step_rate = rates ? m.step_rate / rates : NAN;
	m.target_seconds = seconds ? m.target_seconds / seconds : NAN;
	m.target_samples = samples ? m.target_samples / samples : NAN;
	return m;
}

void runs_compare(const struct run *runs, const struct obstacles *obstacles, int n, const int *base,
                  int nbase, const struct target *t, struct comparison *out)
{
	const double ranks0 = (double)runs[base[0]].ranks;
	for (int i = 0; i < n; i++)
		measure(&runs[i], t, &out[i]);
	const struct comparison of = mean_of(out, base, nbase);
	for (int i = 0; i < n; i++) {
		struct comparison *c = &out[i];
		if (obstacles[i].work)
			continue;
		c->speedup = ranks0 * c->step_rate / of.step_rate;
		c->efficiency = obstacles[i].ranks ? NAN : c->speedup / (double)runs[i].ranks;
		c->learning_speedup = ranks0 * of.target_seconds / c->target_seconds;
		c->statistical_efficiency = of.target_samples / c->target_samples;
	}
}
