/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inputs of a step that arrive in 16 bits, so that the graph need not cast them. */
#ifndef DLX_PASS_ROUNDED_INPUT_H
#define DLX_PASS_ROUNDED_INPUT_H

#include "pass/pass.h"

/* Whether all readers of the float32 input x, also after padding with zeros, are casts to `type`:
 * then x can arrive in that type. Runs after the pass `precision`. */
bool rounded_input_suffices(const struct graph *g, tid x, enum dtype type);
/* Changes x to that type and removes these casts. rounded_input_suffices must be true. */
int rounded_input_set(struct graph *g, tid x, enum dtype type);

#endif
