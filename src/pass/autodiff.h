/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reverse-mode differentiation as a graph transformation: walks the nodes backwards from the
 * outputs and lets each op's gradient rule emit ordinary nodes (phase BACKWARD, name and place of
 * the node they stem from). Since the result is graph, it can be differentiated again where the
 * emitted ops have rules. */
#ifndef DLX_PASS_AUTODIFF_H
#define DLX_PASS_AUTODIFF_H

#include "graph/graph.h"

/* dx[i] = d(sum_j <y[j], dy[j]>) / d x[i], or NONE where y does not depend on x[i]. dy[j] may be
 * NONE: ones. Several gradients of one tensor are summed with `add` in a fixed order. A needed rule
 * that is missing is E_UNSUPPORTED at the layer's place. Only tensors on a path from some x to some
 * y get a gradient. */
int autodiff(struct graph *g, int ny, const tid *y, const tid *dy, int nx, const tid *x, tid *dx);

/* A node (OP_FLAT) between x and y whose derivative by what depends on x is zero wherever it exists
 * and so is missing from the gradient of y: the mask of a ReLU, if y is a derivative through that
 * ReLU already, or a sign. NULL: none. Training may take such a derivative (the penalty of a critic
 * with ReLUs), but as a term of an equation it is not what was meant. */
const struct node *autodiff_flat(const struct graph *g, tid y, tid x);

#endif
