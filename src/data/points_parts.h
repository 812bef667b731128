/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of points.h share. Private to data/points*. */
#ifndef DLX_DATA_POINTS_PARTS_H
#define DLX_DATA_POINTS_PARTS_H

#include "data/points.h"
#include "data/points_region.h"

/* A set that is no record: the product of the faces of a region, if it has some, and a shape, less
 * what is taken away from both. Coordinates of the unit cube go to the faces first. */
struct points_geometry {
	struct points_region body;           /* of all axes; no factor for those of faces */
	bool on_faces;
	struct points_faces faces;
	int faces_at;                        /* the first axis of faces; the others follow */
	bool rejects;                        /* not all of the unit cube is mapped into the set */
	int dims;                            /* of the unit cube */
	int64_t distinct;                    /* points that there are, the ends of intervals or one; 0:
	                                      * any number */
	int64_t grid[POINTS_DIMS];           /* of a grid: points along each dimension */
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
/* A coordinate into *out; what names it in the message. */
int points_number(const struct ynode *n, const char *what, double *out);
/* Adds an axis; E_CONFIG if it is no name, or there already. The number is *out. */
int points_add_axis(struct points_region *r, const char *name, const struct loc *loc, int *out);
/* Adds the factors that key `key` of a set stands for, if it is one of box, disk and polygon. */
int points_read_shape(struct arena *a, const struct points_shape_config *c, const struct ypair *key,
                      struct points_region *r);

/* Reads the record of a set of samples. */
int points_open_samples(struct arena *a, struct point_set *s);

#define POINTS_MOST 1000000000           /* points of a set, and candidates */
/* The count of s, and of a grid its points along each axis; count NULL: all points of a record, or
 * those of a geometry of single points; else 0. */
int points_read_count(struct arena *a, const struct ynode *count, struct point_set *s,
                      struct points_geometry *g);
/* Whether enough is left of a difference that it can be drawn: one point in some thousands of
 * candidates. */
int points_check(const struct point_set *s);

#endif
