/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/known.h"

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
			if (strcmp(s->values[j].name, all.name[i]) == 0)
				k->field[k->n++] = (struct known_field){ i, all.name[i], s->values[j].v };
	return k->n ? 0 : ERR(E_DATA, &c->data.validation.loc[0], "'%s' has no array of the name of a "
	                      "network to compare with", c->data.validation.v[0]);
}

int known_open(struct known **out, const struct run_config *c)
{
	const struct strings *files = &c->data.validation;
	const struct point_set *set;
	struct known *k = *out = mem_calloc(1, sizeof *k);
	k->a = arena_new();
	if (c->physics->net.nnoise)
		return ERR(E_UNSUPPORTED, &files->loc[0], "networks of noise cannot be validated yet");
	if (files->n > 1)
		return ERR(E_CONFIG, &files->loc[1], "networks of equations are compared with one record");
	TRY(places_of_record(k->a, c->physics, files->v[0], &files->loc[0], &set, &k->places));
	return find_fields(k, c, set);
}

void known_free(struct known *k)
{
	if (!k)
		return;
	arena_free(k->a);
	if (k->last)
		arena_free(k->last);
	mem_free(k);
}

/* --- comparing --- */

/* Sums over places. */
struct difference {
	double error2, value2, most, absolute;
};

static struct difference difference(const double *v, const double *known, int64_t n)
{
	struct difference d = { 0 };
	for (int64_t i = 0; i < n; i++) {
		const double e = v[i] - known[i];
		d.error2 += e * e;
		d.value2 += known[i] * known[i];
		d.absolute += fabs(e);
		d.most = isnan(e) ? e : fmax(d.most, fabs(e));
	}
	return d;
}

static double value_of(const struct difference *d, const char *metric, int64_t n)
{
	if (strcmp(metric, "relative_l2") == 0)
		return sqrt(d->error2 / d->value2);
	if (strcmp(metric, "max_error") == 0)
		return isnan(d->error2) ? d->error2 : d->most;
	if (strcmp(metric, "mae") == 0)
		return d->absolute / (double)n;
	return strcmp(metric, "mse") == 0 ? d->error2 / (double)n : sqrt(d->error2 / (double)n);
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
	const double start = io_seconds();
	struct network_values values;
	double sum = 0;
	if (k->last)
		arena_free(k->last);
	k->last = arena_new();
	TRY(networks_at(s, k->last, &k->places, &values));
	double *value = ARENA_ARRAY(k->last, double, k->n * metrics->n + 1);
	for (int i = 0; i < k->n; i++) {
		const struct difference d = difference(values.v[k->field[i].component], k->field[i].v,
		                                       k->places.n);
		sum += d.error2;
		for (int m = 0; m < metrics->n; m++)
			value[m * k->n + i] = value_of(&d, metrics->v[m], k->places.n);
	}
	out->loss = sum / (double)(k->places.n * k->n);
	list_metrics(k, metrics, value, out);
	out->seconds = io_seconds() - start;
	return 0;
}
