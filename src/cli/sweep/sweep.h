/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dlx-train --sweep=FILE CONFIG: many runs of a config with other settings, in one start. */
#ifndef DLX_CLI_SWEEP_H
#define DLX_CLI_SWEEP_H

#include "cli/commands.h"

/* Makes the runs of x->o->sweep, and prints their table. x->status becomes the exit status of the
 * first run that failed, or 75 if the sweep was stopped. An error is one of the sweep itself.
 * Collective. */
int sweep_command(struct invocation *x);

#endif
