/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict/known.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

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

int known_open(struct known **out, const struct run_config *c)
{
	const struct strings *files = &c->data.validation;
	const struct point_set *set;
	struct known *k = *out = mem_calloc(1, sizeof *k);
	k->a = arena_new();
	k->random = c->physics->net.nnoise > 0;
	if (c->physics->coordinates.n == 0)
		return ERR(E_CONFIG, &files->loc[0], "a validation compares networks at coordinates, and "
		           "there are none; a term of weight 0, on a set of other samples, is only "
		           "reported");
	if (files->n > 1)
		return ERR(E_CONFIG, &files->loc[1], "networks of equations are compared with one record");
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

/* The metrics of a field, each to *out[m]; returns the mean over places of its squared
 * differences. */
static double measure_values(const struct known *k, const struct known_field *f,
                             const struct network_values *values, const struct strings *metrics,
                             double *const *out)
{
	const double *v = values->v[f->component], n = (double)k->places.n;
	double error2 = 0, most = 0, absolute = 0;
	for (int64_t i = 0; i < k->places.n; i++) {
		const double e = v[i] - f->v[i];
		error2 += e * e;
		absolute += fabs(e);
		most = fmax(most, fabs(e));
	}
	const struct { const char *name; double v; } all[] = {
		{ "relative_l2", ensemble_relative_l2(v, f->v, k->places.n) },
		{ "max_error", isnan(error2) ? error2 : most }, { "mae", absolute / n },
		{ "mse", error2 / n }, { "rmse", sqrt(error2 / n) }
	};
	for (int m = 0; m < metrics->n; m++)
		for (size_t i = 0; i < sizeof all / sizeof *all; i++)
			if (strcmp(metrics->v[m], all[i].name) == 0)
				*out[m] = all[i].v;
	return error2 / n;
}

static double measure_law(const struct known *k, const struct known_field *f,
                          const struct network_values *values, const struct strings *metrics,
                          double *const *out)
{
	const int64_t n = k->places.n;
	struct ensemble e;
	double sum = 0;
	ensemble_init(&e, values->v[f->component], values->realizations, n);
	for (int m = 0; m < metrics->n; m++)
		*out[m] = strcmp(metrics->v[m], "mean_l2") == 0 ?
		          ensemble_relative_l2(e.mean, f->law.mean, n) :
		          strcmp(metrics->v[m], "std_l2") == 0 ?
		          ensemble_relative_l2(e.deviation, f->law.deviation, n) :
		          ensemble_worst_ks(&e, &f->law);
	for (int64_t i = 0; i < n; i++)
		sum += pow(e.mean[i] - f->law.mean[i], 2) + pow(e.deviation[i] - f->law.deviation[i], 2);
	ensemble_release(&e);
	return sum / (double)n;
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

int known_compare(struct known *k, const struct session *s, struct evaluation *out)
{
	const struct strings *metrics = &s->config->metrics;
	const struct noise_draw draw = { k->random ? s->config->train.validate.realizations : 1,
		(uint64_t)s->config->run.seed };
	const double start = io_seconds();
	struct network_values values;
	double sum = 0;
	if (k->last)
		arena_free(k->last);
	k->last = arena_new();
	TRY(networks_at(s, k->last, &k->places, draw, &values));
	double *value = ARENA_ARRAY(k->last, double, k->n * metrics->n + 1),
	       **to = ARENA_ARRAY(k->last, double *, metrics->n + 1);
	for (int i = 0; i < k->n; i++) {
		for (int m = 0; m < metrics->n; m++)
			to[m] = &value[m * k->n + i];
		sum += (k->random ? measure_law : measure_values)(k, &k->field[i], &values, metrics, to);
	}
	out->loss = sum / k->n;
	list_metrics(k, metrics, value, out);
	out->seconds = io_seconds() - start;
	return 0;
}
