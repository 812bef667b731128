/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-report: runs side by side, from their folders: rates, speed-ups, time to a target, as a
 * table, as JSON and as a picture. Described in dlx-report(1). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alike.h"
#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/option.h"
#include "base/shown.h"
#include "chart.h"
#include "config.h"
#include "runs.h"

static const char usage[] = "usage: dlx-report [OPTIONS] RUN...";

struct report {
	bool json, help, version;
	const char *target, *base, *metric, *svg;
	int64_t window;
	/* The parsed options. */
	struct arena *arena;
	int n, first;                /* first: the run that others are compared with */
	struct run *run;
	struct likeness *alike;
	struct comparison *c;
	struct target goal;          /* metric NULL: none */
};

#define AT(m) offsetof(struct report, m)
static const struct option_row rows[] = {
	{ "target", 't', OPTION_TEXT, AT(target), "METRIC=VALUE",
	  .doc = "compare the time to this; default: the target of a run's config" },
	{ "window", 'w', OPTION_INT, AT(window), "N", .min = 1, .max = 1000,
	  .doc = "the mean of so many validations must reach it; default 1" },
	{ "base", 'b', OPTION_TEXT, AT(base), "RUN",
	  .doc = "the run that others are compared with; default: the first of fewest ranks" },
	{ "svg", 's', OPTION_TEXT, AT(svg), "FILE",
	  .doc = "draw loss and metric against time and samples" },
	{ "metric", 'm', OPTION_TEXT, AT(metric), "NAME",
	  .doc = "what to draw beside the loss; default: that of the target" },
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
	return o->target ? ERR(E_DATA, NULL, "no run has the metric '%s'", o->goal.metric) : 0;
}

static int find_base(struct report *o)
{
	for (int i = 0; i < o->n; i++) {
		if (o->base && strcmp(o->base, o->run[i].dir) == 0) {
			o->first = i;
			return 0;
		}
		if (o->run[i].ranks < o->run[o->first].ranks)
			o->first = i;
	}
	return o->base ? ERR(E_USAGE, NULL, "--base '%s' is none of the runs given", o->base) : 0;
}

static int read_runs(struct report *o, char **dirs)
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
	o->alike = ARENA_ARRAY(o->arena, struct likeness, o->n);
	for (int i = 0; i < o->n; i++)
		alike_find(&o->alike[i], o->arena, &o->run[i], &o->run[o->first]);
	runs_compare(o->run, o->alike, o->n, o->first, o->goal.metric ? &o->goal : NULL, o->c);
	return 0;
}

/* --- the table --- */

struct column {
	const char *title;
	bool of_target, of_ranks, left;
	void (*put)(const struct report *o, int i, struct buf *b);
};

static void put_number(struct buf *b, double v, const char *format)
{
	char text[32];
	if (!isfinite(v)) {
		buf_puts(b, "-");
		return;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof text, format, v);
#pragma GCC diagnostic pop
	buf_puts(b, text);
}

/* "3 (c1) +4 %": by how much it works longer than the median. */
static void put_slowest_rank(const struct rank_times *t, struct buf *b)
{
	if (t->steps > 0)
		buf_printf(b, "%" PRId64 " (%s) +%.0f %%", t->slowest, shown(t->host),
		           t->median > 0 ? 100 * (t->most / t->median - 1) : 0);
	else
		buf_puts(b, "-");
}

#define COLUMN(name, ...)                                                   \
	static void name(const struct report *o, int i, struct buf *b)          \
	{                                                                       \
		const struct run *r = &o->run[i];                                   \
		const struct comparison *c = &o->c[i];                              \
		(void)r;                                                            \
		(void)c;                                                            \
		__VA_ARGS__;                                                        \
	}
COLUMN(put_run, buf_printf(b, "%s%s", shown(r->dir), i == o->first ? " *" : ""))
COLUMN(put_ranks, buf_printf(b, "%" PRId64, r->ranks))
COLUMN(put_threads, buf_printf(b, "%" PRId64, r->threads))
COLUMN(put_batch, buf_printf(b, "%" PRId64, r->batch))
COLUMN(put_rate, put_number(b, c->step_rate, "%.4g"))
COLUMN(put_speedup, put_number(b, c->speedup, "%.3g"))
COLUMN(put_efficiency, put_number(b, 100 * c->efficiency, "%.1f %%"))
COLUMN(put_overall, put_number(b, c->samples_per_second, "%.4g"))
COLUMN(put_sustained, put_number(b, c->sustained_flops / 1e9, "%.4g"))
COLUMN(put_peak, put_number(b, c->peak_flops / 1e9, "%.4g"))
COLUMN(put_exposed, put_number(b, r->times.steps > 0 ? 100 * r->times.exposed : NAN, "%.2g %%"))
COLUMN(put_slowest, put_slowest_rank(&r->times, b))
COLUMN(put_time, put_number(b, c->target_seconds, "%.4g s"))
COLUMN(put_samples, put_number(b, c->target_samples, "%.0f"))
COLUMN(put_learning, put_number(b, c->learning_speedup, "%.3g"))
COLUMN(put_statistical, put_number(b, 100 * c->statistical_efficiency, "%.1f %%"))

