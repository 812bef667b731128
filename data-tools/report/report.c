/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-report: runs side by side, from their folders: rates, speed-ups, time to a target, as a
 * table, as JSON and as a picture. Described in dlx-report(1). */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/shown.h"
#include "config.h"
#include "data-tools/report/report.h"

static const char usage[] = "usage: dlx-report [OPTIONS] RUN...";

#define AT(m) offsetof(struct report, m)
static const struct option_row rows[] = {
	{ "target", 't', OPTION_TEXT, AT(target), "METRIC=VALUE",
	  .doc = "compare the time to this; default: the target of a run's config" },
	{ "window", 'w', OPTION_INT, AT(window), "N", .min = 1, .max = 1000,
	  .doc = "the mean of this many validations must reach it; default 1" },
	{ "base", 'b', OPTION_TEXT, AT(base), "RUN",
	  .doc = "the run that others are compared with; default: the first of fewest ranks" },
	{ "svg", 's', OPTION_TEXT, AT(svg), "FILE", .writes = ".svg",
	  .doc = "draw loss and metric against time and samples" },
	{ "html", 0, OPTION_TEXT, AT(html), "FILE", .writes = ".html .htm",
	  .doc = "write a page with tables and pictures, complete in one file; --svg then draws all "
	  "its pictures" },
	{ "metric", 'm', OPTION_TEXT, AT(metric), "NAME",
	  .doc = "what the table compares, and what is drawn next to the loss; default: what decides" },
	{ "log-y", 'l', OPTION_FLAG, AT(log_y), .doc = "draw with logarithmic vertical axes" },
	{ "no-pool", 'n', OPTION_FLAG, AT(no_pool),
	  .doc = "a row for each run: runs that differ in run.seed alone are not pooled" },
	{ "speed", 'r', OPTION_FLAG, AT(speed),
	  .doc = "the table of rates, which runs on several ranks have anyway" },
	{ "json", 'j', OPTION_FLAG, AT(json), .doc = "one JSON object instead of a table" },
	{ "help", 'h', OPTION_FLAG, AT(help), .doc = "this text" },
	{ "version", 0, OPTION_FLAG, AT(version), .doc = "the version" },
	{ 0 }
};
#undef AT

static int read_options(struct report *o, int *argc, char **argv)
{
	TRY(option_read(rows, o, NULL, argc, argv));
	if (o->help) {
		printf("%s\n\n", usage);
		option_help(stdout, rows);
	}
	if (o->version)
		printf("dlx-report %s\n", PACKAGE_VERSION);
	if (!o->help && !o->version && *argc < 2)
		return ERR(E_USAGE, NULL, "no run given; %s", usage);
	return 0;
}

/* --- the metric of the table, the series of the picture --- */

/* What the run goes on from is better than what its own lines say, or the first of equals. */
static bool begun_better(const struct run *r, const char *series, double best)
{
	if (!r->decides || strcmp(series, r->decides) != 0 || !isfinite(r->begun_best))
		return false;
	return isnan(best) ||
	       (metric_falls(series) ? r->begun_best <= best : r->begun_best >= best);
}

struct report_best report_best(const struct run *r, const char *series)
{
	const struct series *s = run_series(r, series);
	struct report_best out = { NAN, NAN, NAN, NAN };
	int best = s ? series_best(s) : -1;
	if (best >= 0) {
		out.best = s->value[best];
		out.step = s->step[best];
	}
	if (begun_better(r, series, out.best)) {
		out.best = r->begun_best;
		out.step = r->begun_step;
	}
	if (s && s->n) {
		out.last = s->value[s->n - 1];
		out.last_step = s->step[s->n - 1];
	}
	return out;
}

static bool any_run_has(const struct report *o, const char *series)
{
	for (int i = 0; i < o->n; i++)
		if (run_series(&o->run[i], series))
			return true;
	return false;
}

/* "iou[0]" to "iou[18]" are named once. */
static void add_names(struct buf *b, const struct series_list *list)
{
	for (int i = 0; i < list->n; i++) {
		const char *name = list->v[i].name, *index = strchr(name, '[');
		if (!index)
			buf_printf(b, "%s%s", b->len ? ", " : "", shown(name));
		else if (strcmp(index, "[0]") == 0)
			buf_printf(b, "%s%.*s[0...]", b->len ? ", " : "", (int)(index - name), shown(name));
	}
}

