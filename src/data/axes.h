/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of the axes of a record's samples: names, coordinates and what else the files say
 * that they were made from, for predictions to carry on. */
#ifndef DLX_DATA_AXES_H
#define DLX_DATA_AXES_H

#include <stdint.h>

#include <stdbool.h>

#include "base/arena.h"

struct buf;
struct json;

#define AXIS_VALUES_MOST ((int64_t)1 << 20)      /* coordinates of an axis that are kept */
#define AXIS_ATTRIBUTE_MOST 64                   /* numbers of an attribute that are kept */

struct axis_attribute {
	const char *name;
	const char *text;                /* or NULL: numbers */
	int n;
	const double *values;
};

struct axis {
	const char *name;                /* NULL: none */
	int64_t n;                       /* extent */
	const double *values;            /* the coordinates, n of them; NULL: none */
	int nattributes;                 /* of the coordinates */
	const struct axis_attribute *attribute;
};

/* The axis of samples, then those of a sample but channels; n 0: nothing is known. */
struct axes {
	int n;
	const struct axis *axis;
};

struct axes axes_copy(struct arena *a, const struct axes *from);
/* Those of n > 0 sets in a row, as far as all say the same of an axis; the coordinates of samples
 * follow each other. Borrows from them. */
struct axes axes_join(struct arena *a, const struct axes *all, int n);
/* Whether both say the same of an axis. */
bool axis_equal(const struct axis *x, const struct axis *y);
/* Appends a list of JSON; reads one, and returns what is wrong with it, or NULL. extent: of each
 * axis, `rank` of them. */
void axes_write(struct buf *out, const struct axes *axes);
const char *axes_read(struct arena *a, const struct json *list, const int64_t *extent, int rank,
                      struct axes *out);

#endif
