/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches that the loader for a GPU rounds to 16 bits, because the network would round them
 * itself. */
#ifndef DLX_TRAIN_ROUNDED_BATCH_H
#define DLX_TRAIN_ROUNDED_BATCH_H

#include "plan/session.h"

/* The type to which a loader of `set` may round inputs (loader_options.rounded): the 16-bit type to
 * which all plans over its batches round them, or F32 if there is no such type. o: the loader's
 * other options. s->data.input must be set, unless this is the first loader. */
enum dtype rounded_batch_type(const struct session *s, struct dataset *set,
                              const struct loader_options *o);
/* For a session without data, or with synthetic data: sets s->data.rest as for float32 data. */
void rounded_batch_imagine(struct session *s);

#endif
