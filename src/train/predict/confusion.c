/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The colour of a cell is its share of the row, that is, of all labels of a class. So rare classes
 * are as visible as common ones. */
#include "train/predict/confusion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "report/csv.h"
#include "report/png.h"
#include "report/svg.h"

#define MATRIX 480         /* pixels of a picture of few classes */
#define MOST_CELL 48
#define LEAST_TEXT 28      /* least width of a cell that shows its count */
#define LEAST_NAME 9       /* least width of a cell with the name of its class next to it */
#define MARGIN 150         /* for names */

struct matrix {
	int n;
	const double *count;
	const struct dataset_info *data;
	int cell;                        /* pixels of a side */
};

typedef int write_fn(const struct matrix *m, const char *path);
static write_fn write_svg, write_png, write_csv;
static const struct {
	const char *end;
	write_fn *write;
} formats[] = { { ".svg", write_svg }, { ".png", write_png }, { ".csv", write_csv } };
#define NFORMATS (sizeof formats / sizeof *formats)

static write_fn *format_of(const char *path)
{
	const char *end = strrchr(path, '.');
	for (size_t i = 0; end && i < NFORMATS; i++)
		if (strcmp(end, formats[i].end) == 0)
			return formats[i].write;
	return NULL;
}

int confusion_check(const char *path)
{
	if (format_of(path))
		return 0;
	return ERR(E_USAGE, NULL, "'--confusion=%s': expected a name that ends in .svg, .png or .csv",
	           path);
}

int confusion_want(struct run_config *c)
{
	struct strings *m = &c->metrics;
	const int n = m->n;
	for (int i = 0; i < n; i++)
		if (strcmp(m->v[i], METRIC_CONFUSION) == 0)
			return 0;
	if (!loss_wants_labels(&c->loss))
		return ERR(E_CONFIG, &c->loss.loc, "'--confusion' needs class labels, which this loss does "
		           "not have");
	const char **names = ARENA_ARRAY(c->arena, const char *, n + 1);
	struct loc *place = ARENA_ARRAY(c->arena, struct loc, n + 1);
	for (int i = 0; i < n; i++) {
		names[i] = m->v[i];
		place[i] = m->loc ? m->loc[i] : c->loss.loc;
	}
	names[n] = METRIC_CONFUSION;
	place[n] = c->loss.loc;
	*m = (struct strings){ n + 1, names, place };
	return 0;
}

/* Of the row; NaN where nothing has the label. */
static double share(const struct matrix *m, int row, int column)
{
	const double *count = m->count + (int64_t)row * m->n;
	double all = 0;
	for (int j = 0; j < m->n; j++)
		all += count[j];
	return all > 0 ? count[column] / all : NAN;
}

/* --- svg --- */

static void draw_cell(const struct matrix *m, int row, int column, struct buf *out)
{
	const double v = share(m, row, column), count = m->count[(int64_t)row * m->n + column],
	             x = MARGIN + column * m->cell, y = MARGIN + row * m->cell;
	uint8_t c[3];
	char style[48], text[32];
	colour_field(v, c);
	snprintf(style, sizeof style, "fill=\"#%02x%02x%02x\"", c[0], c[1], c[2]);
	svg_rect(out, x, y, m->cell, m->cell, style);
	if (m->cell < LEAST_TEXT || isnan(v))
		return;
	/* The scale is dark where it is low. Large counts are as 12k, 3.4M. */
	const double unit = count < 1e4 ? 1 : count < 1e6 ? 1e3 : count < 1e9 ? 1e6 : 1e9;
	snprintf(text, sizeof text, "%.3g%s", unit > 1 ? count / unit : count,
	         unit == 1 ? "" : unit == 1e3 ? "k" : unit == 1e6 ? "M" : "G");
	if (unit == 1)
		snprintf(text, sizeof text, "%.0f", count);
	buf_printf(out, "<g fill=\"%s\">", v < 0.55 ? "#fff" : "#000");
	svg_text(out, x + m->cell / 2.0, y + m->cell / 2.0 + 4, "middle", text);
	buf_puts(out, "</g>\n");
}

