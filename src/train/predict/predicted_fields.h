/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arrays over places that --predict writes for networks of equations. */
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
		const double *v;             /* values (places), or (realizations, places) */
		const struct ensemble *law;  /* statistics over realizations, for a random field that is
		                              * drawn as a picture; or NULL */
	} *field;
	int64_t realizations;            /* number of realizations; 0: the fields are not random */
	bool wide;                       /* values were computed in float64 */
};

/* Writes the format of the file's extension: .nc, .h5, .npy or .csv. E_CANTCREATE, E_IO. */
int predicted_fields_write(const struct predicted_fields *p, struct arena *a, const char *path);
/* Draws the fields on a grid of one or two axes; axes with a single place are not counted. Each
 * field is followed by its known values and the difference, unless known is NULL. For a random
 * field the mean, the standard deviation and, on one axis, the band between quantiles are drawn.
 * E_USAGE for other grids, E_CANTCREATE, E_IO. */
int predicted_fields_draw(const struct predicted_fields *p, const struct known *known,
                          struct arena *a, const char *path);

#endif
