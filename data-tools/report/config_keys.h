/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The keys in which the configs of several runs differ. */
#ifndef DLX_DATA_TOOLS_CONFIG_KEYS_H
#define DLX_DATA_TOOLS_CONFIG_KEYS_H

#include <stdbool.h>

#include "base/arena.h"

struct ynode;

struct config_key {
	const char *path;            /* "data.transforms[1].normalize.method" */
	const char *name;            /* the shortest end of the path that is unique among the keys */
	const char **value;          /* value for each run, on one line; NULL: null, or not given */
	const struct ynode *const *node;     /* node of each value; unspecified if the value is NULL */
	int rank;                    /* importance of the key; 0: most important */
};

/* Finds the keys in which n configs differ, except for the run's name and folder, sorted by
 * importance. Returns their number. config[i] NULL: this config is unknown; its values are NULL and
 * are not compared. All memory is in the arena. */
int config_keys(struct arena *a, const struct ynode *const *config, int n,
                struct config_key **out);

/* Whether runs i and j have the same value; numbers such as 0.1 and 1e-1 are equal. */
bool config_key_same(const struct config_key *k, int i, int j);

/* The text of a key of a section, or NULL. config may be NULL. */
const char *config_text(const struct ynode *config, const char *section, const char *key);

#endif
