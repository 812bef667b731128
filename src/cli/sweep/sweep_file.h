/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of --sweep: the runs of a sweep, each with the settings that it adds to the config.
 * Described in dlx-sweep(5). */
#ifndef DLX_CLI_SWEEP_FILE_H
#define DLX_CLI_SWEEP_FILE_H

#include "plan/config.h"

#define SWEEP_MOST 10000         /* runs */

struct sweep_run {
	const char *name;            /* of its folder, which says its settings; unique */
	int ranks;
	int n;
	const struct config_setting *setting;
};

struct sweep {
	struct arena *arena;
	int n;
	struct sweep_run *run;
	struct ints ranks;           /* the numbers of ranks that the runs have, each once */
	struct loc ranks_loc;
};

extern const struct field sweep_fields[];

/* Reads the file. The record of errors has an entry for each mistake. E_CONFIG, E_NOINPUT. */
int sweep_read(struct sweep **out, const char *path);
void sweep_free(struct sweep *s);            /* NULL is fine */

#endif
