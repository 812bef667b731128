/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an axis of a file is: by its attributes, as CF has them, or by the names that CF, xarray,
 * WRF, ROMS, NEMO and CMIP give to axes. */
#ifndef DLX_DATA_TOOLS_AXIS_ROLE_H
#define DLX_DATA_TOOLS_AXIS_ROLE_H

#include "data/axes.h"

/* 'X', 'Y', 'Z' or 'T' as the attribute `axis` of CF has them, and 'C' for channels; 0: nothing is
 * known. kind: what the format knows, or 0; x: the
 * name, and what the file says of the coordinates. */
char axis_role(const struct axis *x, char kind);
/* Whether the role is that of a place. */
bool axis_is_place(char role);
/* "latitude", "longitude or x" and so on, for messages. */
const char *axis_role_name(char role);
#endif
