/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--predict": the network's output for every sample of some files, as numbers or as pictures. */
#ifndef DLX_TRAIN_PREDICT_H
#define DLX_TRAIN_PREDICT_H

#include <stdbool.h>

#include "base/option.h"
#include "plan/session.h"
#include "train/predict/predict_as.h"

/* What the sessions of several sizes share; zeroed before the first. */
struct predict_parts {
	bool more;                 /* further sizes follow; set by the caller */
	int64_t each;              /* elements of a vector; 0: none is predicted yet */
	float *vectors;            /* of all samples, on rank 0; mem_free */
};

/* out ends in .npy, .npz, .nc, .h5 or .hdf5: all outputs in one array (samples, channels, ...), in
 * the form `as`, by default as they are. Ends in .csv: a line for each sample, with its class and,
 * by default, the probabilities. Else out is a folder that gets one PNG a sample: for class
 * networks the predicted map above the true one, else the first output channel above the first
 * target channel. s needs SESSION_PREDICT | SESSION_RUN and data = the files. *written: files or
 * samples written. The picture of sample i of all files has the name names->v[i] followed by .png
 * it, or the number where there are no names.
 *
 * Samples of several sizes (s->only_size) are predicted by a session for each size, in turn. Then
 * `out` is a folder, or outputs are vectors, which `parts` keeps until the last session writes
 * those of all samples, in their order; else E_DATA. Collective; rank 0 writes. */
int predict(struct session *s, const char *out, enum predict_as as, const struct texts *names,
            struct predict_parts *parts, int64_t *written);

/* Whether out is one file, not a folder. */
bool predict_to_file(const char *out);

#endif
