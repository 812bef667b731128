/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--predict": the network's output for every sample of some files, as numbers or as pictures. */
#ifndef DLX_TRAIN_PREDICT_H
#define DLX_TRAIN_PREDICT_H

#include <stdbool.h>

#include "base/option.h"
#include "plan/session.h"
#include "train/predict/predict_as.h"

/* State shared by the sessions that predict samples of different sizes; zeroed before the first. */
struct predict_parts {
	bool more;                 /* further sizes follow; set by the caller */
	int64_t each;              /* elements of an output vector; 0: none was predicted yet */
	float *vectors;            /* output vectors of all samples, on rank 0; free with mem_free */
};

/* If out ends in .npy, .npz, .nc, .h5 or .hdf5, writes all outputs as one array (samples, channels,
 * ...) in the form `as`, by default unchanged. If it ends in .csv, writes a line for each sample,
 * with its class and, by default, the probabilities. Else out is a folder that gets one PNG per
 * sample: for networks of classes the predicted map above the true one, else the first output
 * channel above the first target channel. The PNG of sample i is called names->v[i].png, or has the
 * sample's number if there are no names. s needs SESSION_PREDICT | SESSION_RUN, and must be opened
 * on the files. *written: files or samples written.
 *
 * Samples of several sizes (s->only_size) are predicted by one session for each size, in turn. Then
 * either `out` is a folder, or outputs are vectors, which `parts` keeps until the last session
 * writes those of all samples in their order; else E_DATA. Collective; rank 0 writes. */
int predict(struct session *s, const char *out, enum predict_as as, const struct texts *names,
            struct predict_parts *parts, int64_t *written);

/* Whether out is one file, not a folder. */
bool predict_to_file(const char *out);

#endif
