/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Curves as SVG: panels side by side and below each other,
 * axes with round numbers, one colour a curve. */
#ifndef DLX_DATA_TOOLS_CHART_H
#define DLX_DATA_TOOLS_CHART_H

#include "base/buf.h"

struct curve {
	int colour, n;               /* colour: a number, see colour_class */
	const double *x, *y;         /* what is not finite is left out */
};
struct panel {
	const char *x_label, *y_label;
	double level;                /* a dashed line; NaN: none */
	int n;
	const struct curve *curve;
};
/* panels in rows of `columns`; names[i] belongs to colour i. */
void chart_svg(struct buf *out, const struct panel *panels, int n, int columns,
               const char *const *names, int nnames);

#endif
