/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers on axes are multiples of the step, as short as they can be written. */
#include "report/svg.h"

#include <math.h>
#include <stdio.h>

#include "base/shown.h"

void svg_begin(struct buf *b, int width, int height)
{
	buf_printf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
	           "height=\"%d\" viewBox=\"0 0 %d %d\" "
	           "font-family=\"sans-serif\" font-size=\"11\">\n"
	           "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
	           width, height, width, height, width, height);
}

void svg_end(struct buf *b)
{
	buf_puts(b, "</svg>\n");
}

void svg_escaped(struct buf *b, const char *text)
{
	static const char *const name[128] = { ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;",
		['"'] = "&quot;" };
	struct buf visible = BUF_INIT;
	buf_shown(&visible, text);
	for (size_t i = 0; i < visible.len; i++) {
		unsigned char c = (unsigned char)visible.data[i];
		if (c < 128 && name[c])
			buf_puts(b, name[c]);
		else
			buf_putc(b, (char)c);
	}
	buf_release(&visible);
}

void svg_text(struct buf *b, double x, double y, const char *anchor, const char *text)
{
	buf_printf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	svg_escaped(b, text);
	buf_puts(b, "</text>\n");
}

void svg_line(struct buf *b, double x1, double y1, double x2, double y2, const char *style)
{
	buf_printf(b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
	           y2, style);
}

void svg_rect(struct buf *b, double x, double y, double width, double height, const char *style)
{
	buf_printf(b, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" %s/>\n", x, y, width,
	           height, style);
}

/* --- axes --- */

void svg_axis_step(struct svg_axis *a)
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
}

void svg_axis_round(struct svg_axis *a)
{
	svg_axis_step(a);
	a->low = a->step * floor(a->low / a->step);
	a->high = a->step * ceil(a->high / a->step);
}

static double place(const struct svg_axis *a, double v, double from, double to)
{
	return from + (v - a->low) / (a->high - a->low) * (to - from);
}

double svg_x(const struct svg_frame *f, double v)
{
	return place(&f->x, v, f->left, f->right);
}

double svg_y(const struct svg_frame *f, double v)
{
	return place(&f->y, v, f->bottom, f->top);
}

static void number(char out[32], const struct svg_axis *a, double v)
{
	snprintf(out, 32, "%.6g", fabs(v) < a->step / 1e6 ? 0 : v);
}

void svg_axes(struct buf *b, const struct svg_frame *f)
{
	static const char grid[] = "stroke=\"#ddd\"";
	char text[32];
	for (double v = f->x.low; v <= f->x.high + f->x.step / 1e6; v += f->x.step) {
		number(text, &f->x, v);
		svg_line(b, svg_x(f, v), f->top, svg_x(f, v), f->bottom, grid);
		svg_text(b, svg_x(f, v), f->bottom + 16, "middle", text);
	}
	for (double v = f->y.low; v <= f->y.high + f->y.step / 1e6; v += f->y.step) {
		number(text, &f->y, v);
		svg_line(b, f->left, svg_y(f, v), f->right, svg_y(f, v), grid);
		svg_text(b, f->left - 6, svg_y(f, v) + 4, "end", text);
	}
	svg_text(b, (f->left + f->right) / 2, f->bottom + 34, "middle", f->x.label);
	buf_printf(b, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">\n", f->left - 48,
	           (f->top + f->bottom) / 2);
	svg_text(b, 0, 0, "middle", f->y.label);
	buf_puts(b, "</g>\n");
}
