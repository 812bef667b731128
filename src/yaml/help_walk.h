/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A walk over all schema tables, to find variants (types of sections, entries of lists) by name. */
#ifndef DLX_YAML_HELP_WALK_H
#define DLX_YAML_HELP_WALK_H

#include "yaml/schema.h"

/* Calls visit(to, ...) for each row of fields and their subtables that has variants. path: the
 * row's dotted path ("model.layers.layers"), as help_text accepts it; list: its variants. Both are
 * allocated in the arena. A list that several rows share is visited at its first row only. */
void help_walk(struct arena *a, const struct field *fields,
               void (*visit)(void *to, const char *path, const struct field *f,
                             const struct variant *list), void *to);

#endif
