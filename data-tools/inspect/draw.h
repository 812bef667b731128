/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws each sample of a record as a picture: a grid, filled row by row, of panels with every input
 * channel and the target. Of a volume the middle slice is drawn. */
#ifndef DLX_DATA_TOOLS_DRAW_H
#define DLX_DATA_TOOLS_DRAW_H

#include "data/record.h"

struct draw_options {
	const char *dir;             /* folder for the pictures; created if missing */
	const char *samples;         /* see select.h; NULL: the first eight */
	int64_t zoom;                /* pixels per point; 0: such that a panel is about 400 pixels
	                              * wide */
	bool north_up;               /* row 0 at the bottom */
};

/* Writes DIR/sample-NNNNN.png and returns how many, or an error. E_DATA if there is nothing to
 * draw. */
int draw_samples(const struct record *r, const struct draw_options *o);

#endif
