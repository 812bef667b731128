/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two runs with the same seed are not independent samples, so they are not pooled. Runs with an
 * unknown config are not pooled either, nor runs with other ranks, threads or devices, since their
 * rates differ. */
#include "data-tools/report/seeds.h"

#include <math.h>
#include <string.h>

static const char *seed_of(const struct run *r)
{
	return config_text(r->config, "run", "seed");
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_but_seed(const struct run *runs, int i, int j, const struct config_key *key,
                           int nkey)
{
	const struct run *x = &runs[i], *y = &runs[j];
	if (!x->config || !y->config || !seed_of(x) || !seed_of(y))
		return false;
	if (x->ranks != y->ranks || x->threads != y->threads || x->batch != y->batch ||
	    strcmp(x->device, y->device) != 0 || strcmp(x->precision, y->precision) != 0)
		return false;
	for (int k = 0; k < nkey; k++)
		if (strcmp(key[k].path, "run.seed") != 0 && !config_key_same(&key[k], i, j))
			return false;
	return true;
}

static bool belongs(const struct seeds *g, const struct run *runs, int run,
                    const struct config_key *key, int nkey)
{
	for (int i = 0; i < g->n; i++)
		if (same_text(seed_of(&runs[g->run[i]]), seed_of(&runs[run])))
			return false;
	return same_but_seed(runs, g->run[0], run, key, nkey);
}

int seeds_find(struct arena *a, const struct run *runs, int n, const struct config_key *key,
               int nkey, bool pool, struct seeds **out)
{
	struct seeds *g = ARENA_ARRAY(a, struct seeds, n);
	int count = 0;
	for (int i = 0; i < n; i++) {
		int at = 0;
		while (at < count && !(pool && belongs(&g[at], runs, i, key, nkey)))
			at++;
		if (at == count)
			g[count++].run = ARENA_ARRAY(a, int, n);
		g[at].run[g[at].n++] = i;
	}
	*out = g;
	return count;
}

struct seeds_mean seeds_mean(const double *v, int n)
{
	struct seeds_mean m = { 0, NAN, NAN };
	double sum = 0, squares = 0;
	for (int i = 0; i < n; i++)
		if (isfinite(v[i])) {
			sum += v[i];
			m.n++;
		}
	if (m.n == 0)
		return m;
	m.mean = sum / m.n;
	for (int i = 0; i < n; i++)
		if (isfinite(v[i]))
			squares += (v[i] - m.mean) * (v[i] - m.mean);
	m.deviation = m.n > 1 ? sqrt(squares / (m.n - 1)) : 0;
	return m;
}

/* --- curves --- */

/* Moves *at to the point of this step, in a series whose steps ascend; whether there is one. */
static bool point_of(const struct series *s, double step, int *at)
{
	while (*at < s->n && s->step[*at] < step)
		(*at)++;
	return *at < s->n && s->step[*at] == step;
}

static void add_point(struct seeds_curve *c, const struct series *const *s, const int *at,
                      double *values)
{
	int k = c->n++;
	for (int i = 0; i < c->runs; i++) {
		values[i] = s[i]->value[at[i]];
		c->seconds[k] += s[i]->seconds[at[i]] / c->runs;
		c->samples[k] += s[i]->samples[at[i]] / c->runs;
	}
	struct seeds_mean m = seeds_mean(values, c->runs);
	c->step[k] = s[0]->step[at[0]];
	c->value[k] = m.n == c->runs ? m.mean : NAN;
	if (c->low) {
		c->low[k] = c->value[k] - m.deviation;
		c->high[k] = c->value[k] + m.deviation;
	}
}

static void make_room(struct seeds_curve *c, struct arena *a, int n)
{
	double **member[] = { &c->step, &c->seconds, &c->samples, &c->value, &c->low, &c->high };
	for (int i = 0; i < (c->runs > 1 ? 6 : 4); i++)
		*member[i] = ARENA_ARRAY(a, double, n);
}

void seeds_curve(struct seeds_curve *out, struct arena *a, const struct run *runs,
                 const struct seeds *g, const char *series)
{
	const struct series **s = ARENA_ARRAY(a, const struct series *, g->n);
	int *at = ARENA_ARRAY(a, int, g->n);
	double *values = ARENA_ARRAY(a, double, g->n);
	*out = (struct seeds_curve){ 0 };
	for (int i = 0; i < g->n; i++) {
		s[out->runs] = run_series(&runs[g->run[i]], series);
		out->runs += s[out->runs] && s[out->runs]->n;
	}
	if (out->runs == 0)
		return;
	make_room(out, a, s[0]->n);
	for (at[0] = 0; at[0] < s[0]->n; at[0]++) {
		bool all = true;
		for (int i = 1; i < out->runs; i++)
			all &= point_of(s[i], s[0]->step[at[0]], &at[i]);
		if (all)
			add_point(out, s, at, values);
	}
}
