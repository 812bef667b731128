/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What axes.c, axes_join.c and the readers and writers of JSON share; private to data/. */
#ifndef DLX_DATA_AXES_PARTS_H
#define DLX_DATA_AXES_PARTS_H

#include "data/axes.h"

bool axis_attributes_equal(struct axis_attributes x, struct axis_attributes y);
/* An object of JSON; what is not kept of one is left out. */
void axis_attributes_write(struct buf *out, struct axis_attributes x);
struct axis_attributes axis_attributes_read(struct arena *a, const struct json *all);
/* Whether two fields, of these sets, are the same. */
bool axis_field_equal(const struct axes *x, const struct axis_field *f, const struct axes *y,
                      const struct axis_field *g);
/* The field of that name, or NULL. */
const struct axis_field *axes_field(const struct axes *axes, const char *name);

/* Appends members of an object of JSON, ", \"coordinates\": [...]" and "grid_mapping", or nothing;
 * reads them from root into *out, whose axes are known, and returns what is wrong, or NULL. */
void axes_write_fields(struct buf *out, const struct axes *axes);
const char *axes_read_fields(struct arena *a, const struct json *root, struct axes *out);

#endif
