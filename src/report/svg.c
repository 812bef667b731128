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

/* The nearest of 1, 2 and 5 times a power of ten that is not above v, or not below. */
static double round_125(double v, bool up)
{
	static const double digits[] = { 1, 2, 5, 10 };
	const double unit = pow(10, floor(log10(v))), slack = 1e-9;
	for (int i = 0; up && i < 3; i++)
		if (digits[i] * unit >= v * (1 - slack))
			return digits[i] * unit;
	for (int i = 3; !up && i >= 0; i--)
		if (digits[i] * unit <= v * (1 + slack))
			return digits[i] * unit;
	return up ? 10 * unit : unit;
}

static void round_log(struct svg_axis *a)
{
	double v = a->low > 0 && isfinite(a->low) ? a->low : 1;
	a->low = round_125(v, false);
	a->high = round_125(a->high > v ? a->high : v * 2, true);
}

void svg_axis_round(struct svg_axis *a)
{
	if (a->log) {
		round_log(a);
		return;
	}
	svg_axis_step(a);
	a->low = a->step * floor(a->low / a->step);
	a->high = a->step * ceil(a->high / a->step);
}

static double place(const struct svg_axis *a, double v, double from, double to)
{
	double share = a->log ? log(v / a->low) / log(a->high / a->low) :
	               (v - a->low) / (a->high - a->low);
	return from + share * (to - from);
}

double svg_x(const struct svg_frame *f, double v)
{
	return place(&f->x, v, f->left, f->right);
}

double svg_y(const struct svg_frame *f, double v)
{
	return place(&f->y, v, f->bottom, f->top);
}

void svg_axis_widen(struct svg_axis *a, double v)
{
	if (!isfinite(v) || (a->log && v <= 0))
		return;
	a->low = fmin(a->low, v);
	a->high = fmax(a->high, v);
}

const char *svg_axis_number(const struct svg_axis *a, double v, char out[32])
{
	snprintf(out, 32, "%.6g", !a->log && fabs(v) < a->step / 1e6 ? 0 : v);
	return out;
}

/* The next grid line after v. On a logarithmic axis, grid lines are the powers of ten; if it spans
 * at most two of them, also 2 and 5 times these; if it spans many, only some of them. */
static double next_line(const struct svg_axis *a, double v)
{
	if (!a->log)
		return v + a->step;
	const double decades = log10(a->high / a->low);
	if (decades <= 2)
		return round_125(v * 1.5, true);
	const double power = ceil(decades / 8);
	return pow(10, floor(log10(v) + 1e-9) + power);
}

static double first_line(const struct svg_axis *a)
{
	if (!a->log || log10(a->high / a->low) <= 2)
		return a->low;
	return pow(10, ceil(log10(a->low) - 1e-9));
}

bool svg_axis_beyond(const struct svg_axis *a, double v)
{
	return a->log ? v > a->high * (1 + 1e-9) : v > a->high + a->step / 1e6;
}

void svg_axes(struct buf *b, const struct svg_frame *f)
{
	static const char grid[] = "stroke=\"#ddd\"";
	char text[32];
	for (double v = first_line(&f->x); !svg_axis_beyond(&f->x, v); v = next_line(&f->x, v)) {
		svg_line(b, svg_x(f, v), f->top, svg_x(f, v), f->bottom, grid);
		svg_text(b, svg_x(f, v), f->bottom + 16, "middle", svg_axis_number(&f->x, v, text));
	}
	for (double v = first_line(&f->y); !svg_axis_beyond(&f->y, v); v = next_line(&f->y, v)) {
		svg_line(b, f->left, svg_y(f, v), f->right, svg_y(f, v), grid);
		svg_text(b, f->left - 6, svg_y(f, v) + 4, "end",
		         svg_axis_number(&f->y, v, text));
	}
	svg_text(b, (f->left + f->right) / 2, f->bottom + 34, "middle", f->x.label);
	buf_printf(b, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">\n", f->left - 48,
	           (f->top + f->bottom) / 2);
	svg_text(b, 0, 0, "middle", f->y.label);
	buf_puts(b, "</g>\n");
}
