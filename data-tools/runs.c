/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading is tolerant of lines it does not know and of an
 * unfinished last one, since a run may be going on. */
#include "runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alike.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "yaml/ytree.h"

bool metric_falls(const char *name)
{
	static const char *const falling[] = { "loss", "train_loss", "mae", "mse", "rmse" };
	for (size_t i = 0; i < sizeof falling / sizeof *falling; i++)
		if (strcmp(name, falling[i]) == 0)
			return true;
	return false;
}

const struct series *run_series(const struct run *r, const char *name)
{
	if (strcmp(name, r->train.name) == 0)
		return &r->train;
	for (int i = 0; i < r->nmetric; i++)
		if (strcmp(r->metric[i].name, name) == 0)
			return &r->metric[i];
	return NULL;
}

/* --- lines --- */

static double number_of(const struct json *line, const char *key)
{
	double v;
	const struct json *j = json_find(line, key);
	return j && json_double(j, &v) ? v : NAN;
}

static int64_t whole_of(const struct json *line, const char *key, int64_t least)
{
	int64_t v;
	const struct json *j = json_find(line, key);
	return j && json_int(j, &v) && v >= least ? v : least;
}

static const char *text_of(struct arena *a, const struct json *line, const char *key)
{
	const struct json *j = json_find(line, key);
	return arena_strdup(a, j && j->kind == JSON_STRING ? j->text : "");
}

static double *grown(struct arena *a, double *v, int n, int cap)
{
	double *out = ARENA_ARRAY(a, double, cap);
	if (n)
		memcpy(out, v, sizeof *v * (size_t)n);
	return out;
}

static void add(struct arena *a, struct series *s, const struct json *line, double value)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->seconds = grown(a, s->seconds, s->n, s->cap);
		s->samples = grown(a, s->samples, s->n, s->cap);
		s->value = grown(a, s->value, s->n, s->cap);
	}
	s->seconds[s->n] = number_of(line, "seconds");
	s->samples[s->n] = number_of(line, "samples");
	s->value[s->n++] = value;
}

static struct series *series_named(struct run *r, struct arena *a, const char *name)
{
	for (int i = 0; i < r->nmetric; i++)
		if (strcmp(r->metric[i].name, name) == 0)
			return &r->metric[i];
	struct series *all = ARENA_ARRAY(a, struct series, r->nmetric + 1);
	if (r->nmetric)
		memcpy(all, r->metric, sizeof *all * (size_t)r->nmetric);
	all[r->nmetric].name = arena_strdup(a, name);
	r->metric = all;
	return &all[r->nmetric++];
}

/* The last start counts: it is what most of the run may have been made with. */
static void read_start(struct run *r, struct arena *a, const struct json *line)
{
	r->starts++;
	r->name = text_of(a, line, "name");
	r->device = text_of(a, line, "device");
	r->precision = text_of(a, line, "precision");
	r->model = text_of(a, line, "model");
	r->input = text_of(a, line, "input");
	r->host = text_of(a, line, "host");
	r->ranks = whole_of(line, "ranks", 1);
	r->hosts = whole_of(line, "hosts", 1);
	r->threads = whole_of(line, "threads", 1);
	r->batch = whole_of(line, "batch", 1);
	r->parameters = whole_of(line, "parameters", 0);
	r->sample_flops = fmax(0, number_of(line, "sample_flops"));
	r->forward_flops = fmax(0, number_of(line, "forward_flops"));
	r->peak_flops = fmax(0, number_of(line, "peak_flops"));
}

static void read_step(struct run *r, struct arena *a, const struct json *line)
{
	int cap = r->train.cap, n = r->train.n;
	add(a, &r->train, line, number_of(line, "loss"));
	if (r->train.cap != cap)
		r->rate = grown(a, r->rate, n, r->train.cap);
	r->rate[n] = number_of(line, "samples_per_second");
}

static void read_validation(struct run *r, struct arena *a, const struct json *line)
{
	const struct json *metrics = json_find(line, "metrics");
	double v;
	add(a, series_named(r, a, "loss"), line, number_of(line, "loss"));
	for (int i = 0; metrics && metrics->kind == JSON_OBJECT && i < metrics->n; i++)
		if (json_double(metrics->item[i], &v))
			add(a, series_named(r, a, metrics->item[i]->key), line, v);
}

static void weigh(double *mean, const struct json *line, const char *key, double share)
{
	*mean += share * (number_of(line, key) - *mean);
}

static void read_rates(struct run *r, struct arena *a, const struct json *line)
{
	const struct json *ranks = json_find(line, "ranks");
	struct rank_times *t = &r->times;
	r->best = fmax(r->best, number_of(line, "best"));
	double steps = ranks ? number_of(ranks, "steps") : 0;
	if (!(steps > 0))
		return;
	t->steps += steps;
	weigh(&t->step, ranks, "step_seconds", steps / t->steps);
	weigh(&t->least, ranks, "work_min", steps / t->steps);
	weigh(&t->median, ranks, "work_median", steps / t->steps);
	weigh(&t->most, ranks, "work_max", steps / t->steps);
	weigh(&t->exposed, ranks, "exposed", steps / t->steps);
	weigh(&t->efficiency, ranks, "efficiency", steps / t->steps);
	t->slowest = whole_of(ranks, "slowest_rank", 0);
	t->host = text_of(a, ranks, "slowest_host");
}

