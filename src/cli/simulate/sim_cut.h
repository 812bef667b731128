/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cut of samples (parallel.spatial) with which a run is possible on a number of ranks. */
#ifndef DLX_CLI_SIM_CUT_H
#define DLX_CLI_SIM_CUT_H

#include "cli/simulate/sim_print.h"

/* Simulates the cuts that `parallel.spatial: auto` considers, with `least` subdomains or more. Of
 * those with the fewest subdomains with which the run can be planned and fits in the memory of c's
 * device, *out becomes the fastest. Returns false if there is none among the first few numbers of
 * subdomains. out->note is left as it is. */
bool sim_cut(struct sim_change *out, struct sim_given *g, const struct cluster *c, int64_t ranks,
             int64_t least);

#endif
