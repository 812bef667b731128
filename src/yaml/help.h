/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schema tables as text: "--help-config [KEY]" and the generated part of dlx-config(5). */
#ifndef DLX_YAML_HELP_H
#define DLX_YAML_HELP_H

#include "base/buf.h"
#include "yaml/schema.h"

/* Every key below fields, as indented text: name, type, range, default, meaning. key: a dotted
 * path to show only that part (variants by their name: "optimizer.sgd.momentum"; without it, the
 * key of each variant that has it: "optimizer.momentum"); NULL for all. A path may begin with the
 * name of a variant wherever that is: "conv2d", "conv2d.filters".
 * E_USAGE with a suggestion if there is no such key. */
int help_text(struct buf *out, const struct field *fields, const char *key);
/* A page: the rows of fields, with the names of what is below them. */
void help_overview(struct buf *out, const struct field *fields);
/* The same as mdoc(7) source, one list, for the man page. */
void help_mdoc(struct buf *out, const struct field *fields);

#endif
