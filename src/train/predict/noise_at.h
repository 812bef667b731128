/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The noise of networks that are evaluated apart from training. */
#ifndef DLX_TRAIN_NOISE_AT_H
#define DLX_TRAIN_NOISE_AT_H

#include "model/networks.h"

/* The realizations of noise to draw. They differ from those of training, and realization r of a
 * seed is always the same. */
struct noise_draw {
	int64_t realizations;            /* number of realizations; 1 for networks without noise */
	uint64_t seed;
};

/* (realizations, components), in arena a. */
double *noise_at(struct arena *a, const struct noise_name *n, struct noise_draw draw);

#endif
