/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of the axes of a record's samples: names, coordinates and what else the files say
 * that they were made from, for predictions to carry on. */
#ifndef DLX_DATA_AXES_H
#define DLX_DATA_AXES_H

#include <stdint.h>

#include <stdbool.h>

#include "base/arena.h"
#include "base/types.h"

struct buf;
struct json;

#define AXIS_VALUES_MOST ((int64_t)1 << 20)      /* coordinates of an axis that are kept */
#define AXIS_VALUES_SHORT 8192                   /* that a network keeps of its training set */
#define FIELD_VALUES_MOST ((int64_t)1 << 22)     /* of a field of coordinates */
#define AXIS_ATTRIBUTE_MOST 64                   /* numbers of an attribute that are kept */

struct axis_attribute {
	const char *name;
	const char *text;                /* or NULL: numbers */
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
	int nattributes;                 /* of the coordinates */
	const struct axis_attribute *attribute;
};

/* Coordinates that lie on several axes, such as the latitudes of a curvilinear grid; or on another
 * number of them, such as the height of all that there is. */
struct axis_field {
	const char *name;
	int nd;
	int on[MAXD];                    /* numbers of axes, in the order of the values */
	enum dtype dtype;                /* F32 or F64 */
	const void *values;              /* of the last axis one after the other */
	struct axis_attributes attributes;
};

/* A variable without values of interest, which says how coordinates lie on the earth. */
struct axis_mapping {
	const char *name;
	struct axis_attributes attributes;
};

/* The axis of samples, then those of a sample but channels; n 0: nothing is known. */
struct axes {
	int n;
	const struct axis *axis;
	int nfields;
	const struct axis_field *field;
	const char *grid_mapping;        /* the attribute that names mappings; NULL: none */
	int nmappings;
	const struct axis_mapping *mapping;
};

struct axes axes_copy(struct arena *a, const struct axes *from);
/* A copy that borrows from `like` what is the same there. */
struct axes axes_copy_thrifty(struct arena *a, const struct axes *from, const struct axes *like);
/* Those of n > 0 sets in a row, as far as all say the same of an axis; the coordinates of samples
 * follow each other. Borrows from them. */
struct axes axes_join(struct arena *a, const struct axes *all, int n);
/* Of n chosen samples. Borrows the rest. */
struct axes axes_choose(struct arena *a, const struct axes *all, const int64_t *sample, int64_t n);
/* What is known of places alone, which is short: no fields, no axis of very many coordinates. */
struct axes axes_of_places(struct arena *a, const struct axes *all);
/* Whether both say the same of an axis. */
bool axis_equal(const struct axis *x, const struct axis *y);
/* Whether there is a name, or anything else, in them. */
bool axes_say_anything(const struct axes *axes);
/* How many values a field has. */
int64_t axis_field_count(const struct axes *axes, const struct axis_field *f);

/* Appends a list of JSON; reads one, and returns what is wrong with it, or NULL. extent: of each
 * axis, `rank` of them. */
void axes_write(struct buf *out, const struct axes *axes);
const char *axes_read(struct arena *a, const struct json *list, const int64_t *extent, int rank,
                      struct axes *out);

#endif
