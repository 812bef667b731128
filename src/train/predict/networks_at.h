/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Evaluates the networks of equations at places, for several realizations if networks read
 * noise. */
#ifndef DLX_TRAIN_NETWORKS_AT_H
#define DLX_TRAIN_NETWORKS_AT_H

#include "plan/session.h"
#include "train/predict/noise_at.h"
#include "train/predict/places.h"

struct network_values {
	int n;                           /* number of components of all networks that are fields */
	const char **name;               /* name of each component: u, or v.0 and v.1 for a network with
	                                  * two outputs */
	double **v;                      /* values of each component (realizations, places) */
	int64_t places, realizations;
};

/* Sets out->n and out->name only, in arena a. */
void networks_at_names(struct arena *a, const struct physics *p, struct network_values *out);
/* Evaluates the networks with the session's prediction plan; the contents of *out are in arena a.
 * E_DATA if there are too many values. */
int networks_at(const struct session *s, struct arena *a, const struct places *places,
                struct noise_draw draw, struct network_values *out);

#endif
