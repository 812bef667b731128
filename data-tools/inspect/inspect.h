/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints the description of a record by dlx-inspect to the standard output. */
#ifndef DLX_DATA_TOOLS_INSPECT_H
#define DLX_DATA_TOOLS_INSPECT_H

#include "data/record.h"

/* Prints text for people. all: list every sample, not only the first few. */
void inspect_text(const struct record *r, bool all);
/* Prints a JSON object on one line. verified: every hash was checked. */
void inspect_json(const struct record *r, bool verified);

#endif
