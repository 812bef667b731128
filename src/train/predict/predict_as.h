/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The forms in which a prediction of classes is written: the network's output itself (logits), its
 * softmax (probabilities), or the index of the largest logit (classes). If several classes may be
 * present at once, each class has its own probability, the sigmoid of its logit, and a flag, 0 or
 * 1. */
#ifndef DLX_TRAIN_PREDICT_AS_H
#define DLX_TRAIN_PREDICT_AS_H

#include <stdbool.h>

#include "base/types.h"

/* PREDICT_SIGMOID and PREDICT_FLAGS replace probabilities and classes if the loss is for flags. */
enum predict_as { PREDICT_DEFAULT, PREDICT_LOGITS, PREDICT_PROBABILITIES, PREDICT_CLASSES,
	PREDICT_SIGMOID, PREDICT_FLAGS };
extern const char *const predict_as_names[];      /* names of the forms that a user may choose, from
                                                   * [1] on; NULL-terminated */

/* The element type, and the shape, of a sample's output (C, [D,] H, W) in this form. Classes have
 * no axis of channels. Classes and flags are I32. */
enum dtype predict_as_dtype(enum predict_as as);
struct shape predict_as_shape(enum predict_as as, const struct shape *output);
/* Changes the output of one sample to the form `as`, in place. It has `channels` channels of
 * `points` elements. */
void predict_as_change(enum predict_as as, float *output, int64_t channels, int64_t points);
/* Whether the class of a logit is predicted as present: its probability is above 0.5, as in
 * metrics. */
bool predict_flag(float logit);
/* The index of the largest of `channels` values, which are `step` elements apart; the first of
 * equal ones. */
int64_t predict_largest(const float *v, int64_t channels, int64_t step);

/* The number of samples whose outputs are not all finite, and the first and last of them. Zeroed at
 * first. */
struct predict_bad {
	int64_t n, first, last;
};
/* Checks the next n outputs of a sample. */
void predict_bad_look(struct predict_bad *b, int64_t sample, const float *output, int64_t n);
/* Warns if there are such samples, since the class of a NaN is meaningless. */
void predict_bad_warn(const struct predict_bad *b, const char *out);

#endif
