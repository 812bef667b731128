/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Curves have round numbers at the ends of their vertical axis; other axes end where the data
 * does. */
#include "report/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "report/drawing.h"
#include "report/glyphs.h"
#include "report/png.h"
#include "report/svg.h"

/* Of a panel, in units. */
enum { WIDTH = 400, HEIGHT = 280, LEFT = 64, RIGHT = 88, TOP = 34, BOTTOM = 46, TICK = 4 };
enum { BAR_GAP = 12, BAR = 12, BAR_COLOURS = 128 };
enum { KEY = 22 };           /* the line of a legend's entry */

static const struct drawing_pen thin = { { 60, 60, 60 }, 0.8, false },
                                faint = { { 220, 220, 220 }, 0.6, false };

struct panel {
	struct drawing *d;
	const struct figure_panel *p;
	double left, top;        /* of the panel on the page */
	struct svg_frame f;
};

static void segment(struct panel *c, const struct drawing_pen *pen, double x1, double y1, double x2,
                    double y2)
{
	drawing_line(c->d, pen, 2, (double[]){ c->left + x1, c->left + x2 },
	             (double[]){ c->top + y1, c->top + y2 });
}

static void text(struct panel *c, double x, double y, enum drawing_anchor at, const char *t)
{
	drawing_text(c->d, c->left + x, c->top + y, at, t);
}

static void frame(struct panel *c, double left, double right)
{
	const double x[] = { left, right, right, left, left };
	const double y[] = { c->f.top, c->f.top, c->f.bottom, c->f.bottom, c->f.top };
	for (int i = 0; i < 4; i++)
		segment(c, &thin, x[i], y[i], x[i + 1], y[i + 1]);
}

/* --- axes --- */

static double first_tick(const struct svg_axis *a)
{
	return a->step * ceil(a->low / a->step - 1e-6);
}

/* Numbers at the right of x, or at its left. */
static void upright_axis(struct panel *c, double x, bool at_left)
{
	const struct svg_axis *a = &c->f.y;
	const int side = at_left ? -1 : 1;
	char t[32];
	for (double v = first_tick(a); !svg_axis_beyond(a, v); v += a->step) {
		const double y = svg_y(&c->f, v);
		segment(c, &thin, x, y, x + side * TICK, y);
		text(c, x + side * (TICK + 3), y + 4, at_left ? DRAWING_END : DRAWING_START,
		     svg_axis_number(a, v, t));
	}
}

static void axes(struct panel *c, bool grid)
{
	char t[32];
	const struct svg_axis *x = &c->f.x, *y = &c->f.y;
	for (double v = first_tick(y); grid && !svg_axis_beyond(y, v); v += y->step)
		segment(c, &faint, c->f.left, svg_y(&c->f, v), c->f.right, svg_y(&c->f, v));
	for (double v = first_tick(x); !svg_axis_beyond(x, v); v += x->step) {
		const double at = svg_x(&c->f, v);
		if (grid)
			segment(c, &faint, at, c->f.top, at, c->f.bottom);
		segment(c, &thin, at, c->f.bottom, at, c->f.bottom + TICK);
		text(c, at, c->f.bottom + TICK + 11, DRAWING_MIDDLE, svg_axis_number(x, v, t));
	}
	upright_axis(c, c->f.left, true);
	frame(c, c->f.left, c->f.right);
	text(c, (c->f.left + c->f.right) / 2, c->f.bottom + 32, DRAWING_MIDDLE, x->label);
	if (y->label)
		drawing_text_up(c->d, c->left + 16, c->top + (c->f.top + c->f.bottom) / 2, y->label);
}

/* --- curves --- */

static bool has_point(const struct figure_curve *c, int i)
{
	return isfinite(c->x[i]) && isfinite(c->y[i]);
}

static void span(struct panel *c)
{
	c->f.x = (struct svg_axis){ NAN, NAN, 0, c->p->x_label, false };
	c->f.y = (struct svg_axis){ NAN, NAN, 0, NULL, false };
	for (int k = 0; k < c->p->n; k++)
		for (int i = 0; i < c->p->curve[k].n; i++) {
			const struct figure_curve *v = &c->p->curve[k];
			svg_axis_widen(&c->f.x, v->x[i]);
			svg_axis_widen(&c->f.y, v->y[i]);
			svg_axis_widen(&c->f.y, v->low ? v->low[i] : NAN);
			svg_axis_widen(&c->f.y, v->high ? v->high[i] : NAN);
		}
	svg_axis_step(&c->f.x);
	svg_axis_round(&c->f.y);
}

/* Finds a run of finite points, from `first` on; returns its end. */
static int take_run(const struct panel *c, const struct figure_curve *v, int first, double *x,
                    double *y)
{
	int i = first;
	for (; i < v->n && has_point(v, i); i++) {
		x[i - first] = c->left + svg_x(&c->f, v->x[i]);
		y[i - first] = c->top + svg_y(&c->f, v->y[i]);
	}
	return i;
}

/* Draws the band: forward along one edge, back along the other. */
static void draw_band(struct panel *c, const struct figure_curve *v, const uint8_t rgb[3],
                      double *x, double *y)
{
	int n = 0;
	for (int i = 0; i < v->n; i++)
		if (isfinite(v->high[i])) {
			x[n] = c->left + svg_x(&c->f, v->x[i]);
			y[n++] = c->top + svg_y(&c->f, v->high[i]);
		}
	for (int i = v->n - 1; i >= 0; i--)
		if (isfinite(v->low[i])) {
			x[n] = c->left + svg_x(&c->f, v->x[i]);
			y[n++] = c->top + svg_y(&c->f, v->low[i]);
		}
	if (n > 2)
		drawing_area(c->d, rgb, 0.2, n, x, y);
}

