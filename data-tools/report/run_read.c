/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading is tolerant of lines it does not know and of an
 * unfinished last one, since a run may be going on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "data-tools/report/runs.h"
#include "yaml/ytree.h"

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

static struct series *series_named(struct series_list *list, struct arena *a, const char *name)
{
	for (int i = 0; i < list->n; i++) {
		list->last = (list->last + 1) % list->n;
		if (strcmp(list->v[list->last].name, name) == 0)
			return &list->v[list->last];
	}
	struct series *all = ARENA_ARRAY(a, struct series, list->n + 1);
	if (list->n)
		memcpy(all, list->v, sizeof *all * (size_t)list->n);
	all[list->n].name = arena_strdup(a, name);
	list->v = all;
	list->last = list->n;
	return &all[list->n++];
}

static void add(struct series_list *list, struct arena *a, const char *name,
                const struct json *line, double value)
{
	struct series *s = series_named(list, a, name);
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->step = grown(a, s->step, s->n, s->cap);
		s->seconds = grown(a, s->seconds, s->n, s->cap);
		s->samples = grown(a, s->samples, s->n, s->cap);
		s->value = grown(a, s->value, s->n, s->cap);
	}
	s->step[s->n] = number_of(line, "step");
	s->seconds[s->n] = number_of(line, "seconds");
	s->samples[s->n] = number_of(line, "samples");
	s->value[s->n++] = value;
}

/* A number, one that was not finite, or the numbers of a list or of an object as "name[0]" and
 * "name.key"; a table is no series. */
static void add_value(struct series_list *list, struct arena *a, const char *name,
                      const struct json *line, const struct json *value)
{
	double v = NAN;
	if (value->kind == JSON_NULL || json_double(value, &v))
		add(list, a, name, line, v);
	for (int i = 0; value->kind == JSON_ARRAY && i < value->n; i++)
		if (value->item[i]->kind != JSON_ARRAY)
			add_value(list, a, arena_printf(a, "%s[%d]", name, i), line, value->item[i]);
	for (int i = 0; value->kind == JSON_OBJECT && i < value->n; i++)
		add_value(list, a, arena_printf(a, "%s.%s", name, value->item[i]->key), line,
		          value->item[i]);
}

/* Cuts off what the run does again from this step on, if it was not cut in the file. */
static void cut_after(struct series_list *list, double step)
{
	for (int i = 0; i < list->n; i++)
		while (list->v[i].n && list->v[i].step[list->v[i].n - 1] > step)
			list->v[i].n--;
}

