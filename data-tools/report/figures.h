/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The panels of the pictures, of dlx-report --svg and of the page. */
#ifndef DLX_DATA_TOOLS_FIGURES_H
#define DLX_DATA_TOOLS_FIGURES_H

#include "data-tools/report/chart.h"
#include "data-tools/report/report.h"

#define FIGURE_PANELS 4

struct figure {
	int n;                       /* number of panels; 0: there is nothing to draw */
	struct panel panel[FIGURE_PANELS];
	int nnames;
	const char **names;          /* by colour */
};

/* The loss of the steps with that of the validations, and the drawn series, against time and
 * against samples; a colour for each row of the table. */
struct figure figure_curves(const struct report *o);
/* The rate of steps against time. */
struct figure figure_rates(const struct report *o);
/* Speed-up, statistical efficiency, their product and the learning speed-up over ranks, with the
 * spread over seeds; a colour for rows that differ only in their ranks. Without runs on different
 * numbers of ranks it has no panels. */
struct figure figure_ranks(const struct report *o);
/* Panels in two columns, with the names below. */
void figure_svg(struct buf *out, const struct figure *f);

#endif
