/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_PLAN_PHYSICS_OBJECTIVES_H
#define DLX_PLAN_PHYSICS_OBJECTIVES_H

#include "yaml/schema.h"

struct run_config;

extern const struct field objective_fields[];   /* of one */
/* Reads `objective` into c->objectives, after networks and variables: E_CONFIG, with an entry for
 * every mistake. */
int physics_read_objectives(struct run_config *c);

#endif
