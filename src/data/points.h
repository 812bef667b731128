/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The points on which equations hold: `points` of the config, named sets of them. A set is a region
 * of the space of some coordinates (a box, a disk, a polygon, their products and differences), the
 * faces of one, or what a record file has. Its points are drawn again every N steps. The
 * values of point i depend on (seed, name of the set, number of the draw, i) alone: ranks draw a
 * part each, a resumed run draws the same again.
 *
 *   points:
 *     inside: {box: {x: [-1, 1], t: [0, 1]}, count: 10000, draw: sobol, resample: 100}
 *     start: {box: {x: [-1, 1], t: 0}, count: 100}
 *     walls: {box: {x: {ends: [-1, 1]}, t: [0, 1]}, count: 100}
 *     plate: {box: {x: [0, 2], y: [0, 1]}, minus: {disk: {center: {x: 1, y: 0.5}, radius: 0.2}},
 *             count: 5000}
 *     rim: {faces: plate, count: 500}
 *     sensors: {record: sensors.dlx}
 *     us: {record: snapshots.dlx, sensors: u, realizations: 256, resample: 1}
 *     images: {samples: images.dlx, count: 64, resample: 1}
 *
 * A set may have realizations of a random field: the same points, R times. Those of a record are
 * its samples, which are drawn in the place of points.
 *
 * The points of the last set are whole samples, each with all values of its arrays. */
#ifndef DLX_DATA_POINTS_H
#define DLX_DATA_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/types.h"
#include "data/points_sequence.h"
#include "yaml/schema.h"

struct points_geometry;

/* An array of a record that is no coordinate: a value for each of its points, of one realization
 * after the other; or all values of each sample. */
struct point_values {
	const char *name;
	const double *v;                     /* NULL: of samples */
	int64_t each;                        /* values of a point: 1, or those of a sample */
	/* Of samples. */
	struct shape shape;                  /* of one */
	enum dtype dtype;
	const void *raw;                     /* (stored, shape) */
};

struct point_set {
	const char *name;
	struct loc loc;                      /* of the name */
	int naxes;                           /* of a record: set by points_open, as are count and what
	                                      * follows from it */
	const char *axis[POINTS_DIMS];       /* the coordinates' names, in the order written */
	int64_t count;                       /* points that a step has; 0: it cannot be drawn, but is
	                                      * there for `minus` and `faces` of others */
	bool normals;                        /* the points have normals: they are on faces */
	enum points_kind draw;
	int64_t realizations;                /* that a step has, each of `count` points; 0: not given */
	int64_t every;                       /* steps that a draw is for; 0: one draw for good */
	/* By a residual: a draw has `of` candidates, of which points_pick takes `count`. */
	const char *by;                      /* the residual, an expression; NULL: not so */
	const struct ynode *by_node;         /* where it is written */
	struct loc by_loc;
	int64_t of;
	/* Of a record. */
	const char *record;                  /* the file, or NULL */
	bool whole;                          /* its points are samples, without coordinates */
	const char *sensors;                 /* the field whose sensors they are, or NULL */
	int nwithin;                         /* of its points those within intervals of axes */
	struct point_range {
		const char *axis;
		struct loc loc;
		double low, high;
	} within[POINTS_DIMS];
	int64_t stored;                      /* points that it has; with realizations, each of them */
	int64_t samples;                     /* realizations that it has */
	int nvalues;
	const struct point_values *values;
	const double *coordinate[POINTS_DIMS];
	/* Private. */
	const struct points_geometry *geometry;
};

struct points {
	int n;
	struct point_set *set;
};

/* The keys of a set. */
extern const struct field points_fields[];

/* Reads the section, a map of names to sets, into *out, which is a's. E_CONFIG, with an entry for
 * every mistake at its place. */
int points_read(struct arena *a, const struct ynode *section, struct points *out);
/* Reads the records of the sets into a. The coordinates of a record are its arrays, or axes of its
 * places, with the name of an axis of another set or of one of `inputs`; its other arrays are
 * values. Of a set with `sensors` F the arrays are F_sensors, called F here, and F_sensors_AXIS,
 * called AXIS. E_CONFIG at the set if it has none of these, or fewer points, or realizations, than
 * are to be drawn, or if the points of realizations differ; errors of record_open. */
int points_open(struct arena *a, struct points *p, const struct strings *inputs);
/* The names of all axes of all sets, in the order in which they are written: the coordinates. In
 * a. */
struct strings points_axes(struct arena *a, const struct points *p);
/* NULL: there is none of this name. */
const struct point_set *points_find(const struct points *p, const char *name);

/* The range of an axis over all sets, of records once they are open; false: none says it. */
bool points_reach(const struct points *p, const char *axis, double *low, double *high);

/* How many points a draw has: count, or the candidates. */
int64_t points_in_draw(const struct point_set *s);
/* The number of the draw that a step uses. */
int64_t points_draw_at(const struct point_set *s, int64_t step);
/* The points first .. first + n - 1 of a draw: coordinates (n, naxes), and with normals (n, naxes)
 * the unit normals out of the region, or of a box's `ends`; NULL: not wanted. The cost is that of n
 * points; of a difference, that of all up to first + n. E_CONFIG if nearly nothing is left of a
 * difference. */
int points_draw(const struct point_set *s, uint64_t seed, int64_t draw, int64_t first, int64_t n,
                double *coordinates, double *normals);
/* The values of array k of a record at these points, `each` for each of them; of a set with
 * realizations, all points of the realizations first .. first + n - 1. Sets of one record that have
 * the same number of them have the same ones in the same draw. */
void points_values(const struct point_set *s, int k, uint64_t seed, int64_t draw, int64_t first,
                   int64_t n, double *out);

/* A place for points_pick to work in. */
struct point_key {
	double key;
	int64_t index;
};
/* Picks count of the candidates of a draw, without replacement, each next one with a probability
 * proportional to its score (at least 0; those of score 0 come last). chosen: their indices in
 * ascending order; work: room for all candidates. The picks are a function of seed, set, draw and
 * scores; they belong into a checkpoint, since scores cannot be computed again later. E_DIVERGED
 * at the set's `resample` if a score is not finite or is negative. */
int points_pick(const struct point_set *s, const double *score, uint64_t seed, int64_t draw,
                struct point_key *work, int64_t *chosen);

#endif
