/* SPDX-License-Identifier: BSD-3-Clause
 *
 * parallel.spatial: auto chooses the cut by the memory that a run needs. */
#ifndef DLX_PLAN_SPATIAL_AUTO_H
#define DLX_PLAN_SPATIAL_AUTO_H

#include "plan/session.h"

/* The grids of this many subdomains (at most SPATIAL_MOST) that are considered for samples with one
 * to three spatial axes: from the one that divides the outermost axis alone to the most even one.
 * Returns their number, at most SPATIAL_GRIDS. */
#define SPATIAL_GRIDS 128
int spatial_grids(struct cut_grid *grid, int axes, int parts);
/* Chooses the cut with the fewest subdomains with which the run of s fits in the memory of each
 * rank, and sets *grid (axes 0: whole samples). Their number is a divisor of that of the ranks; the
 * outermost axis is cut first, then all axes more and more evenly. If none fits, it is the cut that
 * needs the least. s: a session whose loaders are open for whole samples, without plans. Returns
 * the reason as text for people, in the config's arena. Collective. */
const char *spatial_choose(struct session *s, struct cut_grid *grid);

#endif
