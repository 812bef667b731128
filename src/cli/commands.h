/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each command of dlx-train does. */
#ifndef DLX_CLI_COMMANDS_H
#define DLX_CLI_COMMANDS_H

#include "cli/options.h"
#include "comm/comm.h"
#include "plan/config.h"
#include "train/save/replay_versions.h"

struct invocation {
	const struct options *o;
	struct comm *c;                /* the ranks that run it; NULL for a command of one process
	                                * (options_standalone). Rank 0 writes what there is to write */
	int status;                    /* of a run that ended well: 0, or another exit status (75:
	                                * stopped with a checkpoint) */
	struct run_config *config;     /* from command_read on until a session has it */
	const char *moved;             /* where the run's folder was, if it is elsewhere now */
	/* Of --predict: the records, and which size of their samples a session is of, of how many
	 * (struct session_options). */
	struct texts records;
	int size, sizes;
	struct dataset *predicted;
	struct texts pictures;         /* their names, or none */
	struct replay_range range;     /* of --replay */
};

/* Reads the config of a command that has one, before the ranks meet: timeout is how long they may
 * wait for each other. */
int command_read(struct invocation *x, double *timeout);
/* After command_read. Returns 0 or an error. */
int command_run(struct invocation *x);

#endif
