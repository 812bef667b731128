/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Evaluates the networks of equations for the samples of a record, or for realizations of noise. */
#ifndef DLX_TRAIN_SAMPLES_AT_H
#define DLX_TRAIN_SAMPLES_AT_H

#include "plan/physics/physics.h"
#include "plan/session.h"

struct sample_values {
	int64_t rows;                    /* samples or realizations */
	int n;
	struct sample_output {
		const struct evaluated *of;
		double *v;                   /* (rows, components) */
		double *known;               /* (rows, components); NULL: not known */
	} *output;
};

/* For the samples of the config's record, or of noise alone if there is none, for `rows`
 * realizations. Realization r of a seed is always the same, and differs from those of training. The
 * contents of *out are in arena a. E_DATA if there are too many values. */
int samples_at(const struct session *s, struct arena *a, int64_t rows, uint64_t seed,
               struct sample_values *out);

#endif
