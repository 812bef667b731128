/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What dlx-inspect prints of a record, on the standard output. */
#ifndef DLX_DATA_TOOLS_INSPECT_H
#define DLX_DATA_TOOLS_INSPECT_H

#include "data/record.h"

/* Text for people; all: every sample, not only the first few. */
void inspect_text(const struct record *r, bool all);
/* One object on one line; verified: every hash was checked. */
void inspect_json(const struct record *r, bool verified);

#endif
