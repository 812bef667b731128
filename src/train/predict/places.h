/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places, that is points of the domain, at which networks of equations are evaluated: a grid over
 * the coordinates, or the points of a record. */
#ifndef DLX_TRAIN_PLACES_H
#define DLX_TRAIN_PLACES_H

#include "data/axes.h"
#include "plan/physics/physics.h"

struct places {
	int64_t n;
	int naxes;                       /* axes of a grid, whose places are stored with the last axis
	                                  * fastest; 0: the places are a list of points */
	struct place_axis {
		int coordinate;              /* index of the axis among the networks' coordinates */
		struct axis axis;
	} axis[MAXD];
	int ncoordinates;
	const double *coordinate[POINTS_DIMS];   /* for a list, the n values of each coordinate */
};

/* Makes the places of a grid from a map such as {x: 201, t: [0, 1, 101]}, which has each coordinate
 * once, in the order of the axes. A value is the number of points, over the range of the config's
 * sets of points, or [LOW, HIGH, POINTS]. Lists are in arena a. E_USAGE at the place of the
 * mistake. */
int places_of_grid(struct arena *a, const struct physics *p, const struct ynode *map,
                   struct places *out);
struct places_file {
	const char *path;                /* a record */
	const char *sensors;             /* name of the field whose sensors are the points; NULL: all
	                                  * points and arrays of the record */
	bool random;                     /* the record's samples are realizations of random fields at
	                                  * the same places */
	struct loc loc;                  /* place in the text that errors report */
};

/* Reads the points of a record; the other arrays become the values of *set, with set->samples
 * realizations if f->random. All is in arena a. E_DATA if a coordinate is missing; errors of
 * points_open. */
int places_of_record(struct arena *a, const struct physics *p, const struct places_file *f,
                     const struct point_set **set, struct places *out);

/* The value of the networks' coordinate k at place i. */
double places_coordinate(const struct places *p, int k, int64_t i);

/* Places that form a grid, stored in any order. */
struct lattice {
	int naxes;
	int64_t count[MAXD];
	const double *value[MAXD];       /* coordinates along each axis, ascending */
	const int64_t *place;            /* for each point of the grid, last axis fastest, the index of
	                                  * its place */
};
/* Finds the grid that the places form; false if they form none. A coordinate in which all places
 * agree gives an axis of one value. Lists are in arena a. */
bool lattice_of(struct arena *a, const struct places *p, struct lattice *out);
/* Interpolates the values v, given at the places, linearly along each axis to a point; NaN outside
 * the grid. */
double lattice_at(const struct lattice *l, const double *v, const double *point);

#endif
