/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is said of maps that do not fit their table: keys and types that are unknown or absent, and
 * values where maps belong. Inside of yaml/. */
#ifndef DLX_YAML_SCHEMA_MISTAKE_H
#define DLX_YAML_SCHEMA_MISTAKE_H

#include "yaml/schema.h"

#define MEANT 8

/* The scope of reading: the table, and keys that a user could have meant instead. */
struct scope {
	struct arena *a;
	const struct field *fields;        /* may be NULL: no keys */
	const char *what;
	const struct variant *siblings;    /* of a variant: the whole list; else NULL */
	const char *const *ignore;         /* keys that others read; may be NULL */
	const char *meant[MEANT];          /* keys that messages have proposed already */
	int nmeant;
};

const struct field *scope_find(const struct field *f, const char *name);
bool scope_in_list(const char *const *list, const char *s);

/* Each raises E_CONFIG. unknown_key notes in s which key was proposed. */
int unknown_key(struct scope *s, const struct ypair *p);
int missing_key(const struct scope *s, const struct field *f, const struct loc *loc);
int not_a_map(const struct scope *s, const struct ynode *node);
int unknown_variant(struct arena *a, const struct variant *list, const char *what,
                    const char *name, const struct loc *loc);
int missing_type(const struct variant *variants, const struct ynode *node, const char *what);

#endif