static void read_line(struct run *r, struct arena *a, const struct json *line)
{
	const struct json *type = json_find(line, "type");
	if (!type || type->kind != JSON_STRING)
		return;
	if (strcmp(type->text, "start") == 0)
		read_start(r, a, line);
	else if (strcmp(type->text, "step") == 0)
		read_step(r, a, line);
	else if (strcmp(type->text, "validation") == 0)
		read_validation(r, a, line);
	else if (strcmp(type->text, "rates") == 0)
		read_rates(r, a, line);
}

static int read_lines(struct run *r, struct arena *a, const char *path, const struct buf *text)
{
	const char *p = text->data, *end = p + text->len, *newline;
	for (; (newline = memchr(p, '\n', (size_t)(end - p))) != NULL; p = newline + 1) {
		struct arena *own = arena_new();
		struct json *line;
		int rc = json_parse(&line, own, path, (size_t)(p - text->data), p, (size_t)(newline - p));
		if (rc == 0)
			read_line(r, a, line);
		arena_free(own);
		TRY(rc);
	}
	if (r->starts == 0)
		return ERR(E_DATA, NULL,
		           "'%s' has no line of type 'start'; expected metrics.jsonl of dlx-train", path);
	if (r->train.n == 0)
		return ERR(E_DATA, NULL, "'%s' has no steps yet", path);
	return 0;
}

/* --- the config's target --- */

static const char *scalar(const struct ynode *map, const char *key)
{
	const struct ynode *v = map && map->kind == Y_MAP ? ytree_find(map, key) : NULL;
	return v && v->kind == Y_SCALAR && strcmp(v->text, "null") != 0 ? v->text : NULL;
}

/* A folder without a config that can be read is one without a target. */
static const char *target_of(struct arena *a, const char *dir)
{
	char *path = io_join(dir, "config.yaml");
	struct ynode *root = NULL;
	int mark = err_count(), rc = io_exists(path) ? ytree_load(a, path, &root) : E_NOINPUT;
	mem_free(path);
	err_truncate(mark);
	const struct ynode *train = rc == 0 && root->kind == Y_MAP ? ytree_find(root, "train") : NULL;
	const struct ynode *target = train && train->kind == Y_MAP ? ytree_find(train, "target") : NULL;
	const char *metric = scalar(target, "metric"), *least = scalar(target, "at_least"),
	           *most = scalar(target, "at_most");
	return metric && (least ||
	                  most) ? arena_printf(a, "%s=%s", metric, least ? least : most) : NULL;
}

int run_read(struct run *r, struct arena *a, const char *dir)
{
	struct buf text = BUF_INIT;
	char *path = io_join(dir, "metrics.jsonl");
	*r = (struct run){ .dir = dir, .train.name = "train_loss" };
	int rc = io_read_file(path, &text);
	io_input(path);
	if (rc == 0)
		rc = read_lines(r, a, path, &text);
	if (rc == 0)
		r->target = target_of(a, dir);
	buf_release(&text);
	mem_free(path);
	return rc;
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
	int first = r->train.n > 3 ? 2 : r->train.n - 1, n = 0;
	double *v = mem_alloc(sizeof *v * (size_t)r->train.n), m;
	for (int i = first; i < r->train.n; i++)
		if (isfinite(r->rate[i]))
			v[n++] = r->rate[i];
	qsort(v, (size_t)n, sizeof *v, ascending);
	m = n ? (v[(n - 1) / 2] + v[n / 2]) / 2 : NAN;
	mem_free(v);
	return m;
}

/* Of a run that was killed before it said so, that of its lines, whose rates are smoothed. */
static double largest_rate(const struct run *r)
{
	double most = r->best > 0 ? r->best : NAN;
	if (r->best > 0)
		return most;
	for (int i = 0; i < r->train.n; i++)
		most = fmax(most, r->rate[i]);
	return most;
}

/* The last time and samples anywhere in the run. */
static void last(const struct run *r, double *seconds, double *samples)
{
	*seconds = r->train.seconds[r->train.n - 1];
	*samples = r->train.samples[r->train.n - 1];
	for (int i = 0; i < r->nmetric; i++)
		if (r->metric[i].n)
			*seconds = fmax(*seconds, r->metric[i].seconds[r->metric[i].n - 1]);
}

static void reach(const struct run *r, const struct target *t, struct comparison *c)
{
	const struct series *s = run_series(r, t->metric);
	for (int i = t->window - 1; s && i < s->n && isnan(c->target_seconds); i++) {
		double mean = 0;
		for (int k = 0; k < t->window; k++)
			mean += s->value[i - k] / t->window;
		if (metric_falls(t->metric) ? mean <= t->value : mean >= t->value) {
			c->target_seconds = s->seconds[i];
			c->target_samples = s->samples[i];
		}
	}
}

static void measure(const struct run *r, const struct target *t, struct comparison *c)
{
	double seconds, samples;
	*c = (struct comparison){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	last(r, &seconds, &samples);
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

void runs_compare(const struct run *runs, const struct likeness *alike, int n, int base,
                  const struct target *t, struct comparison *out)
{
	double ranks0 = (double)runs[base].ranks;
	for (int i = 0; i < n; i++)
		measure(&runs[i], t, &out[i]);
	for (int i = 0; i < n; i++) {
		struct comparison *c = &out[i];
		if (alike[i].work)
			continue;
		c->speedup = ranks0 * c->step_rate / out[base].step_rate;
		c->efficiency = alike[i].ranks ? NAN : c->speedup / (double)runs[i].ranks;
		c->learning_speedup = ranks0 * out[base].target_seconds / c->target_seconds;
		c->statistical_efficiency = out[base].target_samples / c->target_samples;
	}
}
