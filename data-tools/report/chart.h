/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Curves as SVG: panels side by side and below each other,
 * axes with round numbers, one colour a curve. */
#ifndef DLX_DATA_TOOLS_CHART_H
#define DLX_DATA_TOOLS_CHART_H

#include <stdbool.h>

#include "base/buf.h"

struct curve {
	int colour, n;               /* colour: a number, see colour_class */
	const double *x, *y;         /* what is not finite is left out */
	const double *low, *high;    /* the edges of a band around the curve; NULL: none */
	bool dashed;
	int mark;                    /* the point that gets a circle; -1: none */
};
struct panel {
	const char *x_label, *y_label;
	double level;                /* a dotted line; NaN: none */
	bool log_y;                  /* values that are not positive are left out */
	int n;
	struct curve *curve;
};
/* panels in rows of `columns`; names[i] belongs to colour i. */
void chart_svg(struct buf *out, const struct panel *panels, int n, int columns,
               const char *const *names, int nnames);

#endif
