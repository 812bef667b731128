/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data of a sweep, which all ranks stage together (data.stage), once for all runs. */
#ifndef DLX_CLI_SWEEP_DATA_H
#define DLX_CLI_SWEEP_DATA_H

#include "cli/options.h"
#include "cli/sweep/sweep_file.h"
#include "comm/comm.h"
#include "data/staging.h"

struct sweep_data;

/* Stages the sets of all runs, if `base`, the config without settings, has data.stage; else *out
 * has no staging. Sets that cannot be opened are left to their runs, which find the error.
 * Collective. */
int sweep_data_open(struct sweep_data **out, struct comm *c, const struct sweep *s,
                    const struct options *o, const struct run_config *base);
struct staging *sweep_data_staging(const struct sweep_data *d);     /* or NULL */
/* alone: only this rank has failed; else collective. NULL is fine. */
void sweep_data_close(struct sweep_data *d, bool alone);

#endif
