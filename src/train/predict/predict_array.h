/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The metadata of predictions in a file of numbers: shape, axes, coordinates and names of
 * classes. */
#ifndef DLX_TRAIN_PREDICT_ARRAY_H
#define DLX_TRAIN_PREDICT_ARRAY_H

#include "plan/session.h"
#include "report/netcdf_file.h"
#include "train/predict/predict_as.h"

/* The description of the array, and the memory that it borrows. */
struct predict_array {
	struct shape shape;              /* shape of a sample in the requested form */
	struct axes axes;
	struct netcdf_array array;       /* borrows from this struct and from s */
};

/* Describes predictions of s's samples in the form `as`; `output` is the shape (C, ...) of the
 * network's output. An axis of the data is kept if the network reads the whole axis and its output
 * has the same extent. Other coordinates are kept if all their axes are, and so are the names of
 * classes. Rank 0 warns of coordinates that are left out. */
void predict_array(struct predict_array *out, const struct session *s, enum predict_as as,
                   const struct shape *output);
/* The description of the samples that s reads, which may be those of one size of the set. */
const struct dataset_info *predict_data(const struct session *s);
/* The number of predictions in a file for s's set: one per sample of any size. */
int64_t predict_samples(const struct session *s);
/* Whether path ends in an extension of NetCDF or HDF5 files. */
bool predict_is_netcdf(const char *path);
/* The *n names of the output's channels: those of classes, or of the target's channels; NULL if
 * there are none. The network may have more classes than there are names. */
const char *const *predict_channel_names(const struct session *s, int64_t *n);
/* Changes the requested form to the one that fits the config's loss, such as probabilities to
 * sigmoids (predict_as.h). E_USAGE if the network does not predict classes. */
int predict_choose_as(const struct session *s, enum predict_as *as);

#endif
