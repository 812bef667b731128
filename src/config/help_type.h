/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One row's type in words, for help.c and help_mdoc.c. */
#ifndef DLX_CONFIG_HELP_TYPE_H
#define DLX_CONFIG_HELP_TYPE_H

#include "base/buf.h"
#include "config/schema.h"

/* "integer from 1 to 64 (default 3)", "section", "one of same, valid (required)". */
void help_type(struct buf *out, const struct field *f);

#endif
