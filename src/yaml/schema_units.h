/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values with units, and paths with variables: the parts of schema_value.c that parse text. */
#ifndef DLX_YAML_SCHEMA_UNITS_H
#define DLX_YAML_SCHEMA_UNITS_H

#include "yaml/ytree.h"

/* "4096", "512KiB", "1.5GB" -> bytes; false if text is not of that form. */
bool units_bytes(const char *text, double *bytes);
/* "90", "90s", "1.5h" -> seconds; false if text is not of that form. */
bool units_seconds(const char *text, double *seconds);
/* {minutes: 10, seconds: 30} -> seconds. name is for messages. */
int units_seconds_map(const char *name, const struct ynode *map, double *seconds);

/* The path of scalar n with $VAR, ${VAR} and a leading ~ replaced; "$$" is a '$'. */
int path_expand(struct arena *a, const struct ynode *n, const char **out);

#endif
