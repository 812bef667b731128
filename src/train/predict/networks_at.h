/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The values of the networks of equations at places, of several realizations where they take
 * noise. */
#ifndef DLX_TRAIN_NETWORKS_AT_H
#define DLX_TRAIN_NETWORKS_AT_H

#include "plan/session.h"
#include "train/predict/places.h"

struct network_values {
	int n;                           /* components of all networks that are fields */
	const char **name;               /* u, or v.0 and v.1 of a network with two outputs */
	double **v;                      /* of each (realizations, places) */
	int64_t places, realizations;
};

/* Of noise, which has other values than that of training: realization r of a seed is always the
 * same. */
struct noise_draw {
	int64_t realizations;            /* of networks without noise 1 */
	uint64_t seed;
};

/* The names alone, in a. */
void networks_at_names(struct arena *a, const struct physics *p, struct network_values *out);
/* By the session's plan of prediction; out is a's. E_DATA if there are too many values. */
int networks_at(const struct session *s, struct arena *a, const struct places *places,
                struct noise_draw draw, struct network_values *out);

#endif
