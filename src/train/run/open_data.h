/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens the data of a session: its sets, the description of them for plans, and their loaders. */
#ifndef DLX_TRAIN_OPEN_DATA_H
#define DLX_TRAIN_OPEN_DATA_H

#include "train/run/opening.h"

/* Opens the training set, reading only its headers. */
int session_open_train_set(struct session *s, const struct session_options *o);
/* Call it after that: opens the second set, from the options' records if they name data, else from
 * data.validation. */
int session_open_data(struct session *s, const struct session_options *o);
/* Creates the loaders, and fills s->data, on which plans depend. An error names the set that does
 * not fit the other set, the network or the loss. */
int session_describe_data(struct session *s, const struct session_options *o);

#endif
