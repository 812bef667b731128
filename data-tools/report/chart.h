/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws curves as SVG: panels in rows, axes with round numbers, and one colour for each curve. */
#ifndef DLX_DATA_TOOLS_CHART_H
#define DLX_DATA_TOOLS_CHART_H

#include <stdbool.h>

#include "base/buf.h"

struct curve {
	int colour, n;               /* number of its colour (colour_class); number of points */
	const double *x, *y;         /* points; those that are not finite are not drawn */
	const double *low, *high;    /* lower and upper edge of a band around the curve; NULL: none */
	bool dashed;
	int mark;                    /* index of a point that is marked by a circle; -1: none */
};
struct panel {
	const char *x_label, *y_label;
	double level;                /* y value of a dotted line; NaN: none */
	bool log_y;                  /* logarithmic y axis; values that are not positive are not
	                              * drawn */
	int n;
	struct curve *curve;
};
/* panels in rows of `columns`; names[i] belongs to colour i. */
void chart_svg(struct buf *out, const struct panel *panels, int n, int columns,
               const char *const *names, int nnames);

#endif
