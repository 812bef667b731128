/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page: the tables and pictures of the report, and all numbers of its JSON, from which the last
 * table is made. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/io.h"
#include "base/json.h"
#include "data-tools/report/figures.h"
#include "data-tools/report/html.h"
#include "data-tools/report/page_pictures.h"
#include "yaml/ytree.h"

/* --- pictures --- */

static void put_figure(struct buf *b, const struct figure *f, const char *caption)
{
	struct buf svg = BUF_INIT;
	figure_svg(&svg, f);
	html_figure(b, svg.data, caption);
	buf_release(&svg);
}

static void put_ranks(struct buf *b, const struct report *o)
{
	const struct figure f = figure_ranks(o);
	if (f.n == 0)
		return;
	html_section(b, "Learning over ranks");
	put_figure(b, &f, "Speed-up: the rate of steps, relative to the base row's mean. Statistical "
	           "efficiency: samples that the base row needed to reach the target, divided by "
	           "those that a run needed. Their product says how much sooner steps alone reach the "
	           "target; the learning speed-up is that of the wall time, with validations and "
	           "checkpoints. Points are means over seeds, bars and bands one standard deviation "
	           "to either side.");
	if (!o->goal.metric)
		html_text(b, "Statistical efficiency and learning speed-up need a target: --target "
		          "METRIC=VALUE, or train.target of the config.");
}

/* --- tables --- */

static void put_speed(struct buf *b, const struct report *o)
{
	struct buf text = BUF_INIT;
	const struct text_table t = report_speed(o);
	html_section(b, "Rates");
	html_table(b, &t);
	buf_printf(&text, "* the row that the others are compared with; its first run: %s",
	           o->run[o->first].dir);
	html_text(b, text.data);
	for (int i = 0; i < o->n; i++) {
		const struct obstacles *l = &o->obstacles[i];
		buf_clear(&text);
		buf_printf(&text, "%s %s: %s", o->run[i].dir,
		           l->work ? "is not compared" : "has no efficiency", l->work ? l->work : l->ranks);
		if (l->work || l->ranks)
			html_text(b, text.data);
	}
	buf_release(&text);
	const struct figure f = figure_rates(o);
	if (f.n)
		put_figure(b, &f, "The rate of steps over the time of training.");
}

static void put_learning(struct buf *b, const struct report *o)
{
	const struct text_table t = report_learning(o);
	const struct figure f = figure_curves(o);
	html_section(b, "What was learned");
	html_table(b, &t);
	put_figure(b, &f, "Circles mark the best validation, the dotted line the target. Curves of "
	           "several seeds are their mean, with a band of one standard deviation.");
}


static void put_text(struct text_table *t, int row, int column, const char *text)
{
	struct buf b = BUF_INIT;
	buf_puts(&b, text);
	text_table_put(t, row, column, &b);
	buf_release(&b);
}

static void put_megabytes(struct text_table *t, int row, int column, double bytes)
{
	struct buf b = BUF_INIT;
	if (isfinite(bytes))
		buf_printf(&b, "%.2f MB", bytes / 1e6);
	else
		buf_puts(&b, "-");
	text_table_put(t, row, column, &b);
	buf_release(&b);
}

/* A row for each row of the report: that of its first run, since seeds do not change a plan. */
static void put_plan(struct buf *b, const struct report *o)
{
	static const char *const titles[] = { "run", "network", "sample", "parameters",
		"GFLOP a sample", "device", "precision", "plan", "memory", "values", "inputs", "arena",
		"sums", "tables" };
	enum { COLUMNS = sizeof titles / sizeof *titles };
	struct text_table t = text_table_new(o->arena, o->nrow + 1, COLUMNS);
	for (int k = 0; k < COLUMNS; k++)
		put_text(&t, 0, k, titles[k]);
	t.left[0] = t.left[1] = t.left[5] = t.left[7] = true;
	for (int i = 0; i < o->nrow; i++) {
		const struct run *r = &o->run[o->row[i].run[0]];
		const struct run_memory *m = &r->memory;
		const double bytes[] = { m->allocated, m->values, m->inputs, m->arena, m->sums, m->tables };
		const char *text[] = { r->dir, r->model, r->input,
			arena_printf(o->arena, "%" PRId64, r->parameters),
			arena_printf(o->arena, "%.4g", r->sample_flops / 1e9), r->device, r->precision,
			r->plan };
		for (int k = 0; k < 8; k++)
			put_text(&t, i + 1, k, text[k]);
		for (int k = 0; k < 6; k++)
			put_megabytes(&t, i + 1, 8 + k, bytes[k]);
	}
	html_section(b, "Plan and memory");
	html_table(b, &t);
	html_text(b, "Memory of the device on a rank, and its planned parts: parameters and states "
	          "(values), batches and constants (inputs), activations, gradients and workspace "
	          "(arena), buffers of all-reduces (sums), tables of kernels.");
}

static void put_pictures(struct buf *b, const struct report *o)
{
	struct buf all = BUF_INIT;
	if (page_pictures(&all, o)) {
		html_section(b, "Pictures");
		buf_puts(b, all.data);
	}
	buf_release(&all);
}

/* --- configs --- */

