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
	const char *name;            /* its shortest end that no other key has */
	const char **value;          /* one a run, on one line; NULL: null, or not there */
	const struct ynode *const *node;     /* the same, as read; of NULL values unspecified */
	int rank;                    /* how telling it is: 0 most */
};

/* config[i] NULL is one of which nothing is known: its values are NULL and it differs in nothing.
 * Returns how many keys differ, the most telling first; the run's name and folder are none. All is
 * in the arena. */
int config_keys(struct arena *a, const struct ynode *const *config, int n,
                struct config_key **out);

/* Whether runs i and j have the same value: 0.1 is 1e-1. */
bool config_key_same(const struct config_key *k, int i, int j);

/* The text of a key of a section, or NULL. config may be NULL. */
const char *config_text(const struct ynode *config, const char *section, const char *key);

#endif
