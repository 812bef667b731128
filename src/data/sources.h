/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where training samples come from (`data.train`): files, or several sources of them with weights,
 * and what shuffles them (`data.shuffle`). Private to data/ but for the checks of the config and
 * what the loader of a run is opened with. */
#ifndef DLX_DATA_SOURCES_H
#define DLX_DATA_SOURCES_H

#include "data/loader.h"

/* An entry of `data.train`. */
struct data_source {
	struct strings files;          /* paths or globs */
	double weight;                 /* relative to those of the others; NaN: not given */
};
extern const struct variant sources_row[];

/* Files are named, and all entries have a weight or none has. E_CONFIG at the entry. */
int sources_check(const struct sections *train);
/* The paths and globs of all entries in a row; in a. */
struct strings sources_files(const struct sections *train, struct arena *a);

/* false, true or {within: host}; NULL: false. E_CONFIG at the node. */
int shuffle_parse(const struct ynode *n, enum data_shuffle *out);

#endif
