/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One row's type in words, for help.c and help_mdoc.c. */
#ifndef DLX_YAML_HELP_TYPE_H
#define DLX_YAML_HELP_TYPE_H

#include "base/buf.h"
#include "yaml/schema.h"

/* How an entry of the row's list or a type of the row is headed: "- roll", "type: sgd". */
void help_heading(struct buf *out, const struct field *f, const struct variant *v);
/* Whether what the row may have is listed below it. named: it is below a map of names, where lists
 * that the config has elsewhere, as layers, are not repeated. */
bool help_lists(const struct field *f, bool named);
/* "integer from 1 to 64 (default 3)", "section", "one of same, valid (required)". */
void help_type(struct buf *out, const struct field *f);

#endif
