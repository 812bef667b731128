/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A panel's axes span its curves, rounded out to steps of 1, 2 or 5 times a power of ten. */
#include "chart.h"

#include <math.h>
#include <stdint.h>

#include "report/png.h"
#include "report/svg.h"

enum { WIDTH = 460, HEIGHT = 300, LEFT = 62, RIGHT = 14, TOP = 16, BOTTOM = 46, LINE = 18 };

static void widen(struct svg_axis *a, double v)
{
	a->low = fmin(a->low, v);
	a->high = fmax(a->high, v);
}

static struct svg_frame frame(const struct panel *p)
{
	struct svg_frame f = { LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM, { 0, NAN, 0, p->x_label },
		{ NAN, NAN, 0, p->y_label } };
	for (int c = 0; c < p->n; c++)
		for (int i = 0; i < p->curve[c].n; i++) {
			if (!isfinite(p->curve[c].x[i]) || !isfinite(p->curve[c].y[i]))
				continue;
			widen(&f.x, p->curve[c].x[i]);
			widen(&f.y, p->curve[c].y[i]);
		}
	if (isfinite(p->level))
		widen(&f.y, p->level);
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

static void draw_curve(struct buf *b, const struct curve *c, const struct svg_frame *f)
{
	buf_puts(b, "<polyline fill=\"none\" stroke-width=\"1.6\"");
	colour(b, "stroke", c->colour);
	buf_puts(b, " points=\"");
	for (int i = 0; i < c->n; i++)
		if (isfinite(c->x[i]) && isfinite(c->y[i]))
			buf_printf(b, "%.1f,%.1f ", svg_x(f, c->x[i]), svg_y(f, c->y[i]));
	buf_puts(b, "\"/>\n");
}

static void draw_panel(struct buf *b, const struct panel *p)
{
	struct svg_frame f = frame(p);
	svg_axes(b, &f);
	if (isfinite(p->level))
		svg_line(b, f.left, svg_y(&f, p->level), f.right, svg_y(&f, p->level),
		         "stroke=\"#444\" stroke-dasharray=\"5 4\"");
	for (int i = 0; i < p->n; i++)
		draw_curve(b, &p->curve[i], &f);
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
