/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A page on which texts, lines, areas and small pictures are drawn, later ones over earlier ones.
 * It is written as SVG or, with anti-aliasing, as PNG. Lengths and positions are in units, x to the
 * right, y downwards; a unit is one pixel in SVG and two in PNG. */
#ifndef DLX_REPORT_DRAWING_H
#define DLX_REPORT_DRAWING_H

#include <stdbool.h>
#include <stdint.h>

struct drawing;

/* Begins a white page for the file at path, whose name ends in .svg or .png. Free it by
 * drawing_free. E_DATA if it is too large. */
int drawing_new(struct drawing **out, const char *path, int width, int height);
void drawing_free(struct drawing *d);            /* NULL is fine */
/* Whether the path ends in .svg or .png. */
bool drawing_is(const char *path);
/* Writes the file, completely or not at all. E_CANTCREATE, E_IO. */
int drawing_write(struct drawing *d);

enum drawing_anchor { DRAWING_START, DRAWING_MIDDLE, DRAWING_END };
/* Draws black text with its base line at y; letters are about 8 units high. */
void drawing_text(struct drawing *d, double x, double y, enum drawing_anchor at, const char *text);
/* Draws text that runs from bottom to top, centred at y. */
void drawing_text_up(struct drawing *d, double x, double y, const char *text);

struct drawing_pen {
	uint8_t rgb[3];
	double width;
	bool dashed;
};
/* Draws a polyline through n points. */
void drawing_line(struct drawing *d, const struct drawing_pen *pen, int n, const double *x,
                  const double *y);
/* Fills the polygon with n corners, with an opacity from 0 to 1. */
void drawing_area(struct drawing *d, const uint8_t rgb[3], double opacity, int n, const double *x,
                  const double *y);
/* Draws rows x columns RGB pixels, top row first, each as a filled rectangle; together they fill
 * the given rectangle. */
void drawing_pixels(struct drawing *d, double x, double y, double width, double height, int columns,
                    int rows, const uint8_t *rgb);

#endif
