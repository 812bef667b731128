/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens the sets of samples of a session, the staging of their files, and their loaders, before
 * which the cut of samples is chosen. */
#ifndef DLX_TRAIN_OPEN_LOADERS_H
#define DLX_TRAIN_OPEN_LOADERS_H

#include "train/run/opening.h"

/* Opens the sets of samples alone, of the session's config and ranks. Collective. */
int session_open_sets(struct session *s, const struct session_options *o);
/* If the sets are to be staged, opens the folder of the copies, which staging_begin starts later,
 * or takes the staging that several runs share. */
int session_open_stage(struct session *s, const struct session_options *o);
/* With 'parallel.spatial: auto', chooses the cut and shares the batch among the teams; s->grid and
 * the device must be known. Collective. */
int session_settle_cut(struct session *s, const struct session_options *o);
/* session_describe_data, and the checks of the number of samples. */
int session_open_loaders(struct session *s, const struct session_options *o);
void session_close_loaders(struct session *s);

#endif