static void draw_curve(struct panel *c, const struct figure_curve *v)
{
	double *x = mem_alloc(sizeof *x * (size_t)(2 * v->n + 1)),
	       *y = mem_alloc(sizeof *y * (size_t)(2 * v->n + 1));
	struct drawing_pen pen = { .width = 1.6, .dashed = v->dashed };
	colour_class(v->colour, pen.rgb);
	if (v->low)
		draw_band(c, v, pen.rgb, x, y);
	for (int i = 0, end; i < v->n; i = end + 1) {
		end = take_run(c, v, i, x, y);
		if (end - i > 1)
			drawing_line(c->d, &pen, end - i, x, y);
	}
	mem_free(x);
	mem_free(y);
}

/* From the right end of the panel's head to the left. */
static void draw_legend(struct panel *c)
{
	double right = c->f.right;
	for (int k = c->p->n - 1; k >= 0; k--) {
		const struct figure_curve *v = &c->p->curve[k];
		if (!v->name)
			continue;
		struct drawing_pen pen = { .width = 1.6, .dashed = v->dashed };
		colour_class(v->colour, pen.rgb);
		text(c, right, TOP - 12, DRAWING_END, v->name);
		right -= GLYPH_STEP * (double)strlen(v->name) + 4;
		segment(c, &pen, right - KEY, TOP - 16, right, TOP - 16);
		right -= KEY + 12;
	}
}

/* --- maps --- */

static void colour_of(const struct figure_map *m, double v, uint8_t rgb[3])
{
	if (m->is_signed)
		colour_signed(m->high > 0 ? v / m->high : v * 0, rgb);
	else
		colour_field(m->high > m->low ? (v - m->low) / (m->high - m->low) : v * 0 + 0.5, rgb);
}

/* Cells reach half a step beyond the coordinates. */
static struct svg_axis map_axis(const double ends[2], int n, const char *label)
{
	const double half = n > 1 ? fabs(ends[1] - ends[0]) / (n - 1) / 2 : 0.5;
	struct svg_axis a = { fmin(ends[0], ends[1]) - half, fmax(ends[0], ends[1]) + half, 0, label,
		false };
	svg_axis_step(&a);
	return a;
}

static void draw_map(struct panel *c)
{
	const struct figure_map *m = c->p->map;
	uint8_t *rgb = mem_alloc(3 * (size_t)m->columns * (size_t)m->rows);
	const bool left_first = m->x[1] >= m->x[0], bottom_first = m->y[1] >= m->y[0];
	c->f.x = map_axis(m->x, m->columns, c->p->x_label);
	c->f.y = map_axis(m->y, m->rows, c->p->y_label);
	for (int k = 0; k < m->rows; k++)
		for (int i = 0; i < m->columns; i++) {
			const int column = left_first ? i : m->columns - 1 - i,
			          row = bottom_first ? m->rows - 1 - k : k;
			colour_of(m, m->v[column * m->x_step + row * m->y_step],
			          rgb + 3 * ((size_t)k * (size_t)m->columns + (size_t)i));
		}
	drawing_pixels(c->d, c->left + c->f.left, c->top + c->f.top, c->f.right - c->f.left,
	               c->f.bottom - c->f.top, m->columns, m->rows, rgb);
	mem_free(rgb);
}

static void draw_bar(struct panel *c)
{
	const struct figure_map *m = c->p->map;
	const double left = c->f.right + BAR_GAP;
	uint8_t rgb[3 * BAR_COLOURS];
	struct svg_axis a = { m->low, m->high, 0, NULL, false };
	svg_axis_step(&a);               /* of one value: some room around it */
	c->f.y = a;
	for (int i = 0; i < BAR_COLOURS; i++)
		colour_of(m, a.high + (a.low - a.high) * i / (BAR_COLOURS - 1), rgb + 3 * i);
	drawing_pixels(c->d, c->left + left, c->top + c->f.top, BAR, c->f.bottom - c->f.top, 1,
	               BAR_COLOURS, rgb);
	frame(c, left, left + BAR);
	upright_axis(c, left + BAR, false);
}

static void draw_panel(struct drawing *d, const struct figure_panel *p, double left, double top)
{
	struct panel c = { .d = d, .p = p, .left = left, .top = top,
		.f = { LEFT, WIDTH - (p->map ? RIGHT : RIGHT / 4), TOP, HEIGHT - BOTTOM,
		       { 0 }, { 0 } } };
	if (!p->map && p->n == 0)
		return;
	if (p->map)
		draw_map(&c);
	else
		span(&c);
	axes(&c, !p->map);
	text(&c, c.f.left, TOP - 12, DRAWING_START, p->title);
	for (int i = 0; i < p->n && !p->map; i++)
		draw_curve(&c, &p->curve[i]);
	if (p->map)
		draw_bar(&c);
	else
		draw_legend(&c);
}

int figure_write(const char *path, const struct figure_panel *panels, int n, int columns)
{
	struct drawing *d;
	int rc = drawing_new(&d, path, columns * WIDTH, (n + columns - 1) / columns * HEIGHT);
	for (int i = 0; i < n && rc == 0; i++)
		draw_panel(d, &panels[i], i % columns * WIDTH, i / columns * HEIGHT);
	if (rc == 0)
		rc = drawing_write(d);
	drawing_free(d);
	return rc;
}
