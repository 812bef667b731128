/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An evaluation as text: a line, tables, JSON. */
#include "train/predict/evaluate.h"

#include <math.h>
#include <string.h>

#include "base/shown.h"

void evaluation_number(struct buf *out, int width, double v)
{
	const double size = fabs(v);
	const bool plain = v == 0 || !isfinite(v) || (size >= 1e-3 && size < 1e6);
	buf_printf(out, plain ? "%*.4f" : "%*.4g", width, v);
}

void evaluation_line(const struct evaluation *e, struct buf *out)
{
	buf_puts(out, "loss ");
	evaluation_number(out, 0, e->loss);
	for (int i = 0; i < e->nmetric; i++)
		if (e->metric[i].form == METRIC_NUMBER) {
			buf_printf(out, "  %s ", e->metric[i].name);
			evaluation_number(out, 0, e->metric[i].v[0]);
		}
}

/* --- table --- */

#define COLUMN 12

/* `model.classes` may be more than the data has names for. Classes that are flags are channels. */
void evaluation_part_name(const struct dataset_info *data, enum metric_form form, int i,
                          struct buf *out)
{
	const bool output = form == METRIC_BY_OUTPUT;
	const bool channels = output || !data->classes;
	const char *const *names = channels ? data->target_channels : data->classes;
	const int64_t n = channels ? data->target.d[0] : data->nclasses;
	buf_clear(out);
	if (names && i < n && *names[i])
		buf_shown(out, names[i]);
	else
		buf_printf(out, "%s %d", output ? "output" : "class", i);
}

static int parts(const struct metric_value *m)
{
	int n = 0;
	while (metric_numbers(m->form, n) < m->n)
		n++;
	return n;
}

static int width(const struct metric_value *m)
{
	const int n = (int)strlen(m->name);
	return n > COLUMN ? n : COLUMN;
}

/* The names of classes or outputs, aligned, and one number of each of the metrics of a form. */
static void part_table(const struct evaluation *e, const struct dataset_info *data,
                       enum metric_form form, struct buf *out)
{
	struct buf name = BUF_INIT;
	int n = 0;
	for (int i = 0; i < e->nmetric; i++)
		if (e->metric[i].form == form)
			n = e->metric[i].n;
	if (n == 0)
		return;
	buf_printf(out, "\n%-20s", form == METRIC_BY_CLASS ? "class" : "output");
	for (int i = 0; i < e->nmetric; i++)
		if (e->metric[i].form == form)
			buf_printf(out, " %*s", width(&e->metric[i]), e->metric[i].name);
	buf_putc(out, '\n');
	for (int k = 0; k < n; k++) {
		evaluation_part_name(data, form, k, &name);
		buf_printf(out, "%-20s", name.data);
		for (int i = 0; i < e->nmetric; i++)
			if (e->metric[i].form == form) {
				buf_putc(out, ' ');
				evaluation_number(out, width(&e->metric[i]), e->metric[i].v[k]);
			}
		buf_putc(out, '\n');
	}
	buf_release(&name);
}

static void matrix_table(const struct metric_value *m, const struct dataset_info *data,
                         struct buf *out)
{
	const int n = parts(m);
	struct buf name = BUF_INIT;
	buf_printf(out, "\n%-20s", "label \\ predicted");
	for (int k = 0; k < n; k++) {
		evaluation_part_name(data, m->form, k, &name);
		buf_printf(out, " %*.*s", COLUMN, COLUMN, name.data);
	}
	buf_putc(out, '\n');
	for (int i = 0; i < n; i++) {
		evaluation_part_name(data, m->form, i, &name);
		buf_printf(out, "%-20s", name.data);
		for (int k = 0; k < n; k++)
			buf_printf(out, " %*.0f", COLUMN, m->v[(int64_t)i * n + k]);
		buf_putc(out, '\n');
	}
	buf_release(&name);
}

static void number_line(const char *name, double v, struct buf *out)
{
	buf_printf(out, "%-20s ", name);
	evaluation_number(out, COLUMN, v);
	buf_putc(out, '\n');
}

void evaluation_table(const struct evaluation *e, const struct dataset_info *data, struct buf *out)
{
	number_line("loss", e->loss, out);
	for (int i = 0; i < e->nmetric; i++)
		if (e->metric[i].form == METRIC_NUMBER)
			number_line(e->metric[i].name, e->metric[i].v[0], out);
	part_table(e, data, METRIC_BY_CLASS, out);
	part_table(e, data, METRIC_BY_OUTPUT, out);
	for (int i = 0; i < e->nmetric; i++)
		if (e->metric[i].form == METRIC_MATRIX)
			matrix_table(&e->metric[i], data, out);
}

/* --- JSON --- */

void evaluation_json(const struct evaluation *e, struct buf *out)
{
	buf_puts(out, "\"loss\": ");
	buf_json_double(out, e->loss);
	buf_puts(out, ", \"metrics\": {");
	for (int i = 0; i < e->nmetric; i++) {
		const struct jsonl_metric m = evaluation_metric(&e->metric[i]);
		buf_puts(out, i ? ", " : "");
		jsonl_put_metric(out, &m);
	}
	buf_putc(out, '}');
}

struct jsonl_metric evaluation_metric(const struct metric_value *v)
{
	return (struct jsonl_metric){ v->name, v->n, v->form != METRIC_NUMBER,
		v->form == METRIC_MATRIX ? parts(v) : 0, v->v };
}
