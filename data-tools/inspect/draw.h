/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples of a record as pictures, one a sample: every input channel and the target side by
 * side in a grid, row by row. Of volumes the middle slice is drawn. */
#ifndef DLX_DATA_TOOLS_DRAW_H
#define DLX_DATA_TOOLS_DRAW_H

#include "data/record.h"

struct draw_options {
	const char *dir;             /* made if missing */
	const char *samples;         /* see select.h; NULL: the first eight */
	int64_t zoom;                /* pixels a point; 0: so that a panel is about 400 wide */
	bool north_up;               /* row 0 at the bottom */
};

/* Writes DIR/sample-NNNNN.png and returns how many, or an error. E_DATA if there is nothing to
 * draw. */
int draw_samples(const struct record *r, const struct draw_options *o);

#endif
