/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What pictures in SVG are made of: texts, lines, and a frame of two axes with round numbers. */
#ifndef DLX_REPORT_SVG_H
#define DLX_REPORT_SVG_H

#include <stdbool.h>

#include "base/buf.h"

/* A white page, on which all else is put. */
void svg_begin(struct buf *b, int width, int height);
void svg_end(struct buf *b);
/* anchor: start, middle or end. Any text; what XML cannot hold becomes '?'. */
void svg_text(struct buf *b, double x, double y, const char *anchor, const char *text);
/* A text as it is between tags and in attributes. */
void svg_escaped(struct buf *b, const char *text);
/* style: attributes. */
void svg_line(struct buf *b, double x1, double y1, double x2, double y2, const char *style);
void svg_rect(struct buf *b, double x, double y, double width, double height, const char *style);

struct svg_axis {
	double low, high, step;
	const char *label;
	bool log;                    /* logarithmic: low and high are positive, or NaN */
};
/* Chooses the step: 1, 2 or 5 times a power of ten, about five of them from low to high. Where
 * high is not above low, or NaN, there is room for one. */
void svg_axis_step(struct svg_axis *a);
/* The same, and the axis begins and ends with a whole step; a logarithmic one with 1, 2 or 5 times
 * a power of ten, and its step is not used. */
void svg_axis_round(struct svg_axis *a);

/* Where the axes are on the page. */
struct svg_frame {
	double left, right, top, bottom;
	struct svg_axis x, y;
};
double svg_x(const struct svg_frame *f, double v);
double svg_y(const struct svg_frame *f, double v);
/* A grid with numbers and labels. */
void svg_axes(struct buf *b, const struct svg_frame *f);

#endif
