/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sources of training samples (`data.train`): files, or several sources with weights; and how
 * they are shuffled (`data.shuffle`). Private to data/, except for the checks of the config and
 * what opens the loader of a run. */
#ifndef DLX_DATA_SOURCES_H
#define DLX_DATA_SOURCES_H

#include "data/loader.h"

/* An entry of `data.train`. */
struct data_source {
	struct strings files;          /* paths or globs */
	double weight;                 /* weight relative to those of the other entries; NaN: not
	                                * given */
};
extern const struct variant sources_row[];

/* Checks that each entry names files, and that either all entries have a weight or none. E_CONFIG
 * at the entry. */
int sources_check(const struct sections *train);
/* The paths and globs of all entries, one after another; allocated in a. */
struct strings sources_files(const struct sections *train, struct arena *a);

/* Reads false, true or {within: host}; NULL: false. E_CONFIG at the node. */
int shuffle_parse(const struct ynode *n, enum data_shuffle *out);

#endif
