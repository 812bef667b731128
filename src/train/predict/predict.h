/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--predict": the network's output for every sample of some files, as numbers or as pictures; with
 * "--tile" window by window (plan/extent/tiles.h) and slab by slab, so that no tensor of a whole
 * sample is ever in memory; the values of the networks of equations at places that the user
 * chooses. */
#ifndef DLX_TRAIN_PREDICT_H
#define DLX_TRAIN_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "plan/session.h"
#include "train/predict/predict_as.h"

struct physics;

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

/* Writes the file `out` as predict() does; its name ends in .npy, .nc, .h5 or .hdf5. s needs
 * SESSION_PREDICT | SESSION_RUN and s->tiles. The windows of a sample are divided among the ranks.
 * E_USAGE for pictures. Collective; rank 0 writes. */
int predict_tiles(struct session *s, const char *out, enum predict_as as, int64_t *written);

/* given: either "grid: {x: 201, t: 101}" (see places_of_grid), or "record: FILE" or just FILE. For
 * a record the networks are evaluated at its points, or with "sensors: FIELD" at that field's
 * sensors, and the record's own values are written too. For networks that read noise, given may add
 * "realizations: N", "seed: N" and "samples: true", which writes the realizations instead of their
 * statistics. For networks of samples see predict_sampled. path ends in .nc, .h5, .npy or .csv, or
 * for a grid in .png or .svg. *written: the number of places. E_USAGE for another name, and for a
 * mistake in given, with its place in the argument of "--predict". Rank 0 writes. */
int predict_grid(struct session *s, const char *given, const char *path, int64_t *written);
/* E_USAGE if path does not end in the name of a format that predict_grid writes. */
int predict_grid_check(const struct physics *p, const char *path);

#endif
