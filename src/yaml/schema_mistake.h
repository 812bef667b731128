/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Error messages for maps that do not fit their table: unknown or missing keys and types, and other
 * values in place of a map. Internal to yaml/. */
#ifndef DLX_YAML_SCHEMA_MISTAKE_H
#define DLX_YAML_SCHEMA_MISTAKE_H

#include "yaml/schema.h"

#define MEANT 8

/* The map being read: its table, and where to look for keys that the user may have meant. */
struct scope {
	struct arena *a;
	const struct field *fields;        /* may be NULL: no keys */
	const char *what;
	const struct variant *siblings;    /* if a variant is read: the list of all variants; else
	                                    * NULL */
	const char *const *ignore;         /* keys that other code reads; may be NULL */
	const char *meant[MEANT];          /* keys that messages have proposed already */
	int nmeant;
};

const struct field *scope_find(const struct field *f, const char *name);
bool scope_in_list(const char *const *list, const char *s);

/* Each raises E_CONFIG and returns it. unknown_key adds the key that it proposes to s->meant. */
int unknown_key(struct scope *s, const struct ypair *p);
int missing_key(const struct scope *s, const struct field *f, const struct loc *loc);
int not_a_map(const struct scope *s, const struct ynode *node);
int unknown_variant(struct arena *a, const struct variant *list, const char *what,
                    const char *name, const struct loc *loc);
int missing_type(const struct variant *variants, const struct ynode *node, const char *what);

#endif
