/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass that keeps copies of weights in the form that kernels read, written by the updates. */
#ifndef DLX_PASS_COPIES_H
#define DLX_PASS_COPIES_H

#include "graph/graph.h"

struct device;

/* Runs after the choice of layouts, in graphs that train. A param's cast to 16
 * bits, and reorders of such casts, become states that the update of the param
 * rewrites while it has the new value at hand, and that op weight_copy makes when
 * a plan begins. If they are not to be kept, reorders of casts become casts. */
int copies_make(struct graph *g, const struct device *dev, bool keep);

#endif
