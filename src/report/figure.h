/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figures of fields: panels in rows, each with labelled axes. A panel shows curves over one
 * coordinate, or a map over two coordinates with a colour bar. */
#ifndef DLX_REPORT_FIGURE_H
#define DLX_REPORT_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

struct figure_curve {
	const char *name;            /* text in the panel's legend; NULL: none */
	int colour;                  /* a number, see colour_class */
	bool dashed;
	int n;
	const double *x, *y;         /* points that are not finite are left out */
	const double *low, *high;    /* lower and upper edge of a band around the curve; NULL: none */
};

struct figure_map {
	int columns, rows;           /* size of the grid of values; the grid is uniform */
	double x[2], y[2];           /* the coordinates of the first and the last column, row */
	const double *v;             /* the value in column i of row k is v[i * x_step + k * y_step] */
	int64_t x_step, y_step;
	double low, high;            /* range of values of the colour scale */
	bool is_signed;              /* blue below 0, red above; high is -low then */
};

struct figure_panel {
	const char *title, *x_label;
	int n;
	const struct figure_curve *curve;
	const struct figure_map *map;    /* NULL: curves; a panel with neither is left empty */
	const char *y_label;             /* of a map */
};

/* Writes the panels, `columns` in a row, to a file (report/drawing.h). E_DATA, E_CANTCREATE,
 * E_IO. */
int figure_write(const char *path, const struct figure_panel *panels, int n, int columns);

#endif
