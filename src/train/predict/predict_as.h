/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The forms in which a prediction of classes is written: the network's output as it is (logits),
 * the shares that softmax makes of it, or the number of the largest. Where several classes may be
 * there at once, each has its own probability, the sigmoid of its logit, and a flag, 0 or 1. */
#ifndef DLX_TRAIN_PREDICT_AS_H
#define DLX_TRAIN_PREDICT_AS_H

#include <stdbool.h>

#include "base/types.h"

/* PREDICT_SIGMOID and PREDICT_FLAGS are what probabilities and classes are for a loss of flags. */
enum predict_as { PREDICT_DEFAULT, PREDICT_LOGITS, PREDICT_PROBABILITIES, PREDICT_CLASSES,
	PREDICT_SIGMOID, PREDICT_FLAGS };
extern const char *const predict_as_names[];      /* of those to choose: from [1] on, to NULL */

/* Of a sample's output (C, [D,] H, W) in this form: element type and shape; classes have no axis of
 * channels. Classes and flags are I32. */
enum dtype predict_as_dtype(enum predict_as as);
struct shape predict_as_shape(enum predict_as as, const struct shape *output);
/* Changes the output of one sample in place, of `points` elements in each of this many channels. */
void predict_as_change(enum predict_as as, float *output, int64_t channels, int64_t points);
/* Whether a logit says that its class is there, as metrics have it: its probability is above 0.5 */
bool predict_flag(float logit);
/* The number of the largest of this many values, `step` elements apart; of equal ones the first. */
int64_t predict_largest(const float *v, int64_t channels, int64_t step);

/* Samples whose outputs are not all finite. All 0 at first. */
struct predict_bad {
	int64_t n, first, last;
};
/* Looks at n more outputs of a sample. */
void predict_bad_look(struct predict_bad *b, int64_t sample, const float *output, int64_t n);
/* Says how many there are, if there are any: predict_largest has no answer for them. */
void predict_bad_warn(const struct predict_bad *b, const char *out);

#endif
