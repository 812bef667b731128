/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Letters, digits and signs as dots, for texts in pictures of pixels. */
#ifndef DLX_REPORT_GLYPHS_H
#define DLX_REPORT_GLYPHS_H

#include <stdbool.h>

enum { GLYPH_WIDTH = 5, GLYPH_HEIGHT = 9, GLYPH_ABOVE = 7, GLYPH_STEP = 6 };

/* Whether the character has a dot in a column, from the left, and a row, from the top, of which the
 * last two are below the base line. What the font does not have is a box. */
bool glyph_dot(unsigned char c, int column, int row);

#endif
