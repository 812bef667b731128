/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What axes.c, axes_join.c and the readers and writers of JSON share; private to data/. */
#ifndef DLX_DATA_AXES_PARTS_H
#define DLX_DATA_AXES_PARTS_H

#include "data/axes.h"

bool axis_attributes_equal(struct axis_attributes x, struct axis_attributes y);
/* Writes and reads attributes as a JSON object; axis_attributes_read leaves out those that are not
 * kept. */
void axis_attributes_write(struct buf *out, struct axis_attributes x);
struct axis_attributes axis_attributes_read(struct arena *a, const struct json *all);
/* Whether field f of x and field g of y are equal. */
bool axis_field_equal(const struct axes *x, const struct axis_field *f, const struct axes *y,
                      const struct axis_field *g);
/* The field of that name, or NULL. */
const struct axis_field *axes_field(const struct axes *axes, const char *name);

/* axes_write_fields appends the members ", \"coordinates\": [...]" and "grid_mapping" of a JSON
 * object, or nothing. axes_read_fields reads them from root into *out, whose axes must be set, and
 * returns what is wrong, or NULL. */
void axes_write_fields(struct buf *out, const struct axes *axes);
const char *axes_read_fields(struct arena *a, const struct json *root, struct axes *out);

#endif
