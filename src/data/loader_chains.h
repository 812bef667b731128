/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chains of transforms of a loader. Private to loader*.c. */
#ifndef DLX_DATA_LOADER_CHAINS_H
#define DLX_DATA_LOADER_CHAINS_H

#include "data/loader.h"

struct chains {
	struct transform_chain **chain;        /* of each size of samples; all end in one size */
	int n;
};

/* Plans them (E_CONFIG, E_SHAPE, with their places); E_DATA where they end in several sizes. c is
 * to be released also after an error. */
int chains_init(struct chains *c, const struct dataset *d, const struct loader_options *o);
void chains_release(struct chains *c);

#endif
