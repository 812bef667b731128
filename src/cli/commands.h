/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs the commands of dlx-train. */
#ifndef DLX_CLI_COMMANDS_H
#define DLX_CLI_COMMANDS_H

#include "cli/options.h"
#include "comm/comm.h"
#include "plan/config.h"
#include "train/save/replay_versions.h"

struct invocation {
	const struct options *o;
	struct comm *c;                /* the ranks that run the command; NULL for a command of one
	                                * process (options_standalone). Rank 0 writes all output */
	int status;                    /* exit status of a run without error: 0, or another (75: stopped
	                                * with a checkpoint) */
	struct run_config *config;     /* the config, between command_read and the session that takes
	                                * it */
	const char *moved;             /* former path of the run's folder, if it was moved; else NULL */
	/* For --predict: the records; the index of the sample size that the session predicts; the
	 * number of sizes (struct session_options). */
	struct texts records;
	int size, sizes;
	struct dataset *predicted;
	struct texts pictures;         /* names of the pictures, or empty */
	struct replay_range range;     /* the checkpoints of --replay */
};

/* Reads the config, if the command has one, before the ranks are connected. *timeout: seconds that
 * ranks may wait for each other. */
int command_read(struct invocation *x, double *timeout);
/* Prints the text to standard output, on the first rank, and releases b. */
void command_print(const struct comm *c, struct buf *b);
/* Runs the command; call it after command_read. Returns 0 or an error. */
int command_run(struct invocation *x);

#endif
