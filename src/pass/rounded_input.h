/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An input of a step that comes in 16 bits. */
#ifndef DLX_PASS_ROUNDED_INPUT_H
#define DLX_PASS_ROUNDED_INPUT_H

#include "pass/pass.h"

/* Whether nothing is read of the float32 input x, with or without zeros around it, but what casts
 * to `type` make of it. Behind the pass of element types. */
bool rounded_input_suffices(const struct graph *g, tid x, enum dtype type);
/* Gives x that type and takes these casts out. It must suffice. */
int rounded_input_set(struct graph *g, tid x, enum dtype type);

#endif