/* E_DATA with what there is, in the run that has most. */
static int unknown_metric(const struct report *o, const char *name)
{
	struct buf names = BUF_INIT;
	const struct run *r = &o->run[0];
	for (int i = 1; i < o->n; i++)
		if (o->run[i].validation.n + o->run[i].train.n > r->validation.n + r->train.n)
			r = &o->run[i];
	add_names(&names, &r->validation);
	add_names(&names, &r->train);
	int rc = ERR(E_DATA, NULL, "no run has the metric '%s'; there is: %s", name,
	             names.len ? names.data : "nothing yet");
	buf_release(&names);
	return rc;
}

/* Whether one value of the name is better than another: true of the metrics of validations and of
 * the loss, false of learning_rate and the like. */
static bool has_best(const struct report *o, const char *name)
{
	for (int i = 0; i < o->n; i++)
		for (int k = 0; k < o->run[i].validation.n; k++)
			if (strcmp(o->run[i].validation.v[k].name, name) == 0)
				return true;
	return strcmp(name, "train_loss") == 0;
}

/* By which the first run that says so chooses its best; else the first metric, else a loss. */
static const char *deciding_metric(const struct report *o)
{
	for (int i = 0; i < o->n; i++)
		if (o->run[i].decides && any_run_has(o, o->run[i].decides))
			return o->run[i].decides;
	for (int i = 0; i < o->n; i++)
		for (int k = 0; k < o->run[i].validation.n; k++)
			if (strcmp(o->run[i].validation.v[k].name, "loss") != 0)
				return o->run[i].validation.v[k].name;
	return any_run_has(o, "loss") ? "loss" : "train_loss";
}

static int find_metrics(struct report *o)
{
	o->shown = o->target && o->goal.metric ? o->goal.metric : deciding_metric(o);
	if (o->metric && !any_run_has(o, o->metric))
		return unknown_metric(o, o->metric);
	if (o->metric && has_best(o, o->metric))
		o->shown = o->metric;
	o->drawn = o->metric ? o->metric : o->shown;
	return 0;
}

/* --- rows --- */

/* A table about speed is worth its lines where ranks are compared, or where it was requested. */
static bool speed_wanted(const struct report *o)
{
	bool wanted = o->speed || o->base || o->target;
	for (int i = 0; i < o->n; i++)
		wanted |= o->run[i].ranks > 1;
	return wanted;
}

static void find_rows(struct report *o)
{
	const struct ynode **config = ARENA_ARRAY(o->arena, const struct ynode *, o->n);
	for (int i = 0; i < o->n; i++)
		config[i] = o->run[i].config;
	o->nkey = config_keys(o->arena, config, o->n, &o->key);
	o->nrow = seeds_find(o->arena, o->run, o->n, o->key, o->nkey, !o->no_pool, &o->row);
	o->speed = speed_wanted(o);
}

/* --- what is compared --- */

static int parse_target(struct report *o, const char *text)
{
	const char *is = strchr(text, '=');
	char *end = NULL;
	double v = is ? strtod(is + 1, &end) : NAN;
	if (!is || is == text || end == is + 1 || *end || !isfinite(v))
		return ERR(E_USAGE, NULL, "target '%s': expected METRIC=VALUE, such as mean_iou=0.8", text);
	o->goal.metric = arena_printf(o->arena, "%.*s", (int)(is - text), text);
	o->goal.value = v;
	return 0;
}

static int find_target(struct report *o)
{
	const char *text = o->target;
	for (int i = 0; i < o->n && !text; i++)
		text = o->run[i].target;
	o->goal.window = (int)o->window;
	if (text)
		TRY(parse_target(o, text));
	for (int i = 0; i < o->n && text; i++)
		if (run_series(&o->run[i], o->goal.metric))
			return 0;
	return o->target ? unknown_metric(o, o->goal.metric) : 0;
}

static int find_base(struct report *o)
{
	for (int i = 0; i < o->n; i++) {
		if (o->base && strcmp(o->base, o->run[i].dir) == 0) {
			o->first = i;
			return 0;
		}
		bool begun = o->run[i].step > 0, other = o->run[o->first].step > 0;
		if (begun != other ? begun : o->run[i].ranks < o->run[o->first].ranks)
			o->first = i;
	}
	return o->base ? ERR(E_USAGE, NULL, "--base '%s' is none of the runs given", o->base) : 0;
}

