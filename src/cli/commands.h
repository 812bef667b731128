/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each command of dlx-train does. Each returns 0 or an error; *status is preset to 0 and may
 * be set to another exit status of a run that ended well (75: stopped with a checkpoint). */
#ifndef DLX_CLI_COMMANDS_H
#define DLX_CLI_COMMANDS_H

#include "cli/options.h"
#include "comm/comm.h"

/* Reads the config of a command that has one, before the ranks meet: timeout is how long they may
 * wait for each other. */
int command_read(const struct options *o, double *timeout);
/* After command_read. c: the ranks that run it; NULL for a command of one process
 * (options_standalone). Rank 0 writes what there is to write. */
int command_run(const struct options *o, struct comm *c, int *status);

#endif
