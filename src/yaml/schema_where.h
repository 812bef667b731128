/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the sections of the config that have a given key, for messages about keys in a wrong
 * section. */
#ifndef DLX_YAML_SCHEMA_WHERE_H
#define DLX_YAML_SCHEMA_WHERE_H

#include "base/buf.h"
#include "yaml/schema.h"

/* Sets the table of the whole config; before that no key is found. The table must live as long as
 * the process. Call it before threads read configs. */
void schema_where_root(const struct field *fields);

/* Appends "; did you mean 'train.batch_size'?" with up to three places of the key, those nearest
 * to the top; false, and nothing, if it has none or key is NULL. Lists of entries are not looked
 * into. A key of a section of several types counts if at least half of them have it. */
bool schema_where_put(struct buf *out, const char *key);

#endif
