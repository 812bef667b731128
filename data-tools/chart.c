/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A panel's axes span its curves, rounded out to steps of 1, 2 or 5 times a power of ten. */
#include "chart.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "base/shown.h"
#include "report/png.h"

enum { WIDTH = 460, HEIGHT = 300, LEFT = 62, RIGHT = 14, TOP = 16, BOTTOM = 46, LINE = 18 };

struct axis {
	double low, high, step;
};

static void widen(struct axis *a, double v)
{
	a->low = fmin(a->low, v);
	a->high = fmax(a->high, v);
}

/* About five intervals. */
static void round_out(struct axis *a)
{
	static const double steps[] = { 1, 2, 5, 10 };
	if (!(a->high > a->low)) {
		double v = isfinite(a->low) ? a->low : 0;
		a->low = v - 0.5;
		a->high = v + 0.5;
	}
	double rough = (a->high - a->low) / 5, unit = pow(10, floor(log10(rough)));
	a->step = 10 * unit;
	for (int i = 3; i >= 0; i--)
		if (steps[i] * unit >= rough)
			a->step = steps[i] * unit;
	a->low = a->step * floor(a->low / a->step);
	a->high = a->step * ceil(a->high / a->step);
}

static void span(const struct panel *p, struct axis *x, struct axis *y)
{
	*x = (struct axis){ 0, NAN, 0 };
	*y = (struct axis){ NAN, NAN, 0 };
	for (int c = 0; c < p->n; c++)
		for (int i = 0; i < p->curve[c].n; i++) {
			if (!isfinite(p->curve[c].x[i]) || !isfinite(p->curve[c].y[i]))
				continue;
			widen(x, p->curve[c].x[i]);
			widen(y, p->curve[c].y[i]);
		}
	if (isfinite(p->level))
		widen(y, p->level);
	round_out(x);
	round_out(y);
}

static double place(const struct axis *a, double v, double from, double to)
{
	return from + (v - a->low) / (a->high - a->low) * (to - from);
}

static void text(struct buf *b, double x, double y, const char *anchor, const char *s)
{
	buf_printf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	for (s = shown(s); *s; s++) {
		if (*s == '<')
			buf_puts(b, "&lt;");
		else if (*s == '&')
			buf_puts(b, "&amp;");
		else
			buf_putc(b, *s);
	}
	buf_puts(b, "</text>\n");
}

static void rule(struct buf *b, double x1, double y1, double x2, double y2, const char *style)
{
	buf_printf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

static void axes(struct buf *b, const struct panel *p, const struct axis *x, const struct axis *y)
{
	static const char grid[] = "stroke=\"#ddd\"";
	double right = WIDTH - RIGHT, bottom = HEIGHT - BOTTOM;
	char number[32];
	for (double v = x->low; v <= x->high + x->step / 2; v += x->step) {
		double at = place(x, v, LEFT, right);
		rule(b, at, TOP, at, bottom, grid);
		snprintf(number, sizeof number, "%.6g", fabs(v) < x->step / 1e6 ? 0 : v);
		text(b, at, bottom + 16, "middle", number);
	}
	for (double v = y->low; v <= y->high + y->step / 2; v += y->step) {
		double at = place(y, v, bottom, TOP);
		rule(b, LEFT, at, right, at, grid);
		snprintf(number, sizeof number, "%.6g", fabs(v) < y->step / 1e6 ? 0 : v);
		text(b, LEFT - 6, at + 4, "end", number);
	}
	text(b, (LEFT + right) / 2, HEIGHT - 12, "middle", p->x_label);
	buf_printf(b, "<g transform=\"translate(14 %.1f) rotate(-90)\">\n", (TOP + bottom) / 2);
	text(b, 0, 0, "middle", p->y_label);
	buf_puts(b, "</g>\n");
	if (isfinite(p->level))
		rule(b, LEFT, place(y, p->level, bottom, TOP), right, place(y, p->level, bottom, TOP),
		     "stroke=\"#444\" stroke-dasharray=\"5 4\"");
}

static void colour(struct buf *b, const char *attribute, int number)
{
	uint8_t rgb[3];
	colour_class(number, rgb);
	buf_printf(b, " %s=\"#%02x%02x%02x\"", attribute, rgb[0], rgb[1], rgb[2]);
}

static void draw_curve(struct buf *b, const struct curve *c, const struct axis *x, const struct axis *y)
{
	buf_puts(b, "<polyline fill=\"none\" stroke-width=\"1.6\"");
	colour(b, "stroke", c->colour);
	buf_puts(b, " points=\"");
	for (int i = 0; i < c->n; i++)
		if (isfinite(c->x[i]) && isfinite(c->y[i]))
			buf_printf(b, "%.1f,%.1f ", place(x, c->x[i], LEFT, WIDTH - RIGHT), place(y, c->y[i], HEIGHT - BOTTOM, TOP));
	buf_puts(b, "\"/>\n");
}

static void draw_panel(struct buf *b, const struct panel *p)
{
	struct axis x, y;
	span(p, &x, &y);
	axes(b, p, &x, &y);
	for (int i = 0; i < p->n; i++)
		draw_curve(b, &p->curve[i], &x, &y);
}

void chart_svg(struct buf *out, const struct panel *panels, int n, int columns, const char *const *names, int nnames)
{
	int rows = (n + columns - 1) / columns, width = columns * WIDTH, height = rows * HEIGHT + nnames * LINE + 10;
	buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
	           "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height,
	           width, height, width, height);
	for (int i = 0; i < n; i++) {
		buf_printf(out, "<g transform=\"translate(%d %d)\">\n", i % columns * WIDTH, i / columns * HEIGHT);
		draw_panel(out, &panels[i]);
		buf_puts(out, "</g>\n");
	}
	for (int i = 0; i < nnames; i++) {
		int y = rows * HEIGHT + i * LINE;
		buf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"24\" height=\"4\"", LEFT, y + 4);
		colour(out, "fill", i);
		buf_puts(out, "/>\n");
		text(out, LEFT + 32, y + 10, "start", names[i]);
	}
	buf_puts(out, "</svg>\n");
}