/* The row that has the base run: the others are compared with the mean of its seeds. */
static const struct seeds *base_row(const struct report *o)
{
	for (int i = 0; i < o->nrow; i++)
		for (int k = 0; k < o->row[i].n; k++)
			if (o->row[i].run[k] == o->first)
				return &o->row[i];
	return NULL;
}

static bool has_file(const char *dir, const char *name)
{
	char *path = io_join(dir, name);
	const bool has = io_exists(path);
	mem_free(path);
	return has;
}

static int is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Of a sweep the runs in its folder, in the order of their names. Returns how many there are. */
static int add_runs(struct arena *a, const char *dir, const char **to)
{
	struct dirent **all = NULL;
	if (has_file(dir, "metrics.jsonl") || !has_file(dir, "sweep.jsonl")) {
		if (to)
			to[0] = dir;
		return 1;
	}
	const int count = scandir(dir, &all, is_visible, versionsort);
	int n = 0;
	for (int i = 0; i < count; i++) {
		const char *run = arena_printf(a, "%s/%s", dir, all[i]->d_name);
		if (has_file(run, "metrics.jsonl") && to)
			to[n] = run;
		n += has_file(run, "metrics.jsonl");
		free(all[i]);
	}
	free(all);
	return n;
}

static const char **find_runs(struct report *o, int n, char **given)
{
	int count = 0;
	for (int i = 0; i < n; i++)
		count += add_runs(o->arena, given[i], NULL);
	const char **dirs = ARENA_ARRAY(o->arena, const char *, count + 1);
	for (int i = 0; i < n; i++)
		o->n += add_runs(o->arena, given[i], &dirs[o->n]);
	return dirs;
}

static int read_runs(struct report *o, const char *const *dirs)
{
	int rc = 0;
	o->run = ARENA_ARRAY(o->arena, struct run, o->n);
	o->c = ARENA_ARRAY(o->arena, struct comparison, o->n);
	for (int i = 0; i < o->n; i++) {
		int one = run_read(&o->run[i], o->arena, dirs[i]);
		rc = rc ? rc : one;
	}
	TRY(rc);
	TRY(find_target(o));
	TRY(find_base(o));
	TRY(find_metrics(o));
	find_rows(o);
	o->obstacles = ARENA_ARRAY(o->arena, struct obstacles, o->n);
	for (int i = 0; i < o->n; i++)
		obstacles_find(&o->obstacles[i], o->arena, &o->run[i], &o->run[o->first]);
	const struct seeds *base = base_row(o);
	runs_compare(o->run, o->obstacles, o->n, base->run, base->n, o->goal.metric ? &o->goal : NULL,
	             o->c);
	return 0;
}

static void print_json(const struct report *o)
{
	struct buf b = BUF_INIT;
	report_json(o, &b);
	fputs(b.data, stdout);
	buf_release(&b);
}

static int run(struct report *o, int argc, char **argv)
{
	TRY(debug_read());
	TRY(read_options(o, &argc, argv));
	if (o->help || o->version)
		return 0;
	const char **dirs = find_runs(o, argc - 1, argv + 1);
	if (o->n == 0)
		return ERR(E_NOINPUT, NULL, "the sweep '%s' has no run yet", argv[1]);
	TRY(read_runs(o, dirs));
	if (o->svg)
		TRY(io_check_output(o->svg));
	if (o->html)
		TRY(io_check_output(o->html));
	if (o->json)
		print_json(o);
	else
		report_table(o);
	TRY(o->html ? report_page(o) : 0);
	return o->svg ? report_draw(o) : 0;
}

int main(int argc, char **argv)
{
	struct report o = { .window = 1, .arena = arena_new() };
	log_init("dlx-report", 0, 1);
	int rc = run(&o, argc, argv);
	arena_free(o.arena);
	if (rc == 0 && fflush(stdout) != 0)
		rc = ERR(E_IO, NULL, "cannot write to the standard output: %m");
	if (rc < 0)
		err_print(stderr, "dlx-report");
	return err_exit_status(rc);
}
