/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A simple polygon: points inside of it by area, and its edges. Private to data/points*. */
#ifndef DLX_DATA_POINTS_POLYGON_H
#define DLX_DATA_POINTS_POLYGON_H

#include <stdbool.h>

#include "base/arena.h"

#define POLYGON_MOST 4096                /* corners */

struct trapezoid {
	double left, right;                  /* x */
	double low[2], high[2];              /* y at left and right */
	double until;                        /* the area of all up to its end */
};

struct points_polygon {
	int n;                               /* corners, counter-clockwise */
	const double (*corner)[2];
	int ntrapezoids;
	const struct trapezoid *trapezoid;   /* what it is cut into, from left to right */
	double area;
	double low[2], high[2];              /* the box around it */
};

/* Two edges that touch other than at their common corner, in the numbering of the given corners
 * (edge i is from corner i to the next one); false: none do. An edge without length touches. */
bool points_polygon_crosses(int n, const double (*corner)[2], int edge[2]);
/* Of 3 to POLYGON_MOST corners in any direction of rotation, whose edges do not cross; copied. */
struct points_polygon *points_polygon_new(struct arena *a, int n, const double (*corner)[2]);
bool points_polygon_contains(const struct points_polygon *p, const double x[2]);
/* The unit square onto the polygon; equal areas stay equal. */
void points_polygon_map(const struct points_polygon *p, const double u[2], double x[2]);
/* Edge e: its length, and its point at the part u of it with the unit normal out of the polygon. */
double points_polygon_edge(const struct points_polygon *p, int e);
void points_polygon_on_edge(const struct points_polygon *p, int e, double u, double x[2],
                            double normal[2]);

#endif
