/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_DATA_UNITS_H
#define DLX_DATA_UNITS_H

#include <stdbool.h>

/* Whether two texts name the same unit in the spellings that are common: "m s-1" is "m/s" and
 * "m s**-1", "K" is "kelvin". No unit is converted. */
bool units_same(const char *a, const char *b);

#endif
