/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers over ranks: what Yoginath et al. 2019 (DeepEx) call the learning speed-up has two
 * factors, how much faster samples are processed and how much more of them are needed. */
#include <math.h>
#include <string.h>

#include "data-tools/report/figures.h"

typedef double number_of_run(const struct comparison *c);

static double speedup(const struct comparison *c)
{
	return c->speedup;
}

static double statistical(const struct comparison *c)
{
	return c->statistical_efficiency;
}

static double learning(const struct comparison *c)
{
	return c->learning_speedup;
}

/* Whether two rows have the same config, except for seeds. */
static bool same_but_ranks(const struct report *o, int i, int j)
{
	for (int k = 0; k < o->nkey; k++)
		if (strcmp(o->key[k].path, "run.seed") != 0 &&
		    !config_key_same(&o->key[k], o->row[i].run[0], o->row[j].run[0]))
			return false;
	return true;
}

/* line[i]: the number of row i's line; returns how many lines there are. */
static int find_lines(const struct report *o, int *line)
{
	int n = 0;
	for (int i = 0; i < o->nrow; i++) {
		line[i] = -1;
		for (int j = 0; j < i && line[i] < 0; j++)
			if (same_but_ranks(o, i, j))
				line[i] = line[j];
		if (line[i] < 0)
			line[i] = n++;
	}
	return n;
}

static double ranks_of(const struct report *o, int row)
{
	return (double)o->run[o->row[row].run[0]].ranks;
}

/* The mean of a number over the runs of a row, at its ranks; points ascend. */
static void add_point(const struct report *o, int row, number_of_run *number, struct curve *c,
                      double *const v[4])
{
	const struct seeds *g = &o->row[row];
	double *all = ARENA_ARRAY(o->arena, double, g->n);
	for (int i = 0; i < g->n; i++)
		all[i] = number(&o->c[g->run[i]]);
	const struct seeds_mean m = seeds_mean(all, g->n);
	int at = c->n++;
	if (m.n == 0) {
		c->n--;
		return;
	}
	for (; at > 0 && v[0][at - 1] > ranks_of(o, row); at--)
		for (int k = 0; k < 4; k++)
			v[k][at] = v[k][at - 1];
	v[0][at] = ranks_of(o, row);
	v[1][at] = m.mean;
	v[2][at] = m.mean - m.deviation;
	v[3][at] = m.mean + m.deviation;
}

static struct panel panel(const struct report *o, const int *line, int lines, const char *label,
                          number_of_run *number, bool ideal)
{
	struct panel p = { .x_label = "ranks", .y_label = label, .level = ideal ? NAN : 1,
		.diagonal = ideal, .from_zero = true,
		.curve = ARENA_ARRAY(o->arena, struct curve, lines) };
	for (int l = 0; l < lines; l++) {
		double *v[4];
		struct curve c = { .colour = l, .mark = -1, .points = true };
		for (int k = 0; k < 4; k++)
			v[k] = ARENA_ARRAY(o->arena, double, o->nrow);
		for (int i = 0; i < o->nrow; i++)
			if (line[i] == l)
				add_point(o, i, number, &c, v);
		c.x = v[0];
		c.y = v[1];
		c.low = v[2];
		c.high = v[3];
		if (c.n)
			p.curve[p.n++] = c;
	}
	return p;
}

/* The values of the keys by which the lines differ. */
static const char *line_name(const struct report *o, int row, int lines)
{
	struct buf b = BUF_INIT;
	for (int k = 0; k < o->nkey && lines > 1; k++) {
		const char *value = o->key[k].value[o->row[row].run[0]];
		if (strcmp(o->key[k].path, "run.seed") != 0)
			buf_printf(&b, "%s%s %s", b.len ? ", " : "", o->key[k].name, value ? value : "-");
	}
	const char *name = arena_strdup(o->arena, b.len ? b.data : "mean, and deviation of seeds");
	buf_release(&b);
	return name;
}

struct figure figure_ranks(const struct report *o)
{
	static const struct { const char *label; number_of_run *number; bool ideal; } rows[] = {
		{ "speed-up (dotted: ideal)", speedup, true },
		{ "statistical efficiency", statistical, false },
		{ "speed-up x statistical efficiency", comparison_product, true },
		{ "learning speed-up (time to target)", learning, true },
	};
	struct figure f = { 0 };
	int *line = ARENA_ARRAY(o->arena, int, o->nrow), lines = find_lines(o, line);
	bool several = false;
	for (int i = 1; i < o->nrow; i++)
		several |= ranks_of(o, i) != ranks_of(o, 0);
	for (int k = 0; k < FIGURE_PANELS && several; k++) {
		f.panel[f.n] = panel(o, line, lines, rows[k].label, rows[k].number, rows[k].ideal);
		f.n += f.panel[f.n].n > 0;
	}
	f.nnames = lines;
	f.names = ARENA_ARRAY(o->arena, const char *, lines);
	for (int i = o->nrow - 1; i >= 0; i--)
		f.names[line[i]] = line_name(o, i, lines);
	return f;
}
