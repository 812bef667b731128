/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The picture: the loss of the steps with that of the validations, and another series, against
 * time and against samples; a colour for each row of the table. */
#include <math.h>
#include <string.h>

#include "base/io.h"
#include "data-tools/report/figures.h"

/* A series of all rows. time: against seconds, else against samples. */
static int add_curves(const struct report *o, const char *series, bool time, bool dashed,
                      bool marked, struct curve *curve)
{
	int n = 0;
	for (int i = 0; i < o->nrow; i++) {
		struct seeds_curve c;
		seeds_curve(&c, o->arena, o->run, &o->row[i], series);
		if (c.runs == 0)
			continue;
		struct series mean = { series, c.n, c.n, c.step, c.seconds, c.samples, c.value };
		curve[n++] = (struct curve){ .colour = i, .n = c.n, .x = time ? c.seconds : c.samples,
			.y = c.value, .low = c.low, .high = c.high, .dashed = dashed,
			.mark = marked ? series_best(&mean) : -1 };
	}
	return n;
}

static bool any_has(const struct report *o, const char *series)
{
	for (int i = 0; i < o->n; i++)
		if (run_series(&o->run[i], series))
			return true;
	return false;
}

static bool of_validation(const struct report *o, const char *series)
{
	for (int i = 0; i < o->n; i++)
		for (int k = 0; k < o->run[i].validation.n; k++)
			if (strcmp(o->run[i].validation.v[k].name, series) == 0)
				return true;
	return false;
}

static struct panel panel(const struct report *o, const char *label, bool time)
{
	return (struct panel){ .x_label = time ? "seconds" : "samples", .y_label = label,
		.level = NAN, .log_y = o->log_y,
		.curve = ARENA_ARRAY(o->arena, struct curve, 2 * o->nrow) };
}

/* Both losses on one axis: that of the validations dashed, its best point marked. */
static struct panel loss_panel(const struct report *o, bool time)
{
	struct panel p = panel(o, any_has(o, "loss") ? "loss (dashed: validation)" : "loss", time);
	p.n = add_curves(o, "train_loss", time, false, false, p.curve);
	p.n += add_curves(o, "loss", time, true, true, p.curve + p.n);
	return p;
}

static struct panel metric_panel(const struct report *o, bool time)
{
	struct panel p = panel(o, o->drawn, time);
	p.n = add_curves(o, o->drawn, time, false, of_validation(o, o->drawn), p.curve);
	if (o->goal.metric && strcmp(o->goal.metric, o->drawn) == 0)
		p.level = o->goal.value;
	return p;
}

static const char *row_name(const struct report *o, const struct seeds *g)
{
	const char *dir = o->run[g->run[0]].dir;
	return g->n == 1 ? dir : arena_printf(o->arena, "%s (mean and deviation of %d seeds)", dir,
	                                      g->n);
}

static const char **row_names(const struct report *o)
{
	const char **names = ARENA_ARRAY(o->arena, const char *, o->nrow);
	for (int i = 0; i < o->nrow; i++)
		names[i] = row_name(o, &o->row[i]);
	return names;
}

struct figure figure_curves(const struct report *o)
{
	/* The losses are drawn anyway. */
	bool more = strcmp(o->drawn, "loss") != 0 && strcmp(o->drawn, "train_loss") != 0;
	struct figure f = { .n = more ? 4 : 2, .panel = { loss_panel(o, true), loss_panel(o, false),
		metric_panel(o, true), metric_panel(o, false) }, .nnames = o->nrow,
		.names = row_names(o) };
	if (!more && isfinite(f.panel[2].level))
		f.panel[0].level = f.panel[1].level = f.panel[2].level;
	return f;
}

struct figure figure_rates(const struct report *o)
{
	struct figure f = { .n = 1, .panel = { panel(o, "samples/s", true) }, .nnames = o->nrow,
		.names = row_names(o) };
	struct panel *p = &f.panel[0];
	p->log_y = false;
	p->from_zero = true;
	p->n = add_curves(o, "samples_per_second", true, false, false, p->curve);
	f.n = p->n > 0;
	return f;
}

void figure_svg(struct buf *out, const struct figure *f)
{
	const struct chart_part part = { f->panel, f->n, f->names, f->nnames };
	chart_parts(out, &part, 1, f->n == 1 ? 1 : 2);
}

int report_draw(const struct report *o)
{
	struct buf out = BUF_INIT;
	const struct figure curves = figure_curves(o), ranks = figure_ranks(o), rates = figure_rates(o);
	const struct figure *all[] = { &curves, &ranks, &rates };
	struct chart_part part[3];
	int n = 0;
	for (int i = 0; i < (o->html ? 3 : 1); i++)
		if (all[i]->n)
			part[n++] = (struct chart_part){ all[i]->panel, all[i]->n, all[i]->names,
				all[i]->nnames };
	chart_parts(&out, part, n, 2);
	int rc = io_write_file(o->svg, out.data, out.len);
	buf_release(&out);
	return rc;
}
