/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes what networks of equations make of the samples of a record, or of noise alone, to one
 * file. */
#ifndef DLX_TRAIN_PREDICT_SAMPLED_H
#define DLX_TRAIN_PREDICT_SAMPLED_H

#include "plan/session.h"
#include "train/predict/predict_request.h"

/* Writes each network that can be evaluated, or those of r->network, as an array (samples, its
 * shape), followed by what it is compared with and the difference. Without a record these are
 * realizations or, unless r->samples, their statistics. path ends in .nc, .h5, .npz, .npy (of one
 * network) or .csv. *written: samples or realizations. E_USAGE for another name, and for a mistake
 * in r, with its place. Rank 0 writes. */
int predict_sampled(struct session *s, struct arena *a, const struct predict_request *r,
                    const char *path, int64_t *written);

#endif
