/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Regions of space and their boundaries. A shape is a product of factors, each over one or two
 * axes. A region is a shape minus other regions. Maps from the unit cube to a shape, or to the
 * boundaries of shapes, keep uniform points uniform; the caller must reject points that are not in
 * the region. Private to data/points*. */
#ifndef DLX_DATA_POINTS_REGION_H
#define DLX_DATA_POINTS_REGION_H

#include <stdint.h>

#include "data/points_polygon.h"
#include "data/points_sequence.h"

enum factor_kind {
	FACTOR_INTERVAL,                     /* [low, high] */
	FACTOR_VALUE,                        /* the single value low */
	FACTOR_ENDS,                         /* the two values low and high */
	FACTOR_FREE,                         /* in a region that is subtracted: any value */
	FACTOR_DISK,
	FACTOR_POLYGON
};

struct points_factor {
	enum factor_kind kind;
	int axis[2];                         /* axes of the set that it is over; disk and polygon have
	                                      * two */
	double low, high;                    /* FACTOR_FREE: the range in the region from which it is
	                                      * subtracted */
	double center[2], radius;
	const struct points_polygon *polygon;
};

/* Axes are numbered in the order of the factors. */
struct points_region {
	int naxes;
	const char *axis[POINTS_DIMS];
	int nfactors;
	struct points_factor factor[POINTS_DIMS];
	int nminus;
	const struct points_region **minus;  /* regions to subtract, extended to this region's axes by
	                                      * points_region_extend */
};

/* The number of the axis of this name, or -1. */
int points_region_axis(const struct points_region *r, const char *name);
/* A copy of r over the axes of `whole`, which include all of r's; axes that r lacks are free.
 * Allocated in a. */
struct points_region *points_region_extend(struct arena *a, const struct points_region *r,
                                           const struct points_region *whole);
/* The bounding box of r along an axis. */
void points_region_reach(const struct points_region *r, int axis, double *low, double *high);
bool points_region_contains(const struct points_region *r, const double *x);
/* Whether x is in one of the regions that are subtracted from r. */
bool points_region_lacks(const struct points_region *r, const double *x);

/* The number of shapes that r is made of: its own, and those of the subtracted regions. */
int points_region_shapes(const struct points_region *r);

/* The number of coordinates of the unit cube that factor f or the shape of r uses, and the map from
 * u to x. FACTOR_ENDS uses one coordinate: each half of its range selects one end. */
int points_factor_dims(const struct points_factor *f);
int points_region_dims(const struct points_region *r);
void points_region_map(const struct points_region *r, const double *u, double *x);

/* --- boundaries --- */

/* A face of a shape: for one factor an end of the interval, the circle of the disk or an edge of
 * the polygon, times the whole of all other factors. */
struct points_face {
	const struct points_region *shape;
	int order;                           /* index of the shape among the region's shapes */
	int factor, part;
	double until;                        /* cumulative area, this face included */
};

struct points_faces {
	const struct points_region *region;
	int nshapes;
	const struct points_region **shape;  /* the region's shape and all subtracted shapes, at any
	                                      * depth */
	int n;
	const struct points_face *face;
};

/* The faces of all shapes of r. None of the factors may be FACTOR_VALUE or FACTOR_ENDS. Borrows
 * r. */
struct points_faces points_faces_of(struct arena *a, const struct points_region *r);
/* The number of coordinates of the unit cube that the faces use: one fewer than axes, at least
 * one. */
int points_faces_dims(const struct points_faces *f);
/* Maps the unit cube to the faces, with equal density: the point x, and the normal out of the
 * face's shape. The first coordinate of u selects the face. Returns the face's number. */
int points_faces_map(const struct points_faces *f, const double *u, double *x, double *normal);
/* Whether x, on face `number`, belongs to the boundary of the region; the normal is turned to point
 * out of the region. If faces of several shapes coincide, the points belong to the first face. */
bool points_faces_hold(const struct points_faces *f, int number, const double *x, double *normal);

#endif