/* A row's name at its left; a column's above it, upright. */
static void draw_names(const struct matrix *m, struct buf *out)
{
	struct buf name = BUF_INIT;
	for (int i = 0; i < m->n; i++) {
		const double middle = MARGIN + (i + 0.5) * m->cell;
		evaluation_part_name(m->data, METRIC_MATRIX, i, &name);
		svg_text(out, MARGIN - 6, middle + 4, "end", name.data);
		buf_printf(out, "<g transform=\"translate(%.1f %d) rotate(-90)\">", middle + 4, MARGIN - 6);
		svg_text(out, 0, 0, "start", name.data);
		buf_puts(out, "</g>\n");
	}
	buf_release(&name);
}

static int write_svg(const struct matrix *m, const char *path)
{
	const int size = MARGIN + m->n * m->cell + 20;
	struct buf out = BUF_INIT;
	svg_begin(&out, size, size);
	svg_text(&out, 10, 20, "start", "rows: labels, columns: predicted");
	svg_text(&out, 10, 36, "start", "colour: share of the row");
	for (int i = 0; i < m->n; i++)
		for (int j = 0; j < m->n; j++)
			draw_cell(m, i, j, &out);
	if (m->cell >= LEAST_NAME)
		draw_names(m, &out);
	svg_end(&out);
	int rc = io_write_file(path, out.data, out.len);
	buf_release(&out);
	return rc;
}

/* --- png and csv --- */

static int write_png(const struct matrix *m, const char *path)
{
	const int64_t size = (int64_t)m->n * m->cell;
	struct buf pixels = BUF_INIT;
	buf_reserve(&pixels, (size_t)(3 * size * size));
	for (int i = 0; i < m->n; i++)
		for (int j = 0; j < m->n; j++) {
			uint8_t c[3];
			colour_field(share(m, i, j), c);
			for (int64_t y = i * m->cell; y < (i + 1) * m->cell; y++)
				for (int64_t x = j * m->cell; x < (j + 1) * m->cell; x++)
					memcpy(pixels.data + 3 * (y * size + x), c, 3);
		}
	int rc = png_write_rgb(path, size, size, (const uint8_t *)pixels.data);
	buf_release(&pixels);
	return rc;
}

static int write_csv(const struct matrix *m, const char *path)
{
	struct buf out = BUF_INIT, name = BUF_INIT;
	buf_puts(&out, "label");
	for (int j = 0; j < m->n; j++) {
		evaluation_part_name(m->data, METRIC_MATRIX, j, &name);
		buf_putc(&out, ',');
		csv_text(&out, name.data);
	}
	for (int i = 0; i < m->n; i++) {
		evaluation_part_name(m->data, METRIC_MATRIX, i, &name);
		buf_putc(&out, '\n');
		csv_text(&out, name.data);
		for (int j = 0; j < m->n; j++)
			buf_printf(&out, ",%.0f", m->count[(int64_t)i * m->n + j]);
	}
	buf_putc(&out, '\n');
	int rc = io_write_file(path, out.data, out.len);
	buf_release(&out);
	buf_release(&name);
	return rc;
}

/* --- all --- */

int confusion_write(const struct evaluation *e, const struct dataset_info *data, const char *path)
{
	struct matrix m = { .data = data };
	for (int i = 0; i < e->nmetric; i++)
		if (e->metric[i].form == METRIC_MATRIX) {
			m.n = evaluation_metric(&e->metric[i]).columns;
			m.count = e->metric[i].v;
		}
	BUG_IF(m.n == 0, "an evaluation without a confusion matrix");
	m.cell = MATRIX / m.n > MOST_CELL ? MOST_CELL : MATRIX / m.n < 1 ? 1 : MATRIX / m.n;
	return format_of(path)(&m, path);
}
