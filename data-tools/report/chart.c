/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A panel's axes span its curves, rounded out to steps of 1, 2 or 5 times a power of ten. */
#include "data-tools/report/chart.h"

#include <math.h>
#include <stdint.h>

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
	svg_axis_round(&f.x);
	svg_axis_round(&f.y);
	return f;
}

static void colour(struct buf *b, const char *attribute, int number)
{
	uint8_t rgb[3];
	colour_class(number, rgb);
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

static void draw_panel(struct buf *b, const struct panel *p)
{
	struct svg_frame f = frame(p);
	svg_axes(b, &f);
	if (isfinite(p->level) && (!p->log_y || p->level > 0))
		svg_line(b, f.left, svg_y(&f, p->level), f.right, svg_y(&f, p->level),
		         "stroke=\"#444\" stroke-dasharray=\"2 3\"");
	for (int i = 0; i < p->n; i++)
		draw_curve(b, p, &p->curve[i], &f);
}

void chart_svg(struct buf *out, const struct panel *panels, int n, int columns,
               const char *const *names, int nnames)
{
	int rows = (n + columns - 1) / columns;
	svg_begin(out, columns * WIDTH, rows * HEIGHT + nnames * LINE + 10);
	for (int i = 0; i < n; i++) {
		buf_printf(out, "<g transform=\"translate(%d %d)\">\n", i % columns * WIDTH,
		           i / columns * HEIGHT);
		draw_panel(out, &panels[i]);
		buf_puts(out, "</g>\n");
	}
	for (int i = 0; i < nnames; i++) {
		int y = rows * HEIGHT + i * LINE;
		buf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"24\" height=\"4\"", LEFT, y + 4);
		colour(out, "fill", i);
		buf_puts(out, "/>\n");
		svg_text(out, LEFT + 32, y + 10, "start", names[i]);
	}
	svg_end(out);
}
