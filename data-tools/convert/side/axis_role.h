/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the role of an axis in a file, by its attributes in the CF conventions, or by the names
 * that CF, xarray, WRF, ROMS, NEMO and CMIP give to axes. */
#ifndef DLX_DATA_TOOLS_AXIS_ROLE_H
#define DLX_DATA_TOOLS_AXIS_ROLE_H

#include "data/axes.h"

/* Returns 'X', 'Y', 'Z' or 'T', as in CF's attribute `axis`, or 'C' for channels; 0: not known.
 * kind: the role that the format gives, or 0. x: the axis' name, and its coordinates with their
 * attributes. */
char axis_role(const struct axis *x, char kind);
/* Whether the role is spatial. */
bool axis_is_place(char role);
/* "latitude", "longitude or x" and so on, for messages. */
const char *axis_role_name(char role);
#endif
