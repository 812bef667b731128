/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run's complete state into a checkpoint and back: parameters, running statistics, moments, and
 * the clock (step, epoch, position in the data, what validations came to). Schedules and random
 * numbers are pure functions of the clock and the seed, so they need no state of their own. */
#ifndef DLX_TRAIN_STATE_H
#define DLX_TRAIN_STATE_H

#include "plan/session.h"
#include "train/validations.h"

struct clock {
	int64_t step;              /* updates made */
	int64_t epoch;             /* epochs finished */
	int64_t batch;             /* batches (of all ranks together) of the current epoch used */
	struct validations validations; /* of validations so far */
	double metric;             /* state_load: of the validation at this step; NaN: none was made */
	double seconds;            /* of training so far, over all its runs */
};

/* Stages a save (ckpt_save), on rank 0: returns when the
 * copy is made. metric: for keep.best; NaN if none. */
int state_save(struct session *s, struct ckpt_store *store, const struct clock *c,
               const char *metric_name, double metric);
/* which: as in ckpt_load. *found: false if "auto" found none. A checkpoint of another network, seed
 * or data is refused with the difference named; one of another number of ranks only where it is not
 * at a step's end of this run. Collective: rank 0 reads, all get what it has read. */
int state_load(struct session *s, const char *dir, const char *which, struct clock *c, bool *found,
               char id[64]);
/* Only parameters and running statistics, for evaluation, prediction and export; which and *found
 * as in state_load; id on rank 0. averaged: the averages of parameters in their place, where the
 * checkpoint has any. Collective. */
int state_load_weights(struct session *s, const char *dir, const char *which, bool averaged,
                       bool *found, char id[64]);
/* The averages of a run that begins: the parameters themselves. */
int state_begin_averages(struct store *store);

#endif
