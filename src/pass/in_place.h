/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums that are stored where one of their operands is. */
#ifndef DLX_PASS_IN_PLACE_H
#define DLX_PASS_IN_PLACE_H

#include "pass/pass.h"

/* Needs the order of nodes. */
int pass_in_place(struct graph *g, struct pass_env *env);

#endif
