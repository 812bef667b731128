/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A page that texts, lines, areas and small pictures are put on, one upon the other, and that is
 * written as SVG or, with smooth edges, as PNG. Lengths and places are in units, x to the right, y
 * downwards; in SVG one is a pixel, in a PNG two. */
#ifndef DLX_REPORT_DRAWING_H
#define DLX_REPORT_DRAWING_H

#include <stdbool.h>
#include <stdint.h>

struct drawing;

/* A white page for a file of this name, which ends in .svg or .png; drawing_free. E_DATA if it is
 * too large. */
int drawing_new(struct drawing **out, const char *path, int width, int height);
void drawing_free(struct drawing *d);            /* NULL is fine */
/* Whether a name ends as that of a drawing. */
bool drawing_is(const char *path);
/* The file, whole or not at all. E_CANTCREATE, E_IO. */
int drawing_write(struct drawing *d);

enum drawing_anchor { DRAWING_START, DRAWING_MIDDLE, DRAWING_END };
/* Black, y being the base line; letters are about 8 high. */
void drawing_text(struct drawing *d, double x, double y, enum drawing_anchor at, const char *text);
/* From bottom to top, with its middle at y. */
void drawing_text_up(struct drawing *d, double x, double y, const char *text);

struct drawing_pen {
	uint8_t rgb[3];
	double width;
	bool dashed;
};
/* A line through n points. */
void drawing_line(struct drawing *d, const struct drawing_pen *pen, int n, const double *x,
                  const double *y);
/* What a closed line through n points encloses, of this opacity from 0 to 1. */
void drawing_area(struct drawing *d, const uint8_t rgb[3], double opacity, int n, const double *x,
                  const double *y);
/* rows x columns RGB pixels, the top row first, as rectangles of one colour each in the given
 * one. */
void drawing_pixels(struct drawing *d, double x, double y, double width, double height, int columns,
                    int rows, const uint8_t *rgb);

#endif
