/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A panel's axes span its curves, rounded out to steps of 1, 2 or 5 times a power of ten. */
#include "data-tools/report/chart.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "report/png.h"
#include "report/svg.h"

enum { WIDTH = 460, HEIGHT = 300, LEFT = 62, RIGHT = 14, TOP = 16, BOTTOM = 46, LINE = 18 };

static bool has_point(const struct panel *p, const struct curve *c, int i)
{
	return isfinite(c->x[i]) && isfinite(c->y[i]) && (!p->log_y || c->y[i] > 0);
}

static struct svg_frame frame(const struct panel *p)
{
	struct svg_frame f = { LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM,
		{ .low = 0, .high = NAN, .label = p->x_label },
		{ .low = NAN, .high = NAN, .label = p->y_label, .log = p->log_y } };
	for (int k = 0; k < p->n; k++)
		for (int i = 0; i < p->curve[k].n; i++) {
			const struct curve *c = &p->curve[k];
			if (!has_point(p, c, i))
				continue;
			svg_axis_widen(&f.x, c->x[i]);
			svg_axis_widen(&f.y, c->y[i]);
			svg_axis_widen(&f.y, c->low ? c->low[i] : NAN);
			svg_axis_widen(&f.y, c->high ? c->high[i] : NAN);
		}
	svg_axis_widen(&f.y, p->level);
	if (p->diagonal)
		svg_axis_widen(&f.y, f.x.high);
	if (p->from_zero)
		svg_axis_widen(&f.y, 0);
	svg_axis_round(&f.x);
	svg_axis_round(&f.y);
	return f;
}

/* The colour-blind can distinguish the first ones too, which are dark enough for lines on white
 * (after Okabe and Ito). */
static void colour(struct buf *b, const char *attribute, int number)
{
	static const uint8_t line[][3] = { { 0, 114, 178 }, { 213, 94, 0 }, { 0, 130, 95 },
		{ 190, 85, 145 }, { 60, 60, 60 }, { 150, 110, 0 }, { 40, 150, 205 } };
	uint8_t rgb[3];
	colour_class(number, rgb);
	if (number < (int)(sizeof line / sizeof *line))
		memcpy(rgb, line[number], 3);
	buf_printf(b, " %s=\"#%02x%02x%02x\"", attribute, rgb[0], rgb[1], rgb[2]);
}

static void put_point(struct buf *b, const struct svg_frame *f, double x, double y)
{
	buf_printf(b, "%.1f,%.1f ", svg_x(f, x), svg_y(f, fmax(y, f->y.low)));
}

/* There and back again. */
static void draw_band(struct buf *b, const struct panel *p, const struct curve *c,
                      const struct svg_frame *f)
{
	buf_puts(b, "<polygon stroke=\"none\" fill-opacity=\"0.2\"");
	colour(b, "fill", c->colour);
	buf_puts(b, " points=\"");
	for (int i = 0; i < c->n; i++)
		if (has_point(p, c, i))
			put_point(b, f, c->x[i], c->high[i]);
	for (int i = c->n - 1; i >= 0; i--)
		if (has_point(p, c, i))
			put_point(b, f, c->x[i], c->low[i]);
	buf_puts(b, "\"/>\n");
}

static void draw_curve(struct buf *b, const struct panel *p, const struct curve *c,
                       const struct svg_frame *f)
{
	if (c->low)
		draw_band(b, p, c, f);
	buf_puts(b, "<polyline fill=\"none\" stroke-width=\"1.6\"");
	colour(b, "stroke", c->colour);
	if (c->dashed)
		buf_puts(b, " stroke-dasharray=\"6 3\"");
	buf_puts(b, " points=\"");
	for (int i = 0; i < c->n; i++)
		if (has_point(p, c, i))
			put_point(b, f, c->x[i], c->y[i]);
	buf_puts(b, "\"/>\n");
	if (c->mark >= 0 && has_point(p, c, c->mark)) {
		buf_printf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"", svg_x(f, c->x[c->mark]),
		           svg_y(f, c->y[c->mark]));
		colour(b, "fill", c->colour);
		buf_puts(b, "/>\n");
	}
}

static void draw_points(struct buf *b, const struct curve *c, const struct svg_frame *f)
{
	for (int i = 0; i < c->n; i++) {
		const double x = svg_x(f, c->x[i]), y = svg_y(f, c->y[i]);
		buf_puts(b, "<g stroke-width=\"1.6\"");
		colour(b, "stroke", c->colour);
		colour(b, "fill", c->colour);
		buf_printf(b, "><circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", x, y);
		if (c->low)
			svg_line(b, x, svg_y(f, c->low[i]), x, svg_y(f, c->high[i]), "");
		buf_puts(b, "</g>\n");
	}
}

static void draw_panel(struct buf *b, const struct panel *p)
{
	struct svg_frame f = frame(p);
	svg_axes(b, &f);
	if (isfinite(p->level) && (!p->log_y || p->level > 0))
		svg_line(b, f.left, svg_y(&f, p->level), f.right, svg_y(&f, p->level),
		         "stroke=\"#444\" stroke-dasharray=\"2 3\"");
	const double end = fmin(f.x.high, f.y.high);
	if (p->diagonal)
		svg_line(b, svg_x(&f, 0), svg_y(&f, 0), svg_x(&f, end), svg_y(&f, end),
		         "stroke=\"#444\" stroke-dasharray=\"2 3\"");
	for (int i = 0; i < p->n; i++) {
		draw_curve(b, p, &p->curve[i], &f);
		if (p->curve[i].points)
			draw_points(b, &p->curve[i], &f);
	}
}

static int height_of(const struct chart_part *p, int columns)
{
	return (p->n + columns - 1) / columns * HEIGHT + p->nnames * LINE + 10;
}

static void draw_part(struct buf *out, const struct chart_part *p, int columns)
{
	const int bottom = (p->n + columns - 1) / columns * HEIGHT;
	for (int i = 0; i < p->n; i++) {
		buf_printf(out, "<g transform=\"translate(%d %d)\">\n", i % columns * WIDTH,
		           i / columns * HEIGHT);
		draw_panel(out, &p->panel[i]);
		buf_puts(out, "</g>\n");
	}
	for (int i = 0; i < p->nnames; i++) {
		int y = bottom + i * LINE;
		buf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"24\" height=\"4\"", LEFT, y + 4);
		colour(out, "fill", i);
		buf_puts(out, "/>\n");
		svg_text(out, LEFT + 32, y + 10, "start", p->names[i]);
	}
}

void chart_parts(struct buf *out, const struct chart_part *part, int parts, int columns)
{
	int height = 0, y = 0;
	for (int i = 0; i < parts; i++)
		height += height_of(&part[i], columns);
	svg_begin(out, columns * WIDTH, height);
	for (int i = 0; i < parts; i++) {
		buf_printf(out, "<g transform=\"translate(0 %d)\">\n", y);
		draw_part(out, &part[i], columns);
		buf_puts(out, "</g>\n");
		y += height_of(&part[i], columns);
	}
	svg_end(out);
}
