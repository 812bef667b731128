/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A bitmap font, for text in PNG pictures. */
#ifndef DLX_REPORT_GLYPHS_H
#define DLX_REPORT_GLYPHS_H

#include <stdbool.h>

enum { GLYPH_WIDTH = 5, GLYPH_HEIGHT = 9, GLYPH_ABOVE = 7, GLYPH_STEP = 6 };

/* Whether the character has a dot at a column (from the left) and a row (from the top; the last two
 * rows are below the base line). Characters that the font lacks are drawn as a box. */
bool glyph_dot(unsigned char c, int column, int row);

#endif
