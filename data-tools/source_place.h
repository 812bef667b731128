/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a variable's values lie on the earth, as the CF conventions have it: the variables that its
 * attributes `coordinates` and `grid_mapping` name. */
#ifndef DLX_DATA_TOOLS_SOURCE_PLACE_H
#define DLX_DATA_TOOLS_SOURCE_PLACE_H

#include "source.h"

/* Into fields and mappings of *out, in a; the axes that fields lie on are those of s. variable: as
 * it was opened. Names of variables that the file has not, or that are no numbers, are passed
 * over, as the conventions allow for a part of a file; what is too large is, with a warning. */
void source_place(struct source *s, const char *variable, struct arena *a, struct axes *out);

#endif
