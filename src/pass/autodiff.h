/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reverse-mode differentiation as a graph transformation. It visits the nodes in reverse order,
 * from the outputs, and lets the gradient rule of each op emit ordinary nodes. An emitted node has
 * phase BACKWARD, and the name and config location of the forward node that it is derived from. The
 * result is a graph again, so it can be differentiated again if the emitted ops have gradient
 * rules. */
#ifndef DLX_PASS_AUTODIFF_H
#define DLX_PASS_AUTODIFF_H

#include "graph/graph.h"

/* dx[i] = d(sum_j <y[j], dy[j]>) / d x[i], or NONE if y does not depend on x[i]. dy[j] NONE means a
 * tensor of ones. Several gradients of one tensor are summed by `add` nodes in a fixed order. If a
 * needed rule is missing, the error is E_UNSUPPORTED at the layer's config location. Only tensors
 * on a path from some x to some y get a gradient. */
int autodiff(struct graph *g, int ny, const tid *y, const tid *dy, int nx, const tid *x, tid *dx);

/* Finds a node flagged OP_FLAT on a path from x to y: an op whose derivative is zero wherever it
 * exists, so that the gradient of y lacks this path. Examples are a sign, or the mask of a ReLU if
 * y is already a derivative through that ReLU. NULL: there is none. Training may use such a
 * gradient (the gradient penalty of a critic with ReLUs), but in a term of an equation it is a
 * mistake of the user. */
const struct node *autodiff_flat(const struct graph *g, tid y, tid x);

#endif
