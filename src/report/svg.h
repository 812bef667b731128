/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elements of SVG pictures: texts, lines, and a frame of two axes with round numbers. */
#ifndef DLX_REPORT_SVG_H
#define DLX_REPORT_SVG_H

#include <stdbool.h>

#include "base/buf.h"

/* Begins a white page, which all other elements are drawn on. */
void svg_begin(struct buf *b, int width, int height);
void svg_end(struct buf *b);
/* Draws a text. anchor: start, middle or end. Characters that XML does not allow become '?'. */
void svg_text(struct buf *b, double x, double y, const char *anchor, const char *text);
/* Appends a text with XML's special characters escaped, for content and attributes. */
void svg_escaped(struct buf *b, const char *text);
/* Draws a line or rectangle. style: XML attributes. */
void svg_line(struct buf *b, double x1, double y1, double x2, double y2, const char *style);
void svg_rect(struct buf *b, double x, double y, double width, double height, const char *style);

struct svg_axis {
	double low, high, step;
	const char *label;
	bool log;                    /* logarithmic: low and high are positive, or NaN */
};
/* Chooses the step: 1, 2 or 5 times a power of ten, about five steps from low to high. If high is
 * NaN or not above low, the range is first widened to a length of one. */
void svg_axis_step(struct svg_axis *a);
/* As svg_axis_step, and extends the axis to whole steps at both ends; a logarithmic axis is
 * extended to 1, 2 or 5 times a power of ten, and its step is not used. */
void svg_axis_round(struct svg_axis *a);
/* Extends the range to v, unless that is not finite, or not positive on a logarithmic axis. */
void svg_axis_widen(struct svg_axis *a, double v);
/* Whether v is above the range by more than rounding. */
bool svg_axis_beyond(const struct svg_axis *a, double v);
/* The text of v as a number at the axis; returns out. */
const char *svg_axis_number(const struct svg_axis *a, double v, char out[32]);

/* The position of the axes on the page. */
struct svg_frame {
	double left, right, top, bottom;
	struct svg_axis x, y;
};
double svg_x(const struct svg_frame *f, double v);
double svg_y(const struct svg_frame *f, double v);
/* Draws the grid, the numbers and the labels. */
void svg_axes(struct buf *b, const struct svg_frame *f);

#endif
