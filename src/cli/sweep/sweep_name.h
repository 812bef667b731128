/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of runs: "learning_rate=0.01,seed=2". */
#ifndef DLX_CLI_SWEEP_NAME_H
#define DLX_CLI_SWEEP_NAME_H

#include "cli/sweep/sweep_file.h"

/* The keys that the runs of a sweep set. */
struct sweep_names {
	struct arena *a;
	int n, cap;
	const char **key;
};

/* Adds the keys of a map; other nodes are ignored. */
void sweep_names_add(struct sweep_names *s, const struct ynode *map);
/* The name of a run: its ranks, if `ranks`, and the last words of its keys, where these are unique,
 * with the values; what is not to be in a file's name is an underscore. In the arena. */
const char *sweep_name(const struct sweep_names *s, const struct sweep_run *r, bool ranks);

#endif
