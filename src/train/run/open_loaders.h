/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens the loaders of a session whose sets are open, and chooses the cut of samples before. */
#ifndef DLX_TRAIN_OPEN_LOADERS_H
#define DLX_TRAIN_OPEN_LOADERS_H

#include "train/run/opening.h"

/* With 'parallel.spatial: auto', chooses the cut and shares the batch among the teams; s->grid and
 * the device must be known. Collective. */
int session_settle_cut(struct session *s, const struct session_options *o);
/* session_describe_data, and the checks of the number of samples. */
int session_open_loaders(struct session *s, const struct session_options *o);
void session_close_loaders(struct session *s);

#endif
