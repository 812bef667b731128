/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schema tables from end to end, for what is known by its name alone: types of sections and
 * entries of lists. */
#ifndef DLX_YAML_HELP_WALK_H
#define DLX_YAML_HELP_WALK_H

#include "yaml/schema.h"

/* Calls visit for each row below fields that has variants. path: that of the row, as help_text
 * takes it, "model.layers.layers"; it and list are the arena's. A list that several rows share is
 * visited once, where it is first. */
void help_walk(struct arena *a, const struct field *fields,
               void (*visit)(void *to, const char *path, const struct field *f,
                             const struct variant *list), void *to);

#endif
