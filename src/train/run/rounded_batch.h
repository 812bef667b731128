/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches that a GPU's loader rounds to 16 bits, since the network reads no more. */
#ifndef DLX_TRAIN_ROUNDED_BATCH_H
#define DLX_TRAIN_ROUNDED_BATCH_H

#include "plan/session.h"

/* The type to which a loader of set may round (loader_options.rounded), of which o says the rest:
 * that of all plans over its batches; or F32. s->data.input is known but for the first loader. */
enum dtype rounded_batch_type(const struct session *s, struct dataset *set,
                              const struct loader_options *o);
/* Where there is no data, or it is made up: s->data.rest is what float32 data would have. */
void rounded_batch_imagine(struct session *s);

#endif
