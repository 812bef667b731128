/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_PLAN_PHYSICS_VARIABLES_H
#define DLX_PLAN_PHYSICS_VARIABLES_H

#include "yaml/schema.h"

struct run_config;

extern const struct field variable_fields[];    /* of one */

/* Reads `variables` of the config into c->physics: E_CONFIG, with an entry for every mistake. */
int physics_read_variables(struct run_config *c);

#endif
