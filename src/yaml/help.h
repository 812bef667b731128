/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schema tables as text: "--help-config [KEY]" and the generated part of dlx-config(5). */
#ifndef DLX_YAML_HELP_H
#define DLX_YAML_HELP_H

#include "base/buf.h"
#include "yaml/schema.h"

/* Prints every key of the table `fields` and its subtables as indented text: name, type, range,
 * default, meaning. key: a dotted path that selects a part; NULL: all. A variant is part of the
 * path ("optimizer.sgd.momentum"); without it the key of every variant that has it is shown
 * ("optimizer.momentum"). A path may also begin with the name of any variant: "conv2d",
 * "conv2d.filters".
 * E_USAGE with a suggestion if there is no such key. */
int help_text(struct buf *out, const struct field *fields, const char *key);
/* A one-page overview: the keys of `fields`, each with the names of its subkeys. */
void help_overview(struct buf *out, const struct field *fields);
/* All keys as one list in mdoc(7) source, for the man page. */
void help_mdoc(struct buf *out, const struct field *fields);

#endif
