/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One row's type in words, for help.c and help_mdoc.c. */
#ifndef DLX_YAML_HELP_TYPE_H
#define DLX_YAML_HELP_TYPE_H

#include "base/buf.h"
#include "yaml/schema.h"

/* Appends the heading of variant v of row f: "- roll" for a list entry, "type: sgd" for a type. */
void help_heading(struct buf *out, const struct field *f, const struct variant *v);
/* Whether help lists the row's subkeys or variants below it. named: the row is inside a map of
 * names, where lists that also appear elsewhere in the config (such as layers) are not repeated. */
bool help_lists(const struct field *f, bool named);
/* "integer from 1 to 64 (default 3)", "section", "one of same, valid (required)". */
void help_type(struct buf *out, const struct field *f);

#endif
