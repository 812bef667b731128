/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known values, from data.validation, of what networks of equations approximate, and the comparison
 * of the networks with them. If networks of coordinates read noise, the record's samples are
 * realizations, and statistics at each place are compared; networks of samples are compared sample
 * by sample, and their statistics, too. */
#ifndef DLX_TRAIN_KNOWN_H
#define DLX_TRAIN_KNOWN_H

#include "base/ensemble.h"
#include "train/predict/evaluate.h"
#include "train/predict/networks_at.h"

struct known {
	struct arena *a;                 /* arena of all its memory */
	struct places places;
	int n;
	struct known_field {
		int component;               /* index of the component in struct network_values, or in
		                              * struct sample_values */
		const char *name;
		const double *v;             /* (realizations, places); NULL for samples: evaluated with
		                              * the networks */
		struct ensemble law;         /* for random fields, the statistics over realizations */
	} *field;
	bool random;
	struct arena *last;              /* arena of the last comparison's results */
};

/* Reads the config's record; free with known_free. E_CONFIG or E_DATA, at the place of the record's
 * name in the config, if it lacks a coordinate or has nothing to compare a network with, and
 * E_CONFIG at a metric that does not fit; errors of record_open. */
int known_open(struct known **out, const struct run_config *c);
void known_free(struct known *k);                /* NULL is fine */
/* Computes the config's metrics, like evaluate. The loss is the mean square of all differences:
 * between values or, for what is drawn from noise alone, between means and between standard
 * deviations together.
 * *out points to memory of k that is valid until the next call. */
int known_compare(struct known *k, const struct session *s, struct evaluation *out);

#endif
