/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What --predict writes of networks of equations: arrays over places. */
#ifndef DLX_TRAIN_PREDICTED_FIELDS_H
#define DLX_TRAIN_PREDICTED_FIELDS_H

#include "train/predict/known.h"
#include "train/predict/places.h"

struct predicted_fields {
	const struct strings *coordinates;
	struct places places;
	int n;
	struct predicted_field {
		const char *name;
		const double *v;             /* a value at each place; or (realizations, places) */
		const struct ensemble *law;  /* of a random field that is drawn; or NULL */
	} *field;
	int64_t realizations;            /* 0: none */
	bool wide;                       /* computed in float64 */
};

/* By the name of the file: .nc, .h5, .npy or .csv. E_CANTCREATE, E_IO. */
int predicted_fields_write(const struct predicted_fields *p, struct arena *a, const char *path);
/* A picture of values on a grid of one or two axes; axes of one place are none. Next to each field
 * are the known values, which may be NULL, and the difference. Of a random field its mean, its
 * deviation and, on one axis, the band between its quantiles are drawn. E_USAGE for other grids,
 * E_CANTCREATE, E_IO. */
int predicted_fields_draw(const struct predicted_fields *p, const struct known *known,
                          struct arena *a, const char *path);

#endif