static const struct column columns[] = {
	{ "run", false, false, true, put_run },
	{ "ranks", false, false, false, put_ranks },
	{ "threads", false, false, false, put_threads },
	{ "batch", false, false, false, put_batch },
	{ "samples/s", false, false, false, put_rate },
	{ "speed-up", false, false, false, put_speedup },
	{ "efficiency", false, false, false, put_efficiency },
	{ "overall/s", false, false, false, put_overall },
	{ "GFLOP/s", false, false, false, put_sustained },
	{ "peak", false, false, false, put_peak },
	{ "exposed", false, true, false, put_exposed },
	{ "slowest rank", false, true, false, put_slowest },
	{ "to target", true, false, false, put_time },
	{ "samples", true, false, false, put_samples },
	{ "learning", true, false, false, put_learning },
	{ "statistical", true, false, false, put_statistical },
};
#define NCOLUMNS ((int)(sizeof columns / sizeof *columns))

/* Row -1 is the titles. */
static void cell(const struct report *o, int row, int k, struct buf *b)
{
	buf_clear(b);
	if (row < 0)
		buf_puts(b, columns[k].title);
	else
		columns[k].put(o, row, b);
}

static bool any_times(const struct report *o)
{
	for (int i = 0; i < o->n; i++)
		if (o->run[i].times.steps > 0)
			return true;
	return false;
}

static void print_unlike(const struct report *o)
{
	for (int i = 0; i < o->n; i++)
		if (o->alike[i].work)
			printf("%s is not compared: %s\n", o->run[i].dir, o->alike[i].work);
		else if (o->alike[i].ranks)
			printf("%s has no efficiency: %s\n", o->run[i].dir, o->alike[i].ranks);
}

static void print_table(const struct report *o)
{
	struct buf b = BUF_INIT;
	int width[NCOLUMNS] = { 0 };
	for (int row = -1; row < o->n; row++)
		for (int k = 0; k < NCOLUMNS; k++) {
			cell(o, row, k, &b);
			width[k] = (int)b.len > width[k] ? (int)b.len : width[k];
		}
	for (int row = -1; row < o->n; row++) {
		for (int k = 0; k < NCOLUMNS; k++) {
			if ((columns[k].of_target && !o->goal.metric) || (columns[k].of_ranks && !any_times(o)))
				continue;
			cell(o, row, k, &b);
			printf(columns[k].left ? "%s%-*s" : "%s%*s", k ? "  " : "", width[k], b.data);
		}
		printf("\n");
	}
	printf("\n* the run that the others are compared with\n");
	print_unlike(o);
	if (o->goal.metric)
		printf("target: %s %s %g%s\n", shown(o->goal.metric), metric_falls(o->goal.metric) ? "<=" :
		       ">=", o->goal.value, o->goal.window > 1 ? " (mean of several validations)" : "");
	buf_release(&b);
}

/* --- JSON --- */

static void json_times(const struct rank_times *t, struct buf *b)
{
	buf_json_member(b, "step_seconds", t->step);
	buf_json_member(b, "work_min", t->least);
	buf_json_member(b, "work_median", t->median);
	buf_json_member(b, "work_max", t->most);
	buf_json_member(b, "exposed", t->exposed);
	buf_json_member(b, "efficiency_of_ranks", t->efficiency);
	buf_printf(b, ", \"slowest_rank\": %" PRId64 ", \"slowest_host\": ", t->slowest);
	buf_json_string(b, t->host);
}

