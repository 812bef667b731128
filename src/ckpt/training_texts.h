/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names of the texts that a model keeps about its training data, in the scalars of a checkpoint and
 * in the metadata of an export. train/diagnose/trained_on.h describes the texts; a program that
 * only copies them needs their names alone. */
#ifndef DLX_CKPT_TRAINING_TEXTS_H
#define DLX_CKPT_TRAINING_TEXTS_H

#include <stdbool.h>

#define TRAINING_SET "training_set"
#define TRAINING_TRANSFORMS "transforms"
#define TRAINING_TARGET_TRANSFORMS "target_transforms"
#define TRAINING_UNSCALING "output_unscaling"
#define TRAINING_TEXTS 4

/* Whether this is the name of one of these texts. */
bool training_text_is(const char *name);

#endif
