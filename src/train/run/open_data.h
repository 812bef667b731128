/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data of a session: its sets, what plans need to know of them, and their loaders. */
#ifndef DLX_TRAIN_OPEN_DATA_H
#define DLX_TRAIN_OPEN_DATA_H

#include "train/run/opening.h"

/* Opens the training set, of which only the headers are read. */
int session_open_train_set(struct session *s, const struct session_options *o);
/* Then the second set, of the options' records where they have data. */
int session_open_data(struct session *s, const struct session_options *o);
/* Whether it is a training whose sets are to be staged. */
bool session_stages(const struct session *s, const struct session_options *o);
/* If so: opens the folder, not yet the traffic (staging_begin). */
int session_open_stage(struct session *s, const struct session_options *o);
/* Makes the loaders, and fills s->data: what plans depend on. Errors name a set that does not fit
 * the other, the network or the loss. */
int session_open_loaders(struct session *s, const struct session_options *o);

#endif
