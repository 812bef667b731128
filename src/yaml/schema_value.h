/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Single values of a schema: what schema_read.c and schema_write.c share. */
#ifndef DLX_YAML_SCHEMA_VALUE_H
#define DLX_YAML_SCHEMA_VALUE_H

#include "yaml/schema.h"

/* Reads node into *out by row f, of any type but sections, variants and nodes. Raises one error
 * entry on failure. */
int value_read(struct arena *a, const struct field *f, const struct ynode *node, void *out);
/* The value of an absent key without default: zero, NULL, empty. Leaves sections alone. */
void value_zero(const struct field *f, void *out);
/* Whether *in is what value_zero makes. */
bool value_is_zero(const struct field *f, const void *in);
/* For messages: "a list", "null", "'abc'", "the quoted string '3'". */
const char *value_describe(struct arena *a, const struct ynode *node);
/* s, cut to what fits into a message. */
const char *value_excerpt(struct arena *a, const char *s);
/* " from 1 to 10", " of at least 0", " of at most 1", or "" if f has no limits. */
const char *value_range(struct arena *a, const struct field *f);

/* Sets every field of *out to its default; required keys raise no error. */
void schema_defaults(struct arena *a, const struct field *fields, void *out);

/* The first failure of two results, for code that goes on after the first error; 0 or more if
 * neither failed. */
static inline int first_code(int a, int b)
{
	return a < 0 ? a : b;
}

#endif
