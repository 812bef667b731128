/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_PLAN_PHYSICS_VARIABLES_H
#define DLX_PLAN_PHYSICS_VARIABLES_H

struct run_config;

/* Reads `variables` of the config into c->physics: E_CONFIG, with an entry for every mistake. */
int physics_read_variables(struct run_config *c);

#endif