/* The last start counts: it is what most of the run may have been made with. */
static void take_memory(struct run_memory *m, const struct json *parts)
{
	*m = (struct run_memory){ NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	if (!parts)
		return;
	*m = (struct run_memory){ number_of(parts, "allocated"), number_of(parts, "planned"),
		number_of(parts, "values"), number_of(parts, "inputs"), number_of(parts, "arena"),
		number_of(parts, "sums"), number_of(parts, "tables") };
}

static void read_start(struct run *r, struct arena *a, const struct json *line)
{
	const double step = number_of(line, "step");
	cut_after(&r->train, step);
	cut_after(&r->validation, step);
	if (isfinite(step))
		r->step = step;
	r->starts++;
	const struct run_data *d = &r->data;
	memcpy(r->data.before, (double[]){ d->read, d->sent, d->decoded }, sizeof r->data.before);
	r->name = text_of(a, line, "name");
	r->device = text_of(a, line, "device");
	r->precision = text_of(a, line, "precision");
	r->model = text_of(a, line, "model");
	r->input = text_of(a, line, "input");
	r->host = text_of(a, line, "host");
	r->decides = text_of(a, line, "metric");
	r->begun_best = number_of(line, "best");
	r->begun_step = number_of(line, "best_step");
	r->epoch_samples = whole_of(line, "samples", 0);
	r->ranks = whole_of(line, "ranks", 1);
	r->hosts = whole_of(line, "hosts", 1);
	r->threads = whole_of(line, "threads", 1);
	r->batch = whole_of(line, "batch", 1);
	r->plan = text_of(a, line, "plan");
	r->version = text_of(a, line, "version");
	take_memory(&r->memory, json_find(line, "memory"));
	r->parameters = whole_of(line, "parameters", 0);
	r->sample_flops = fmax(0, number_of(line, "sample_flops"));
	r->forward_flops = fmax(0, number_of(line, "forward_flops"));
	r->peak_flops = fmax(0, number_of(line, "peak_flops"));
}

static bool is_place(const char *key)
{
	static const char *const places[] = { "type", "step", "epoch", "seconds", "samples" };
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (strcmp(key, places[i]) == 0)
			return true;
	return false;
}

static void read_step(struct run *r, struct arena *a, const struct json *line)
{
	const struct json *loss = json_find(line, "loss");
	double v = NAN;
	r->step = fmax(r->step, number_of(line, "step"));
	if (loss)
		json_double(loss, &v);
	add(&r->train, a, "train_loss", line, v);
	for (int i = 0; i < line->n; i++)
		if (line->item[i] != loss && !is_place(line->item[i]->key))
			add_value(&r->train, a, line->item[i]->key, line, line->item[i]);
}

static void read_validation(struct run *r, struct arena *a, const struct json *line)
{
	const struct json *metrics = json_find(line, "metrics"), *loss = json_find(line, "loss");
	r->step = fmax(r->step, number_of(line, "step"));
	if (loss)
		add_value(&r->validation, a, "loss", line, loss);
	for (int i = 0; metrics && metrics->kind == JSON_OBJECT && i < metrics->n; i++)
		add_value(&r->validation, a, metrics->item[i]->key, line, metrics->item[i]);
}

static void weigh(double *mean, const struct json *line, const char *key, double share)
{
	*mean += share * (number_of(line, key) - *mean);
}

static void read_data(struct run_data *d, const struct json *line)
{
	d->known = true;
	d->read = d->before[0] + fmax(0, number_of(line, "read"));
	d->sent = d->before[1] + fmax(0, number_of(line, "sent"));
	d->decoded = d->before[2] + fmax(0, number_of(line, "decoded"));
	d->waited = number_of(line, "waited");
}

static void read_rates(struct run *r, struct arena *a, const struct json *line)
{
	const struct json *ranks = json_find(line, "ranks"), *data = json_find(line, "data");
	struct rank_times *t = &r->times;
	if (data && data->kind == JSON_OBJECT)
		read_data(&r->data, data);
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

/* A run that is being started has a config, and an empty file yet. */
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
	if (r->starts == 0 && (text->len || !r->config))
		return ERR(E_DATA, NULL,
		           "'%s' has no line of type 'start'; expected metrics.jsonl of dlx-train", path);
	return 0;
}

/* --- the config --- */

static const struct ynode *section(const struct ynode *map, const char *key)
{
	const struct ynode *v = map && map->kind == Y_MAP ? ytree_find(map, key) : NULL;
	return v && v->kind == Y_MAP ? v : NULL;
}

static const char *scalar(const struct ynode *map, const char *key)
{
	const struct ynode *v = map ? ytree_find(map, key) : NULL;
	return v && v->kind == Y_SCALAR && !y_is_null(v) ? v->text : NULL;
}

/* A folder without a config that can be read is one of which less is known. */
static const struct ynode *config_of(struct arena *a, const char *dir)
{
	char *path = io_join(dir, "config.yaml");
	struct ynode *root = NULL;
	int mark = err_count(), rc = io_exists(path) ? ytree_load(a, path, &root) : E_NOINPUT;
	mem_free(path);
	err_truncate(mark);
	return rc == 0 && root->kind == Y_MAP ? root : NULL;
}

static const char *target_of(const struct run *r, struct arena *a)
{
	const struct ynode *target = section(section(r->config, "train"), "target");
	const char *metric = scalar(target, "metric"), *least = scalar(target, "at_least"),
	           *most = scalar(target, "at_most");
	return metric && (least ||
	                  most) ? arena_printf(a, "%s=%s", metric, least ? least : most) : NULL;
}

/* Steps that the config requests: 0 if it does not say. */
static double steps_of(const struct run *r)
{
	const struct ynode *train = section(r->config, "train");
	const char *steps = scalar(train, "steps"), *epochs = scalar(train, "epochs");
	double n = steps ? strtod(steps, NULL) : INFINITY, each = ceil((double)r->epoch_samples /
	                                                               (double)r->batch);
	if (epochs && each > 0)
		n = fmin(n, strtod(epochs, NULL) * each);
	return isfinite(n) ? n : 0;
}

/* What a run of an older dlx does not say, its config may. */
static const char *decides_of(const struct run *r)
{
	const char *metric = scalar(section(r->config, "checkpoint"), "metric");
	if (r->decides && *r->decides)
		return r->decides;
	return metric ? metric : scalar(section(section(r->config, "train"), "target"), "metric");
}

/* path: of its metrics.jsonl. */
static int check_folder(const char *dir, const char *path)
{
	if (io_is_regular(dir))
		return ERR(E_NOINPUT, NULL, "'%s' is a file; expected the folder of a run", dir);
	if (io_is_folder(dir) && !io_exists(path))
		return ERR(E_NOINPUT, NULL,
		           "'%s' is not the folder of a run that has begun: there is no '%s'", dir, path);
	return 0;
}

int run_read(struct run *r, struct arena *a, const char *dir)
{
	struct buf text = BUF_INIT;
	char *path = io_join(dir, "metrics.jsonl");
	*r = (struct run){ .dir = dir, .name = "", .device = "", .precision = "", .host = "",
		.model = "", .input = "", .begun_best = NAN, .begun_step = NAN,
		.ranks = 1, .hosts = 1, .threads = 1, .batch = 1 };
	int rc = check_folder(dir, path);
	if (rc == 0)
		rc = io_read_file(path, &text);
	io_input(path);
	r->config = config_of(a, dir);
	if (rc == 0)
		rc = read_lines(r, a, path, &text);
	if (rc == 0) {
		r->target = target_of(r, a);
		r->steps = steps_of(r);
		r->decides = decides_of(r);
	}
	buf_release(&text);
	mem_free(path);
	return rc;
}
