/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names of the texts that a model keeps of the data that it was trained on, among a
 * checkpoint's scalars and in an export's metadata. train/diagnose/trained_on.h says what is in the
 * texts; a program that copies them from one to the other needs only their names. */
#ifndef DLX_CKPT_TRAINING_TEXTS_H
#define DLX_CKPT_TRAINING_TEXTS_H

#include <stdbool.h>

#define TRAINING_SET "training_set"
#define TRAINING_TRANSFORMS "transforms"
#define TRAINING_TARGET_TRANSFORMS "target_transforms"
#define TRAINING_UNSCALING "output_unscaling"
#define TRAINING_TEXTS 4

/* Whether a scalar, or a key of metadata, of this name is one of them. */
bool training_text_is(const char *name);

#endif
