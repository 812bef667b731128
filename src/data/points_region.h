/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Regions of space and their boundaries. A shape is a product of factors over one or two axes; a
 * region is a shape without what other regions cover. The unit cube is mapped to a shape, or to
 * the boundaries of shapes, by area; what is not of the region is left to the caller to reject.
 * Private to data/points*. */
#ifndef DLX_DATA_POINTS_REGION_H
#define DLX_DATA_POINTS_REGION_H

#include <stdint.h>

#include "data/points_polygon.h"
#include "data/points_sequence.h"

enum factor_kind {
	FACTOR_INTERVAL,                     /* [low, high] */
	FACTOR_VALUE,                        /* low */
	FACTOR_ENDS,                         /* low and high alone */
	FACTOR_FREE,                         /* of a region that is taken away: any value */
	FACTOR_DISK,
	FACTOR_POLYGON
};

struct points_factor {
	enum factor_kind kind;
	int axis[2];                         /* numbers of axes of the set; the second of disk and
	                                      * polygon alone */
	double low, high;                    /* FACTOR_FREE: what the region around it has */
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
	const struct points_region **minus;  /* with this one's axes, by points_region_extend */
};

/* The number of the axis of this name, or -1. */
int points_region_axis(const struct points_region *r, const char *name);
/* r with the axes of `whole`, which has all of r's: those that r lacks are free. In a. */
struct points_region *points_region_extend(struct arena *a, const struct points_region *r,
                                           const struct points_region *whole);
/* The box around r along an axis. */
void points_region_reach(const struct points_region *r, int axis, double *low, double *high);
bool points_region_contains(const struct points_region *r, const double *x);
/* Whether x is in one of the regions that are taken away from r. */
bool points_region_lacks(const struct points_region *r, const double *x);

/* The shapes that r is made of: its own, and those of the regions taken away. */
int points_region_shapes(const struct points_region *r);

/* How many coordinates of the unit cube factor f takes, and the shape of r; and the map: u to x.
 * Ends take one, whose halves choose between them. */
int points_factor_dims(const struct points_factor *f);
int points_region_dims(const struct points_region *r);
void points_region_map(const struct points_region *r, const double *u, double *x);

/* --- boundaries --- */

/* A face of a shape: an end of one interval, the circle of one disk or one edge of a polygon, and
 * all of the other factors. */
struct points_face {
	const struct points_region *shape;
	int order;                           /* which of the region's shapes that is */
	int factor, part;
	double until;                        /* the area of all up to this one */
};

struct points_faces {
	const struct points_region *region;
	int nshapes;
	const struct points_region **shape;  /* r, and what is taken away from it at any depth */
	int n;
	const struct points_face *face;
};

/* The faces of all shapes of r, none of whose factors is a value or ends. Borrows r. */
struct points_faces points_faces_of(struct arena *a, const struct points_region *r);
/* How many coordinates of the unit cube faces take: one fewer than axes, at least one. */
int points_faces_dims(const struct points_faces *f);
/* The unit cube onto the faces, by area: x, and the normal out of the shape of the face. The first
 * of u chooses the face. Returns its number. */
int points_faces_map(const struct points_faces *f, const double *u, double *x, double *normal);
/* Whether x, on face `number`, belongs to the boundary of the region; the normal is turned to point
 * out of it. A piece of the boundary that faces of several shapes share belongs to the first. */
bool points_faces_hold(const struct points_faces *f, int number, const double *x, double *normal);

#endif
