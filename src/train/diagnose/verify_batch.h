/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The synthetic batch on which a partition is verified. */
#ifndef DLX_TRAIN_VERIFY_BATCH_H
#define DLX_TRAIN_VERIFY_BATCH_H

#include "train/diagnose/verify_run.h"

/* Draws batch r->draw of whole samples into r->batch, for the training plan p. */
void verify_batch(struct verify_run *r, const struct plan *p);

#endif
