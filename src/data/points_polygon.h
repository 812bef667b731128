/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Uniform sampling of a simple polygon: of its interior, and of its edges. Private to
 * data/points*. */
#ifndef DLX_DATA_POINTS_POLYGON_H
#define DLX_DATA_POINTS_POLYGON_H

#include <stdbool.h>

#include "base/arena.h"

#define POLYGON_MOST 4096                /* most corners of a polygon */

struct trapezoid {
	double left, right;                  /* x */
	double low[2], high[2];              /* y of the lower and upper side, at left and at right */
	double until;                        /* cumulative area, this trapezoid included */
};

struct points_polygon {
	int n;                               /* corners, counter-clockwise */
	const double (*corner)[2];
	int ntrapezoids;
	const struct trapezoid *trapezoid;   /* decomposition of the polygon, from left to right */
	double area;
	double low[2], high[2];              /* bounding box */
};

/* Finds two edges that touch other than at a common corner; edge i is from given corner i to the
 * next one. Returns false if there are none. An edge of length 0 counts as touching. */
bool points_polygon_crosses(int n, const double (*corner)[2], int edge[2]);
/* A polygon with 3 to POLYGON_MOST corners, in either direction of rotation, whose edges do not
 * cross. The corners are copied. */
struct points_polygon *points_polygon_new(struct arena *a, int n, const double (*corner)[2]);
bool points_polygon_contains(const struct points_polygon *p, const double x[2]);
/* Maps the unit square to the polygon; equal areas are mapped to equal areas. */
void points_polygon_map(const struct points_polygon *p, const double u[2], double x[2]);
/* points_polygon_edge: the length of edge e. points_polygon_on_edge: the point at the fraction u of
 * the edge, and the unit normal out of the polygon. */
double points_polygon_edge(const struct points_polygon *p, int e);
void points_polygon_on_edge(const struct points_polygon *p, int e, double u, double x[2],
                            double normal[2]);

#endif
