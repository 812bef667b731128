/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two tables, each narrow enough for a terminal: what was learned with which keys of the config,
 * and how fast. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/shown.h"
#include "data-tools/report/report.h"
#include "data-tools/report/text_table.h"

#define WIDTH 100                /* columns, as far as the choice of keys goes */
#define LONGEST_VALUE 24

/* --- columns --- */

enum of_what { OF_ALL, OF_RANKS, OF_DATA, OF_TARGET };

struct column {
	const char *title;
	enum of_what of;
	double (*number)(const struct report *o, int run);   /* NULL: put */
	const char *format;
	void (*put)(const struct report *o, const struct seeds *row, struct buf *b);
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

/* The mean of the group's runs. */
static struct seeds_mean mean_of(const struct report *o, const struct seeds *row,
                                 double (*number)(const struct report *, int))
{
	double *v = ARENA_ARRAY(o->arena, double, row->n);
	for (int i = 0; i < row->n; i++)
		v[i] = number(o, row->run[i]);
	return seeds_mean(v, row->n);
}

/* Where some of the runs have no value: of how many the mean is. */
static void put_count(struct buf *b, const struct seeds_mean *m, const struct seeds *row)
{
	if (m->n > 0 && m->n < row->n)
		buf_printf(b, " (%d)", m->n);
}

/* "0.702 +/- 0.013", to two digits of the deviation. */
static void put_pooled(const struct report *o, const struct seeds *row, struct buf *b,
                       double (*number)(const struct report *, int))
{
	struct seeds_mean m = mean_of(o, row, number);
	int digits = m.deviation > 0 ? 1 - (int)floor(log10(m.deviation)) : 0;
	if (m.n > 1 && digits > 0 && digits < 10)
		buf_printf(b, "%.*f +/- %.*f", digits, m.mean, digits, m.deviation);
	else
		put_number(b, m.mean, "%.4g");
	if (m.n > 1 && !(digits > 0 && digits < 10))
		put_number(b, m.deviation, " +/- %.2g");
	put_count(b, &m, row);
}

static bool has_base(const struct report *o, const struct seeds *row)
{
	for (int i = 0; i < row->n; i++)
		if (row->run[i] == o->first)
			return true;
	return false;
}

static void put_run(const struct report *o, const struct seeds *row, struct buf *b)
{
	buf_shown(b, o->run[row->run[0]].dir);
	if (row->n > 1)
		buf_printf(b, " (%d seeds)", row->n);
	if (o->speed && has_base(o, row))
		buf_puts(b, " *");
}

#define NUMBER(name, value)                                 \
	static double name(const struct report *o, int i)       \
	{                                                       \
		const struct run *r = &o->run[i];                   \
		const struct comparison *c = &o->c[i];              \
		(void)r;                                            \
		(void)c;                                            \
		return value;                                       \
	}
NUMBER(best, report_best(r, o->shown).best)
NUMBER(best_step, report_best(r, o->shown).step)
NUMBER(last, report_best(r, o->shown).last)
NUMBER(ranks, (double)r->ranks)
NUMBER(threads, (double)r->threads)
NUMBER(batch, (double)r->batch)
NUMBER(rate, c->step_rate)
NUMBER(speedup, c->speedup)
NUMBER(efficiency, 100 * c->efficiency)
NUMBER(overall, c->samples_per_second)
NUMBER(sustained, c->sustained_flops / 1e9)
NUMBER(peak, c->peak_flops / 1e9)
NUMBER(exposed, r->times.steps > 0 ? 100 * r->times.exposed : NAN)
NUMBER(read_bytes, r->data.known ? r->data.read / 1e9 : NAN)
NUMBER(waited, r->data.known ? 100 * r->data.waited : NAN)
NUMBER(target_time, c->target_seconds)
NUMBER(target_samples, c->target_samples)
NUMBER(learning, c->learning_speedup)
NUMBER(statistical, 100 * c->statistical_efficiency)

/* "3 (c1) +4 %": by how much it works longer than the median. */
static void put_slowest(const struct report *o, const struct seeds *row, struct buf *b)
{
	const struct rank_times *t = &o->run[row->run[0]].times;
	if (t->steps > 0)
		buf_printf(b, "%" PRId64 " (%s) +%.0f %%", t->slowest, shown(t->host),
		           t->median > 0 ? 100 * (t->most / t->median - 1) : 0);
	else
		buf_puts(b, "-");
}

static void put_best(const struct report *o, const struct seeds *row, struct buf *b)
{
	put_pooled(o, row, b, best);
}

/* A value that was not finite is shown: the run has diverged, or its metric is undefined. */
static void put_last(const struct report *o, const struct seeds *row, struct buf *b)
{
	const struct series *s = run_series(&o->run[row->run[0]], o->shown);
	if (row->n == 1 && s && s->n && !isfinite(s->value[s->n - 1]))
		buf_puts(b, "nan");
	else
		put_pooled(o, row, b, last);
}

/* "400/1000": of those that the config requests, where there are less; of a group the least. */
static void put_steps(const struct report *o, const struct seeds *row, struct buf *b)
{
	const struct run *r = &o->run[row->run[0]];
	for (int i = 1; i < row->n; i++)
		if (o->run[row->run[i]].step < r->step)
			r = &o->run[row->run[i]];
	buf_printf(b, "%.0f", r->step);
	if (r->step < r->steps)
		buf_printf(b, "/%.0f", r->steps);
}

static void put_wall_time(const struct report *o, const struct seeds *row, struct buf *b)
{
	double *v = ARENA_ARRAY(o->arena, double, row->n);
	for (int i = 0; i < row->n; i++)
		v[i] = run_seconds(&o->run[row->run[i]]);
	put_number(b, seeds_mean(v, row->n).mean, "%.4g s");
}

static const struct column speed_columns[] = {
	{ "run", .put = put_run },
	{ "ranks", .number = ranks, .format = "%.0f" },
	{ "threads", .number = threads, .format = "%.0f" },
	{ "batch", .number = batch, .format = "%.0f" },
	{ "samples/s", .number = rate, .format = "%.4g" },
	{ "speed-up", .number = speedup, .format = "%.3g" },
	{ "efficiency", .number = efficiency, .format = "%.1f %%" },
	{ "overall/s", .number = overall, .format = "%.4g" },
	{ "GFLOP/s", .number = sustained, .format = "%.4g" },
	{ "peak", .number = peak, .format = "%.4g" },
	{ "exposed", OF_RANKS, exposed, "%.2g %%", NULL },
	{ "slowest rank", OF_RANKS, NULL, NULL, put_slowest },
	{ "GB read", OF_DATA, read_bytes, "%.3g", NULL },
	{ "waited", OF_DATA, waited, "%.2g %%", NULL },
	{ "to target", OF_TARGET, target_time, "%.4g s", NULL },
	{ "samples", OF_TARGET, target_samples, "%.0f", NULL },
	{ "learning", OF_TARGET, learning, "%.3g", NULL },
	{ "statistical", OF_TARGET, statistical, "%.1f %%", NULL },
};
static const struct column learning_columns[] = {
	{ "run", .put = put_run },
	{ "best", .put = put_best },
	{ "at step", .number = best_step, .format = "%.0f" },
	{ "last", .put = put_last },
	{ "steps", .put = put_steps },
};
static const struct column rate_columns[] = {
	{ "samples/s", .number = rate, .format = "%.4g" },
	{ "time", .put = put_wall_time },
};
#define COUNT(list) ((int)(sizeof list / sizeof *list))

static void put_mean(const struct report *o, const struct seeds *row, struct buf *b,
                     const struct column *c)
{
	struct seeds_mean m = mean_of(o, row, c->number);
	put_number(b, m.mean, c->format);
	put_count(b, &m, row);
}

static void put_column(const struct report *o, struct text_table *t, int at,
                       const struct column *c)
{
	struct buf b = BUF_INIT;
	buf_puts(&b, c->title);
	if (c->put == put_best)
		buf_printf(&b, " %s", shown(o->shown));
	text_table_put(t, 0, at, &b);
	t->left[at] = c->put == put_run;
	for (int i = 0; i < o->nrow; i++) {
		if (c->put)
			c->put(o, &o->row[i], &b);
		else
			put_mean(o, &o->row[i], &b, c);
		text_table_put(t, i + 1, at, &b);
	}
	buf_release(&b);
}

/* --- the config's keys --- */

/* Cut in the middle of nothing: the end of a long value is left out. */
static void put_value(struct buf *b, const char *text)
{
	struct buf all = BUF_INIT;
	int n = 0;
	buf_shown(&all, text ? text : "-");
	for (const char *p = all.data; *p; p++) {
		n += ((unsigned char)*p & 0xc0) != 0x80;
		if (n > LONGEST_VALUE - 3 && text_width(all.data) > LONGEST_VALUE) {
			buf_puts(b, "...");
			break;
		}
		buf_putc(b, *p);
	}
	buf_release(&all);
}

/* Keys that differ within a row: the seeds that are pooled. */
static bool is_pooled(const struct report *o, const struct config_key *k)
{
	if (strcmp(k->path, "run.seed") != 0)
		return false;
	for (int i = 0; i < o->nrow; i++)
		if (o->row[i].n > 1)
			return true;
	return false;
}

static void put_key(const struct report *o, struct text_table *t, int at,
                    const struct config_key *k)
{
	struct buf b = BUF_INIT;
	buf_shown(&b, k->name);
	text_table_put(t, 0, at, &b);
	for (int i = 0; i < o->nrow; i++) {
		int run = o->row[i].run[0];
		put_value(&b, o->run[run].config ? k->value[run] : "?");
		text_table_put(t, i + 1, at, &b);
	}
	buf_release(&b);
}

static int width_to(const struct text_table *t, int columns)
{
	int width = 0;
	for (int k = 0; k < columns; k++)
		width += t->width[k] + (k ? 2 : 0);
	return width;
}

/* Names as far as a line has room for them. */
static void print_others(const struct report *o, const bool *in_table)
{
	int others = 0, width = 0, listed = 0;
	for (int i = 0; i < o->nkey; i++)
		others += !in_table[i] && !is_pooled(o, &o->key[i]);
	if (others == 0)
		return;
	width = printf("%d more %s", others, others == 1 ? "key differs:" : "keys differ:");
	for (int i = 0; i < o->nkey; i++) {
		const char *name = shown(o->key[i].name);
		if (in_table[i] || is_pooled(o, &o->key[i]))
			continue;
		if (width + text_width(name) + 6 > WIDTH && listed > 0) {
			printf(", ...");
			break;
		}
		width += printf("%s %s", listed++ ? "," : "", name);
	}
	printf("%s\n", listed < others ? " (--json has all)" : "");
}

/* The columns of keys, as many as there is room for and at least two. */
static int put_keys(const struct report *o, struct text_table *t, int at, int reserved,
                    bool *in_table)
{
	int from = at;
	for (int i = 0; i < o->nkey; i++) {
		if (is_pooled(o, &o->key[i]))
			continue;
		t->width[at] = 0;
		put_key(o, t, at, &o->key[i]);
		if (at - from >= 2 && width_to(t, at + 1) + reserved > WIDTH)
			break;
		in_table[i] = true;
		at++;
	}
	return at;
}

static void print_learning(const struct report *o)
{
	int n = COUNT(learning_columns), rates = o->speed ? 0 : COUNT(rate_columns);
	struct text_table t = text_table_new(o->arena, o->nrow + 1, n + o->nkey + rates + 1);
	struct text_table used;
	bool *in_table = ARENA_ARRAY(o->arena, bool, o->nkey + 1);
	for (int k = 0; k < n; k++)
		put_column(o, &t, k, &learning_columns[k]);
	int at = put_keys(o, &t, n, rates ? 22 : 0, in_table);
	for (int k = 0; k < rates; k++) {
		t.width[at] = 0;
		put_column(o, &t, at++, &rate_columns[k]);
	}
	used = t;
	used.columns = at;
	used.cell = ARENA_ARRAY(o->arena, const char *, t.rows * at);
	for (int r = 0; r < t.rows; r++)
		memcpy(&used.cell[r * at], &t.cell[r * t.columns], sizeof *t.cell * (size_t)at);
	text_table_print(&used);
	print_others(o, in_table);
}

struct text_table report_learning(const struct report *o)
{
	const int n = COUNT(learning_columns), rates = COUNT(rate_columns);
	int at = n, keys = 0;
	for (int i = 0; i < o->nkey; i++)
		keys += !is_pooled(o, &o->key[i]);
	struct text_table t = text_table_new(o->arena, o->nrow + 1, n + keys + rates);
	for (int k = 0; k < n; k++)
		put_column(o, &t, k, &learning_columns[k]);
	for (int i = 0; i < o->nkey; i++)
		if (!is_pooled(o, &o->key[i]))
			put_key(o, &t, at++, &o->key[i]);
	for (int k = 0; k < rates; k++)
		put_column(o, &t, at++, &rate_columns[k]);
	return t;
}

/* --- below the tables --- */

static void print_unlike(const struct report *o)
{
	for (int i = 0; i < o->n; i++)
		if (o->obstacles[i].work)
			printf("%s is not compared: %s\n", shown(o->run[i].dir), o->obstacles[i].work);
		else if (o->obstacles[i].ranks)
			printf("%s has no efficiency: %s\n", shown(o->run[i].dir), o->obstacles[i].ranks);
}

/* What a row cannot say. */
static void print_remarks(const struct report *o)
{
	for (int i = 0; i < o->n; i++) {
		const struct run *r = &o->run[i];
		const char *dir = shown(r->dir);
		if (r->step <= 0)
			printf("%s has made no step yet\n", dir);
		else if (r->validation.n == 0)
			printf("%s has no validation%s\n", dir, r->step < r->steps ? " yet" : "");
		else if (!run_series(r, o->shown))
			printf("%s has no metric '%s'\n", dir, shown(o->shown));
		else if (!o->metric && !o->target && r->decides && strcmp(r->decides, o->shown) != 0)
			printf("%s chooses its best by %s\n", dir, shown(r->decides));
		if (r->starts > 1)
			printf("%s was started %" PRId64 " times\n", dir, r->starts);
		if (!r->config)
			printf("%s has no config.yaml that can be read\n", dir);
	}
}

static bool any_times(const struct report *o)
{
	for (int i = 0; i < o->n; i++)
		if (o->run[i].times.steps > 0)
			return true;
	return false;
}

static bool any_data(const struct report *o)
{
	for (int i = 0; i < o->n; i++)
		if (o->run[i].data.known)
			return true;
	return false;
}

struct text_table report_speed(const struct report *o)
{
	struct text_table t;
	const struct column *in[COUNT(speed_columns)];
	int n = 0;
	for (int k = 0; k < COUNT(speed_columns); k++)
		if ((speed_columns[k].of != OF_TARGET || o->goal.metric) &&
		    (speed_columns[k].of != OF_RANKS || any_times(o)) &&
		    (speed_columns[k].of != OF_DATA || any_data(o)))
			in[n++] = &speed_columns[k];
	t = text_table_new(o->arena, o->nrow + 1, n);
	for (int k = 0; k < n; k++)
		put_column(o, &t, k, in[k]);
	return t;
}

static void print_speed(const struct report *o)
{
	const struct text_table t = report_speed(o);
	text_table_print(&t);
	printf("\n* the run that the others are compared with\n");
	print_unlike(o);
	if (o->goal.metric)
		printf("target: %s %s %g%s\n", shown(o->goal.metric), metric_falls(o->goal.metric) ? "<=" :
		       ">=", o->goal.value, o->goal.window > 1 ? " (mean of several validations)" : "");
}

void report_table(const struct report *o)
{
	print_learning(o);
	print_remarks(o);
	if (o->speed) {
		printf("\n");
		print_speed(o);
	}
}
