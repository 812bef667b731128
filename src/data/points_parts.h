/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of points.h share. Private to data/points*. */
#ifndef DLX_DATA_POINTS_PARTS_H
#define DLX_DATA_POINTS_PARTS_H

#include "data/points.h"
#include "data/points_region.h"

/* The geometry of a set that is not from a record: the product of the faces of a region, if any,
 * and a shape, minus the regions that are subtracted from both. The first coordinates of the unit
 * cube are mapped to the faces. */
struct points_geometry {
	struct points_region body;           /* the shape over all axes; the axes of the faces have no
	                                      * factor */
	bool on_faces;
	struct points_faces faces;
	int faces_at;                        /* number of the first axis of the faces; the others
	                                      * follow */
	bool rejects;                        /* rejection sampling is needed: some points of the unit
	                                      * cube are mapped outside the set */
	int dims;                            /* dimensions of the unit cube */
	int64_t distinct;                    /* number of different points if the set is finite (ends of
	                                      * intervals, single points); 0: infinitely many */
	int64_t grid[POINTS_DIMS];           /* for a grid: points along each dimension */
};

/* --- reading --- */

struct points_shape_config {
	const struct ynode *box;
	struct points_disk_config {
		const struct ynode *center;
		double radius;
	} disk;
	struct points_polygon_config {
		struct strings axes;
		const struct ynode *points;
	} polygon;
};
extern const struct field points_disk_fields[], points_polygon_fields[];

/* Letters, digits and '_', as expressions have names. */
bool points_is_name(const char *s);
/* Reads a coordinate into *out; `what` is its name in messages. */
int points_number(const struct ynode *n, const char *what, double *out);
/* Adds an axis; *out: its number. E_CONFIG if the name is not valid or exists already. */
int points_add_axis(struct points_region *r, const char *name, const struct loc *loc, int *out);
/* Adds the factors of the key `key` of a set if it is one of box, disk and polygon. */
int points_read_shape(struct arena *a, const struct points_shape_config *c, const struct ypair *key,
                      struct points_region *r);

#define POINTS_MOST 1000000000           /* most points of a set, or candidates */
/* Reads the count of s and, for a grid, the points along each axis. count NULL: all points of a
 * record, or of a finite geometry; otherwise 0. */
int points_read_count(struct arena *a, const struct ynode *count, struct point_set *s,
                      struct points_geometry *g);
/* Checks that enough is left of a difference of regions for rejection sampling: one point in some
 * thousands of candidates. */
int points_check(const struct point_set *s);

#endif
