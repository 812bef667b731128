/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known values of the fields that networks of equations stand for, data.validation, and how far the
 * networks are from them. Of networks of noise the record's samples are realizations, and
 * statistics at each place are compared. */
#ifndef DLX_TRAIN_KNOWN_H
#define DLX_TRAIN_KNOWN_H

#include "base/ensemble.h"
#include "train/predict/evaluate.h"
#include "train/predict/networks_at.h"

struct known {
	struct arena *a;                 /* its own */
	struct places places;
	int n;
	struct known_field {
		int component;               /* of network_values */
		const char *name;
		const double *v;             /* (realizations, places) */
		struct ensemble law;         /* of random fields */
	} *field;
	bool random;
	struct arena *last;              /* results of the last comparison */
};

/* Reads the config's record; known_free. E_CONFIG, E_DATA at the place of its name if it lacks a
 * coordinate or has no array of a network's name; errors of record_open. */
int known_open(struct known **out, const struct run_config *c);
void known_free(struct known *k);                /* NULL is fine */
/* As evaluate: the config's metrics. The loss is the mean square of all differences: of values, or
 * of means and of deviations together. What *out points at is k's until the next call. */
int known_compare(struct known *k, const struct session *s, struct evaluation *out);

#endif
