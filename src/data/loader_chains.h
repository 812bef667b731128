/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transforms of a loader: a chain for each size that samples of its set have. */
#ifndef DLX_DATA_LOADER_CHAINS_H
#define DLX_DATA_LOADER_CHAINS_H

#include "data/loader.h"
#include "data/transform.h"

/* *out: a chain for each of dataset_sizes(d), or for o->only_size alone and NULL for the others.
 * All end in one size, or that is E_DATA. *out is to be freed also after a failure. */
int loader_chains_new(struct transform_chain ***out, struct dataset *d,
                      const struct loader_options *o);
void loader_chains_free(struct transform_chain **chain, int n);   /* NULL is fine */

#endif
