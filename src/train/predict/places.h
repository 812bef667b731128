/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places at which networks of equations are evaluated: a grid of their coordinates, or the points
 * of a record. */
#ifndef DLX_TRAIN_PLACES_H
#define DLX_TRAIN_PLACES_H

#include "data/axes.h"
#include "plan/physics/physics.h"

struct places {
	int64_t n;
	int naxes;                       /* of a grid, the last axis fastest; 0: a list of points */
	struct place_axis {
		int coordinate;              /* its number among those of the networks */
		struct axis axis;
	} axis[MAXD];
	int ncoordinates;
	const double *coordinate[POINTS_DIMS];   /* of a list: n of each of the networks' */
};

/* map: {x: 201, t: [0, 1, 101]}, points along each coordinate once, over the range that the sets of
 * points have of it or [LOW, HIGH, POINTS]; its order is that of the axes. In a. E_USAGE at the
 * mistake. */
int places_of_grid(struct arena *a, const struct physics *p, const struct ynode *map,
                   struct places *out);
struct places_file {
	const char *path;                /* a record */
	const char *sensors;             /* of this field; NULL: all its arrays */
	bool random;                     /* its samples are realizations at the same places */
	struct loc loc;                  /* of errors */
};

/* The points of a record, with its other arrays as values of *set, all in a; of realizations
 * set->samples of them. E_DATA if a coordinate is missing; errors of points_open. */
int places_of_record(struct arena *a, const struct physics *p, const struct places_file *f,
                     const struct point_set **set, struct places *out);

/* Coordinate k of the networks at place i. */
double places_coordinate(const struct places *p, int k, int64_t i);

/* Places that are a grid, in any order. */
struct lattice {
	int naxes;
	int64_t count[MAXD];
	const double *value[MAXD];       /* ascending */
	const int64_t *place;            /* at each point of the grid, the last axis fastest */
};
/* false: they are none. Of one place along a coordinate the axis has one value. In a. */
bool lattice_of(struct arena *a, const struct places *p, struct lattice *out);
/* What values v at the places are at a point, by straight lines along each axis; NaN outside. */
double lattice_at(const struct lattice *l, const double *v, const double *point);

#endif
