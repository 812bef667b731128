/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of points at which equations are evaluated: section `points` of the config. A set is a
 * region of the space of some coordinates (a box, a disk, a polygon, their products and
 * differences), the faces of a region, or the points of a record file. Its points are drawn again
 * every N steps. Point i depends only on (seed, name of the set, number of the draw, i): each rank
 * draws its part, and a resumed run draws the same points again.
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
 * A set may have R realizations of a random field at the same points. In a record the realizations
 * are its samples; then a draw selects realizations, not points.
 *
 * In a set with `samples` (the last one above), each point is a whole sample, with all values of
 * its arrays. */
#ifndef DLX_DATA_POINTS_H
#define DLX_DATA_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/types.h"
#include "data/points_sequence.h"
#include "yaml/schema.h"

struct points_geometry;

/* An array of a record that is not a coordinate. It has one value for each point, realization after
 * realization; or, in a set of samples, all values of each sample. */
struct point_values {
	const char *name;
	const double *v;                     /* NULL in a set of samples */
	int64_t each;                        /* number of values of a point (1) or of a sample */
	/* Only in a set of samples: */
	struct shape shape;                  /* shape of one sample */
	enum dtype dtype;
	const void *raw;                     /* (stored, shape) */
};

struct point_set {
	const char *name;
	struct loc loc;                      /* location of the name in the config */
	int naxes;                           /* number of axes. For a record, points_open sets it, and
	                                      * count and what depends on it */
	const char *axis[POINTS_DIMS];       /* names of the coordinates, in the order of the config */
	int64_t count;                       /* number of points in a step; 0: only `minus` and `faces`
	                                      * of other sets use this set */
	bool normals;                        /* the points lie on faces and have normals */
	enum points_kind draw;
	int64_t realizations;                /* realizations in a step, each of `count` points; 0: not
	                                      * given */
	int64_t every;                       /* number of steps that use the same draw; 0: one draw for
	                                      * the whole run */
	/* Adaptive sampling by a residual: a draw has `of` candidates, of which points_pick selects
	 * `count`. */
	const char *by;                      /* the residual, an expression; NULL: no adaptive
	                                      * sampling */
	const struct ynode *by_node;         /* its YAML node */
	struct loc by_loc;
	int64_t of;
	/* Only in a set from a record: */
	const char *record;                  /* the file, or NULL */
	bool whole;                          /* each point is a whole sample, without coordinates */
	const char *sensors;                 /* name of the field that is measured at these points, or
	                                      * NULL */
	int nwithin;                         /* number of intervals; only points within all of them are
	                                      * used */
	struct point_range {
		const char *axis;
		struct loc loc;
		double low, high;
	} within[POINTS_DIMS];
	int64_t stored;                      /* number of stored points; with realizations, of each of
	                                      * them */
	int64_t samples;                     /* number of stored realizations */
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

/* Reads the section, a map of names to sets, into *out, allocated in a. E_CONFIG, with an entry and
 * location for every mistake. */
int points_read(struct arena *a, const struct ynode *section, struct points *out);
/* Reads the records of the sets into a. An array of a record, or an axis of its positions, is a
 * coordinate if it has the name of an axis of another set or of one of `inputs`; other arrays are
 * values. In a set with `sensors: F`, the array F_sensors is called F, and the coordinates
 * F_sensors_AXIS are called AXIS. E_CONFIG at the set if the record has neither, or fewer points or
 * realizations than a draw needs, or if the points of its realizations differ; errors of
 * record_open. */
int points_open(struct arena *a, struct points *p, const struct strings *inputs);
/* Reads the record of a set of samples. E_CONFIG at the set if its samples differ in size or are
 * fewer than a draw needs; errors of record_open. */
int points_open_samples(struct arena *a, struct point_set *s);
/* The names of all axes of all sets, in the order of the config: the coordinates. Allocated in
 * a. */
struct strings points_axes(struct arena *a, const struct points *p);
/* The set of this name, or NULL. */
const struct point_set *points_find(const struct points *p, const char *name);

/* The range of an axis over all sets; records count once they are open. Returns false if no set has
 * a range for it. */
bool points_reach(const struct points *p, const char *axis, double *low, double *high);

/* The number of points of a draw: count, or the number of candidates. */
int64_t points_in_draw(const struct point_set *s);
/* The number of the draw that a step uses. */
int64_t points_draw_at(const struct point_set *s, int64_t step);
/* Computes the points first .. first + n - 1 of a draw: coordinates (n, naxes), and for sets with
 * normals (n, naxes) the unit normals that point out of the region, or of a box's `ends` (NULL: not
 * needed). The cost is proportional to n; for a difference of regions, to first + n. E_CONFIG if
 * almost nothing is left of a difference. */
int points_draw(const struct point_set *s, uint64_t seed, int64_t draw, int64_t first, int64_t n,
                double *coordinates, double *normals);
/* The values of array k of a record at these points, `each` per point; with realizations, at all
 * points of the realizations first .. first + n - 1. Sets from the same record with equal counts
 * select the same points in the same draw. */
void points_values(const struct point_set *s, int k, uint64_t seed, int64_t draw, int64_t first,
                   int64_t n, double *out);

/* Scratch memory of points_pick. */
struct point_key {
	double key;
	int64_t index;
};
/* Selects count of the candidates of a draw, without replacement: each next one with a probability
 * proportional to its score (at least 0; candidates with score 0 come last). chosen: their indices
 * in ascending order. work: room for all candidates. The selection is a function of seed, set, draw
 * and scores. It has to be saved in checkpoints, because the scores cannot be computed again later.
 * E_DIVERGED at the set's `resample` if a score is negative or not finite. */
int points_pick(const struct point_set *s, const double *score, uint64_t seed, int64_t draw,
                struct point_key *work, int64_t *chosen);

#endif
