/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws curves as SVG: panels in rows, axes with round numbers, and one colour for each curve. */
#ifndef DLX_DATA_TOOLS_CHART_H
#define DLX_DATA_TOOLS_CHART_H

#include <stdbool.h>

#include "base/buf.h"

struct curve {
	int colour, n;               /* number of its colour; number of points */
	const double *x, *y;         /* points; those that are not finite are not drawn */
	const double *low, *high;    /* lower and upper edge of a band around the curve; NULL: none */
	bool dashed;
	bool points;                 /* a circle at each point, and the band as a bar there */
	int mark;                    /* index of a point that is marked by a circle; -1: none */
};
struct panel {
	const char *x_label, *y_label;
	double level;                /* y value of a dotted line; NaN: none */
	bool diagonal;               /* a dotted line where y is x */
	bool from_zero;              /* both axes begin at 0 */
	bool log_y;                  /* logarithmic y axis; values that are not positive are not
	                              * drawn */
	int n;
	struct curve *curve;
};
struct chart_part {
	const struct panel *panel;
	int n;
	const char *const *names;    /* names[i] belongs to colour i */
	int nnames;
};
/* Parts below each other: panels in rows of `columns`, with the names below. */
void chart_parts(struct buf *out, const struct chart_part *part, int parts, int columns);

#endif