static void put_configs(struct buf *b, const struct report *o)
{
	struct text_table t = text_table_new(o->arena, o->nkey + 1, o->n + 1);
	const struct ynode *config = o->run[o->first].config;
	html_section(b, "Configs");
	put_text(&t, 0, 0, "key");
	t.left[0] = true;
	for (int i = 0; i < o->n; i++)
		put_text(&t, 0, i + 1, o->run[i].dir);
	for (int k = 0; k < o->nkey; k++) {
		put_text(&t, k + 1, 0, o->key[k].path);
		for (int i = 0; i < o->n; i++)
			put_text(&t, k + 1, i + 1, o->key[k].value[i] ? o->key[k].value[i] : "-");
	}
	if (o->n > 1 && o->nkey)
		html_table(b, &t);
	else if (o->n > 1)
		html_text(b, "The configs do not differ.");
	if (!config)
		return;
	struct buf text = BUF_INIT;
	ytree_write(&text, config);
	html_fold_begin(b, arena_printf(o->arena, "The whole config of %s", o->run[o->first].dir));
	html_lines(b, text.data);
	html_fold_end(b);
	buf_release(&text);
}

/* --- all numbers --- */

/* The rows of a table: members of a JSON object, those of members that are objects with a dot. */
struct members {
	struct arena *a;
	struct text_table *t;        /* NULL: only counted */
	int row, column;
};

static void walk(struct members *m, const struct json *object, const char *before)
{
	for (int i = 0; i < object->n; i++) {
		const struct json *v = object->item[i];
		const char *key = *before ? arena_printf(m->a, "%s.%s", before, v->key) : v->key;
		if (v->kind == JSON_OBJECT) {
			walk(m, v, key);
			continue;
		}
		const char *text = v->kind == JSON_ARRAY ? "(list)" :
		                   v->kind == JSON_NULL ? "-" : v->kind == JSON_TRUE ? "true" :
		                   v->kind == JSON_FALSE ? "false" : v->text;
		for (int k = 1; m->t && k < m->t->rows; k++) {
			const char *title = m->t->cell[k * m->t->columns];
			if (*title && strcmp(title, key) != 0)
				continue;
			put_text(m->t, k, 0, key);
			put_text(m->t, k, m->column, text);
			break;
		}
		m->row++;
	}
}

/* The objects of an array side by side; `title` of each is the head of its column. */
static void put_objects(struct buf *b, struct arena *a, const struct json *list,
                        const char *(*title)(struct arena *, const struct json *))
{
	struct members m = { .a = a };
	for (int i = 0; i < list->n; i++)
		walk(&m, list->item[i], "");
	struct text_table t = text_table_new(a, m.row + 1, list->n + 1);
	m.t = &t;
	t.left[0] = true;
	put_text(&t, 0, 0, "number");
	for (int i = 0; i < list->n; i++) {
		m.column = i + 1;
		put_text(&t, 0, i + 1, title(a, list->item[i]));
		walk(&m, list->item[i], "");
	}
	while (t.rows > 1 && !*t.cell[(t.rows - 1) * t.columns])
		t.rows--;
	html_table(b, &t);
}

static const char *run_title(struct arena *a, const struct json *run)
{
	return json_find(run, "run")->text;
}

static const char *pool_title(struct arena *a, const struct json *pool)
{
	const struct json *members = json_find(pool, "members");
	return arena_printf(a, "%s and %d more", members->item[0]->text, members->n - 1);
}

static int put_numbers(struct buf *b, const struct report *o)
{
	struct buf text = BUF_INIT;
	struct json *all;
	report_json(o, &text);
	const int rc = json_parse(&all, o->arena, "the report", 0, text.data, text.len);
	buf_release(&text);
	if (rc < 0)
		return rc;
	const struct json *pools = json_find(all, "pools");
	html_section(b, "All numbers");
	html_fold_begin(b, "Every number of dlx-report --json");
	put_objects(b, o->arena, json_find(all, "runs"), run_title);
	if (pools->n)
		put_objects(b, o->arena, pools, pool_title);
	html_fold_end(b);
	return 0;
}

/* --- the page --- */

static void put_summary(struct buf *b, const struct report *o)
{
	struct buf text = BUF_INIT;
	if (o->goal.metric)
		buf_printf(&text, "Target: %s %s %g%s. ", o->goal.metric,
		           metric_falls(o->goal.metric) ? "<=" : ">=", o->goal.value,
		           o->goal.window > 1 ? " (mean of several validations)" : "");
	buf_printf(&text, "Runs are compared by %s.", o->shown);
	html_text(b, text.data);
	buf_release(&text);
}

int report_page(const struct report *o)
{
	struct buf b = BUF_INIT;
	html_begin(&b, o->n == 1 ? arena_printf(o->arena, "Run %s", o->run[0].dir) :
	           arena_printf(o->arena, "%d runs compared", o->n));
	put_summary(&b, o);
	put_ranks(&b, o);
	put_learning(&b, o);
	put_speed(&b, o);
	put_pictures(&b, o);
	put_plan(&b, o);
	put_configs(&b, o);
	int rc = put_numbers(&b, o);
	html_end(&b);
	if (rc == 0)
		rc = io_write_file(o->html, b.data, b.len);
	buf_release(&b);
	return rc;
}
