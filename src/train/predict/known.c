/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict/known.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "train/predict/samples_at.h"

static int find_fields(struct known *k, const struct run_config *c, const struct point_set *s)
{
	struct network_values all;
	networks_at_names(k->a, c->physics, &all);
	k->field = ARENA_ARRAY(k->a, struct known_field, all.n + 1);
	for (int i = 0; i < all.n; i++)
		for (int j = 0; j < s->nvalues; j++)
			if (strcmp(s->values[j].name, all.name[i]) == 0 && s->values[j].each == 1)
				k->field[k->n++] = (struct known_field){ .component = i, .name = all.name[i],
					.v = s->values[j].v };
	for (int i = 0; i < k->n && k->random; i++)
		ensemble_init(&k->field[i].law, k->field[i].v, s->samples, k->places.n);
	return k->n ? 0 : ERR(E_DATA, &c->data.validation.loc[0], "'%s' has no array of the name of a "
	                      "network to compare with", c->data.validation.v[0]);
}

/* Metrics that compare value by value, or the statistics of realizations. */
static const char *const of_laws[] = { "mean_l2", "std_l2", "ks" };
#define LAWS (sizeof of_laws / sizeof *of_laws)

static bool is_of_laws(const char *metric)
{
	for (size_t i = 0; i < LAWS; i++)
		if (strcmp(metric, of_laws[i]) == 0)
			return true;
	return false;
}

/* What noise alone makes has nothing to do with a particular sample. */
static int check_drawn(const struct run_config *c, const struct evaluated *v)
{
	const struct strings *metrics = &c->metrics;
	int m = 0;
	while (m < metrics->n && is_of_laws(metrics->v[m]))
		m++;
	if (!v->drawn || m == metrics->n)
		return 0;
	return ERR(E_CONFIG, &metrics->loc[m], "'%s' compares sample by sample, and '%s' is a function "
	           "of noise alone, for which there are mean_l2, std_l2 and ks", metrics->v[m],
	           v->name);
}

/* Names a network and an array that could be compared, by their sizes. */
static int not_compared(const struct run_config *c)
{
	const struct physics *p = c->physics;
	const char *example = "NETWORK: ARRAY";
	for (int i = p->nevaluated - 1; i >= 0; i--)
		for (int k = p->record->nvalues - 1; k >= 0; k--)
			if (p->record->values[k].each == p->evaluated[i].components)
				example = arena_printf(c->arena, "%s: %s", p->evaluated[i].name,
				                       p->record->values[k].name);
	return ERR(E_DATA, &c->data.validation.loc[0], "'%s' has no array of the name of a network to "
	           "compare with; 'compare' in 'data' says which one is, such as 'compare: {%s}'",
	           c->data.validation.v[0], example);
}

static int open_samples(struct known *k, const struct run_config *c)
{
	const struct physics *p = c->physics;
	k->field = ARENA_ARRAY(k->a, struct known_field, p->nevaluated + 1);
	for (int i = 0; i < p->nevaluated; i++) {
		if (!p->evaluated[i].known)
			continue;
		TRY(check_drawn(c, &p->evaluated[i]));
		k->field[k->n++] = (struct known_field){ .component = i, .name = p->evaluated[i].name };
	}
	return k->n ? 0 : not_compared(c);
}

int known_open(struct known **out, const struct run_config *c)
{
	const struct strings *files = &c->data.validation;
	const struct point_set *set;
	struct known *k = *out = mem_calloc(1, sizeof *k);
	k->a = arena_new();
	k->random = c->physics->net.nnoise > 0;
	if (files->n > 1)
		return ERR(E_CONFIG, &files->loc[1], "networks of equations are compared with one record");
	if (physics_has_samples(c->physics))
		return open_samples(k, c);
	TRY(places_of_record(k->a, c->physics, &(struct places_file){ .path = files->v[0],
		.random = k->random, .loc = files->loc[0] }, &set, &k->places));
	return find_fields(k, c, set);
}

void known_free(struct known *k)
{
	if (!k)
		return;
	for (int i = 0; i < k->n; i++)
		ensemble_release(&k->field[i].law);
	arena_free(k->a);
	if (k->last)
		arena_free(k->last);
	mem_free(k);
}

/* --- comparing --- */

/* The metrics of n values, each to *out[m]; returns the mean of the squared differences. */
static double measure_values(const double *v, const double *known, int64_t n,
                             const struct strings *metrics, double *const *out)
{
	double error2 = 0, most = 0, absolute = 0;
	for (int64_t i = 0; i < n; i++) {
		const double e = v[i] - known[i];
		error2 += e * e;
		absolute += fabs(e);
		most = fmax(most, fabs(e));
	}
	const struct { const char *name; double v; } all[] = {
		{ "relative_l2", ensemble_relative_l2(v, known, n) },
		{ "max_error", isnan(error2) ? error2 : most }, { "mae", absolute / (double)n },
		{ "mse", error2 / (double)n }, { "rmse", sqrt(error2 / (double)n) }
	};
	for (int m = 0; m < metrics->n; m++)
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			if (strcmp(metrics->v[m], all[i].name) == 0)
				*out[m] = all[i].v;
	return error2 / (double)n;
}

