/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The partition of the graph of one plan (parallel.spatial): the pass, and what loaders need to
 * know of it. */
#ifndef DLX_PLAN_CUT_H
#define DLX_PLAN_CUT_H

#include "base/buf.h"
#include "data/loader.h"
#include "plan/plan.h"

struct compilation;
struct pass_env;
/* Changes the graph into that of the request's subdomain; leaves it as it is if the request has no
 * grid. The output of a prediction is gathered. Parameters that this subdomain's rows do not
 * depend on, but others' do, are noted for plan_cut_zero_grads. */
int plan_pass_partition(struct graph *g, struct pass_env *env);
/* The pass that numbers the sums over positions, and makes batch normalisations synchronous. */
int plan_cut_statistics(struct graph *g, const struct compilation *c);
/* Gives those parameters gradients of zero, after differentiation. */
int plan_cut_zero_grads(struct graph *g, struct compilation *c);

/* The windows of a sample's input and target that the plan of r reads. Takes as long as plan_check.
 * E_CONFIG, E_SHAPE at parallel.spatial. */
int plan_cut_windows(const struct plan_request *r, struct loader_window *input,
                     struct loader_window *target);
/* The subdomain whose figures stand for those of all in a description: an interior one, which has
 * neighbours on both sides along each axis that has three subdomains or more; of these the one with
 * the most rows. *largest: the subdomain with the most rows of all. Errors and time as for
 * plan_cut_windows. */
int plan_cut_typical(const struct plan_request *r, int *subdomain, int *largest);
/* Appends "[4, 1, 1]". */
void spatial_text(const struct cut_grid *grid, struct buf *out);

#endif
