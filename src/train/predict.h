/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--predict": the network's output for every sample of some files, as numbers or as pictures. */
#ifndef DLX_TRAIN_PREDICT_H
#define DLX_TRAIN_PREDICT_H

#include <stdbool.h>

#include "base/option.h"
#include "plan/session.h"
#include "train/predict_as.h"

/* out ends in .npy, .npz, .nc, .h5 or .hdf5: all outputs in one array (samples, channels, ...), in
 * the form `as`, by default as they are. Ends in .csv: a line for each sample, with its class and,
 * by default, the probabilities. Else out is a folder that gets one PNG a sample: for class
 * networks the predicted map above the true one, else the first output channel above the first
 * target channel. s needs SESSION_PREDICT | SESSION_RUN and data = the files. *written: files or
 * samples written; first: the number of the first picture, whose name is that of names->v with .png
 * behind it, or the number where there are no names. Collective; rank 0 writes. */
int predict(struct session *s, const char *out, enum predict_as as, int64_t first,
            const struct texts *names, int64_t *written);

/* Whether out is one file, not a folder. */
bool predict_to_file(const char *out);

#endif