/* The same of statistics; returns the mean over places of the squared differences of means and
 * deviations. */
static double measure_law(const struct ensemble *e, const struct ensemble *known,
                          const struct strings *metrics, double *const *out)
{
	const double all[LAWS] = { ensemble_relative_l2(e->mean, known->mean, e->places),
		ensemble_relative_l2(e->deviation, known->deviation, e->places),
		ensemble_worst_ks(e, known) };
	double sum = 0;
	for (int m = 0; m < metrics->n; m++)
		for (size_t i = 0; i < LAWS; i++)
			if (strcmp(metrics->v[m], of_laws[i]) == 0)
				*out[m] = all[i];
	for (int64_t i = 0; i < e->places; i++)
		sum += pow(e->mean[i] - known->mean[i], 2) + pow(e->deviation[i] - known->deviation[i], 2);
	return sum / (double)e->places;
}

static double measure_field(const struct known *k, const struct known_field *f,
                            const struct network_values *values, const struct strings *metrics,
                            double *const *out)
{
	const double *v = values->v[f->component];
	struct ensemble e;
	if (!k->random)
		return measure_values(v, f->v, k->places.n, metrics, out);
	ensemble_init(&e, v, values->realizations, k->places.n);
	const double loss = measure_law(&e, &f->law, metrics, out);
	ensemble_release(&e);
	return loss;
}

static double measure_samples(const struct sample_output *o, int64_t rows,
                              const struct strings *metrics, double *const *out)
{
	struct ensemble e, known;
	bool laws = o->of->drawn;
	double loss = 0;
	for (int m = 0; m < metrics->n; m++)
		laws |= is_of_laws(metrics->v[m]);
	if (laws) {
		ensemble_init(&e, o->v, rows, o->of->components);
		ensemble_init(&known, o->known, rows, o->of->components);
		loss = measure_law(&e, &known, metrics, out);
		ensemble_release(&known);
		ensemble_release(&e);
	}
	return o->of->drawn ? loss : measure_values(o->v, o->known, rows * o->of->components, metrics,
	                                            out);
}

/* Of several fields METRIC is the largest, and METRIC.FIELD each one's. value: (metrics,
 * fields). */
static void list_metrics(struct known *k, const struct strings *metrics, const double *value,
                         struct evaluation *out)
{
	const int most = metrics->n * (k->n + 1);
	struct metric_value *result = ARENA_ARRAY(k->last, struct metric_value, most + 1);
	double *number = ARENA_ARRAY(k->last, double, most + 1);
	int n = 0;
	for (int m = 0; m < metrics->n; m++) {
		const double *v = value + m * k->n;
		double largest = 0;
		for (int i = 0; i < k->n; i++)
			largest = v[i] > largest || isnan(v[i]) ? v[i] : largest;
		for (int i = k->n > 1 ? -1 : 0; i < k->n; i++) {
			number[n] = i < 0 ? largest : v[i];
			result[n] = (struct metric_value){ .name = i < 0 || k->n == 1 ? metrics->v[m] :
				arena_printf(k->last, "%s.%s", metrics->v[m], k->field[i].name), .n = 1,
				.v = &number[n] };
			n++;
		}
	}
	out->metric = result;
	out->nmetric = n;
}

/* The metrics of field i, in a table (metrics, fields). */
static double *const *column(const struct known *k, const struct strings *metrics, double *value,
                             int i)
{
	double **to = ARENA_ARRAY(k->last, double *, metrics->n + 1);
	for (int m = 0; m < metrics->n; m++)
		to[m] = &value[m * k->n + i];
	return to;
}

static int compare_fields(struct known *k, const struct session *s, double *value, double *loss)
{
	const struct strings *metrics = &s->config->metrics;
	const struct noise_draw draw = { k->random ? s->config->train.validate.realizations : 1,
		(uint64_t)s->config->run.seed };
	struct network_values values;
	TRY(networks_at(s, k->last, &k->places, draw, &values));
	for (int i = 0; i < k->n; i++)
		*loss += measure_field(k, &k->field[i], &values, metrics, column(k, metrics, value, i));
	return 0;
}

static int compare_samples(struct known *k, const struct session *s, double *value, double *loss)
{
	const struct strings *metrics = &s->config->metrics;
	struct sample_values values;
	TRY(samples_at(s, k->last, 0, (uint64_t)s->config->run.seed, &values));
	for (int i = 0; i < k->n; i++)
		*loss += measure_samples(&values.output[k->field[i].component], values.rows, metrics,
		                         column(k, metrics, value, i));
	return 0;
}

int known_compare(struct known *k, const struct session *s, struct evaluation *out)
{
	const struct strings *metrics = &s->config->metrics;
	const double start = io_seconds();
	double sum = 0;
	if (k->last)
		arena_free(k->last);
	k->last = arena_new();
	double *value = ARENA_ARRAY(k->last, double, k->n * metrics->n + 1);
	TRY((physics_has_samples(s->config->physics) ? compare_samples : compare_fields)(k, s, value,
	                                                                                 &sum));
	out->loss = sum / k->n;
	list_metrics(k, metrics, value, out);
	out->seconds = io_seconds() - start;
	return 0;
}
