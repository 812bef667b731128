/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Common subexpressions. */
#ifndef DLX_PASS_CSE_H
#define DLX_PASS_CSE_H

#include "pass/pass.h"

/* Computes once what several nodes compute: of nodes with equal op, attributes and inputs the first
 * is kept. Tensors that the host reads stay. */
int pass_cse(struct graph *g, struct pass_env *env);

#endif
