/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a file of numbers says of the predictions in it. */
#ifndef DLX_TRAIN_PREDICT_ARRAY_H
#define DLX_TRAIN_PREDICT_ARRAY_H

#include "plan/session.h"
#include "report/netcdf_file.h"
#include "train/predict/predict_as.h"

/* The array, and what it borrows. */
struct predict_array {
	struct shape shape;              /* of a sample, in the form asked for */
	struct axes axes;
	struct netcdf_array array;       /* borrows from this struct and from s */
};

/* Predictions of s's samples in the form `as`, where the network's output for one has shape
 * `output` (C, ...): with the axes of the data where the network reads all of them and the output
 * is as long, all other coordinates that lie on these, and the names of classes. A warning
 * on rank 0 says which coordinates are left out. */
void predict_array(struct predict_array *out, const struct session *s, enum predict_as as,
                   const struct shape *output);
/* What is known of the samples that s reads, which may be those of one size of the set. */
const struct dataset_info *predict_data(const struct session *s);
/* How many predictions a file of s's set has: of samples of all sizes. */
int64_t predict_samples(const struct session *s);
/* Whether the name is that of a netCDF or HDF5 file. */
bool predict_is_netcdf(const char *path);
/* Names of the output's channels, or NULL: *n names of classes, or of the target's channels. There
 * may be fewer names of classes than the network has. */
const char *const *predict_channel_names(const struct session *s, int64_t *n);
/* Makes of the form that was asked for that of the config's loss (predict_as.h). E_USAGE where the
 * network is not one of classes. */
int predict_choose_as(const struct session *s, enum predict_as *as);

#endif