static void json_run(const struct report *o, int i, struct buf *b)
{
	const struct run *r = &o->run[i];
	const struct comparison *c = &o->c[i];
	buf_puts(b, "{\"run\": ");
	buf_json_string(b, r->dir);
	buf_puts(b, ", \"name\": ");
	buf_json_string(b, r->name);
	buf_puts(b, ", \"device\": ");
	buf_json_string(b, r->device);
	buf_puts(b, ", \"precision\": ");
	buf_json_string(b, r->precision);
	buf_printf(b, ", \"ranks\": %" PRId64 ", \"hosts\": %" PRId64 ", \"threads\": %" PRId64
	           ", \"batch\": %" PRId64 ", \"starts\": %" PRId64, r->ranks, r->hosts, r->threads,
	           r->batch, r->starts);
	buf_json_member(b, "samples_per_second", c->step_rate);
	buf_json_member(b, "overall_samples_per_second", c->samples_per_second);
	buf_json_member(b, "speed_up", c->speedup);
	buf_json_member(b, "efficiency", c->efficiency);
	buf_json_member(b, "sustained_flops", c->sustained_flops);
	buf_json_member(b, "peak_flops", c->peak_flops);
	buf_json_member(b, "sustained_share_of_device", c->peak_share);
	if (o->alike[i].ranks) {
		buf_puts(b, o->alike[i].work ? ", \"not_compared\": " : ", \"no_efficiency\": ");
		buf_json_string(b, o->alike[i].ranks);
	}
	if (r->times.steps > 0)
		json_times(&r->times, b);
	if (o->goal.metric) {
		buf_json_member(b, "target_seconds", c->target_seconds);
		buf_json_member(b, "target_samples", c->target_samples);
		buf_json_member(b, "learning_speed_up", c->learning_speedup);
		buf_json_member(b, "statistical_efficiency", c->statistical_efficiency);
	}
	buf_puts(b, "}");
}

static void print_json(const struct report *o)
{
	struct buf b = BUF_INIT;
	buf_puts(&b, "{\"base\": ");
	buf_json_string(&b, o->run[o->first].dir);
	if (o->goal.metric) {
		buf_puts(&b, ", \"target\": {\"metric\": ");
		buf_json_string(&b, o->goal.metric);
		buf_json_member(&b, "value", o->goal.value);
		buf_printf(&b, ", \"window\": %d}", o->goal.window);
	}
	buf_puts(&b, ", \"runs\": [");
	for (int i = 0; i < o->n; i++) {
		buf_puts(&b, i ? ", " : "");
		json_run(o, i, &b);
	}
	buf_puts(&b, "]}\n");
	fputs(b.data, stdout);
	buf_release(&b);
}

/* --- the picture --- */

/* The first that all runs have, but for the loss. */
static const char *default_metric(const struct report *o)
{
	if (o->metric)
		return o->metric;
	if (o->goal.metric && strcmp(o->goal.metric, "train_loss") != 0)
		return o->goal.metric;
	for (int k = 0; k < o->run[0].nmetric; k++)
		if (strcmp(o->run[0].metric[k].name, "loss") != 0)
			return o->run[0].metric[k].name;
	return "loss";
}

static struct panel panel(const struct report *o, const char *metric, bool time)
{
	struct curve *curve = ARENA_ARRAY(o->arena, struct curve, o->n);
	int n = 0;
	for (int i = 0; i < o->n; i++) {
		const struct series *s = run_series(&o->run[i], metric);
		if (s)
			curve[n++] = (struct curve){ i, s->n, time ? s->seconds : s->samples, s->value };
	}
	bool target = o->goal.metric && strcmp(o->goal.metric, metric) == 0;
	return (struct panel){ time ? "seconds" : "samples", metric, target ? o->goal.value : NAN, n,
		curve };
}

static int draw(const struct report *o)
{
	const char *metric = default_metric(o), **names = ARENA_ARRAY(o->arena, const char *, o->n);
	struct buf out = BUF_INIT;
	bool any = false;
	for (int i = 0; i < o->n; i++) {
		names[i] = o->run[i].dir;
		any |= run_series(&o->run[i], metric) != NULL;
	}
	if (o->metric && !any)
		return ERR(E_DATA, NULL, "no run has the metric '%s'", metric);
	struct panel p[] = { panel(o, "train_loss", true), panel(o, "train_loss", false),
		panel(o, metric, true), panel(o, metric, false) };
	chart_svg(&out, p, any ? 4 : 2, 2, names, o->n);
	int rc = io_write_file(o->svg, out.data, out.len);
	buf_release(&out);
	return rc;
}

static int run(struct report *o, int argc, char **argv)
{
	TRY(debug_read());
	TRY(read_options(o, &argc, argv));
	if (o->help || o->version)
		return 0;
	o->n = argc - 1;
	TRY(read_runs(o, argv + 1));
	if (o->svg)
		TRY(io_check_output(o->svg));
	if (o->json)
		print_json(o);
	else
		print_table(o);
	return o->svg ? draw(o) : 0;
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
