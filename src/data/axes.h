/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Metadata of the axes of a record's samples: names, coordinates, and attributes that the original
 * files had. Predictions are written with the same metadata. */
#ifndef DLX_DATA_AXES_H
#define DLX_DATA_AXES_H

#include <stdint.h>

#include <stdbool.h>

#include "base/arena.h"
#include "base/types.h"

struct buf;
struct json;

#define AXIS_VALUES_MOST ((int64_t)1 << 20)      /* most coordinates of an axis that are kept */
#define AXIS_VALUES_SHORT 8192                   /* most that a checkpoint keeps of the training
                                                  * set */
#define FIELD_VALUES_MOST ((int64_t)1 << 22)     /* most values of a coordinate field */
#define AXIS_ATTRIBUTE_MOST 64                   /* most numbers of an attribute that are kept */

struct axis_attribute {
	const char *name;
	const char *text;                /* the attribute's text; NULL: it has numbers */
	int n;
	const double *values;
};

struct axis_attributes {
	int n;
	const struct axis_attribute *v;
};

struct axis {
	const char *name;                /* NULL: none */
	int64_t n;                       /* extent */
	const double *values;            /* the coordinates, n of them; NULL: none */
	int nattributes;                 /* number of attributes of the coordinates */
	const struct axis_attribute *attribute;
};

/* A coordinate field: coordinates that depend on several axes, such as the latitudes of a
 * curvilinear grid, or on none, such as one height for all points. */
struct axis_field {
	const char *name;
	int nd;
	int on[MAXD];                    /* indices of the axes, in the order of the values */
	enum dtype dtype;                /* F32 or F64 */
	const void *values;              /* the values, the last axis varying fastest */
	struct axis_attributes attributes;
};

/* A grid mapping (CF conventions): a variable whose attributes say how coordinates relate to
 * positions on the earth. Its values do not matter. */
struct axis_mapping {
	const char *name;
	struct axis_attributes attributes;
};

/* The axis of samples, followed by the axes of a sample except channels. n 0: nothing is known. */
struct axes {
	int n;
	const struct axis *axis;
	int nfields;
	const struct axis_field *field;
	const char *grid_mapping;        /* the attribute that names the grid mappings; NULL: none */
	int nmappings;
	const struct axis_mapping *mapping;
};

struct axes axes_copy(struct arena *a, const struct axes *from);
/* A copy that shares memory with `like` where both are equal. */
struct axes axes_copy_thrifty(struct arena *a, const struct axes *from, const struct axes *like);
/* The axes of the concatenation of n > 0 sets: for each axis what all sets agree on; the
 * coordinates of samples are concatenated. Borrows from the sets. */
struct axes axes_join(struct arena *a, const struct axes *all, int n);
/* The axes of n selected samples. Everything else is borrowed from `all`. */
struct axes axes_choose(struct arena *a, const struct axes *all, const int64_t *sample, int64_t n);
/* A short form for positions only: names and extents of all axes, and coordinates except those of
 * samples and of very long axes; no coordinate fields. */
struct axes axes_of_places(struct arena *a, const struct axes *all);
/* Whether both axes have the same metadata. */
bool axis_equal(const struct axis *x, const struct axis *y);
/* Whether they contain any metadata at all. */
bool axes_say_anything(const struct axes *axes);
/* The number of values of a field. */
int64_t axis_field_count(const struct axes *axes, const struct axis_field *f);

/* axes_write appends a JSON list; axes_read parses one and returns what is wrong with it, or NULL.
 * extent: of each of `rank` axes. */
void axes_write(struct buf *out, const struct axes *axes);
const char *axes_read(struct arena *a, const struct json *list, const int64_t *extent, int rank,
                      struct axes *out);

#endif
