/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run's complete state into a checkpoint and back: parameters, running statistics, moments, and
 * the clock (step, epoch, position in the data, what validations came to). Schedules and random
 * numbers are pure functions of the clock and the seed, so they need no state of their own. */
#ifndef DLX_TRAIN_STATE_H
#define DLX_TRAIN_STATE_H

#include "plan/session.h"
#include "train/save/snapshot.h"
#include "train/run/validations.h"

struct clock {
	int64_t step;              /* updates made */
	int64_t epoch;             /* epochs finished */
	int64_t batch;             /* batches (of all ranks together) of the current epoch used */
	struct validations validations; /* of validations so far */
	double metric;             /* state_load: of the validation at this step; NaN: none was made */
	bool reached;              /* state_load: that validation had reached train.target */
	double seconds;            /* of training so far, over all its runs */
};

/* What a version says of itself besides. */
struct state_texts {
	const char *metric_name;   /* that keep.best goes by; larger is better */
	double metric;             /* NaN: no validation was made at this step */
	int nmetrics;
	const struct ckpt_metric *metrics;
	const char *config, *program;
	struct ckpt_age age;       /* at least; see ckpt_state */
};
/* Where a state is saved: the run's store, and the one on this host's disk; NULL: not there. */
struct state_stores {
	struct ckpt_store *run, *local;
};
/* Begins saves (ckpt_save) of the state as it is now; snapshot.h says until when it stays so. None
 * is in flight: the caller has waited, and knows how the last ones went. */
int state_save(struct session *s, const struct state_stores *to, struct snapshot *snapshot,
               const struct clock *c, const struct state_texts *texts);
/* which: as in ckpt_load. *found: false if "auto" found none. A checkpoint of another network, seed
 * or data is refused with the difference named; one of another number of ranks only where it is not
 * at a step's end of this run. Collective: rank 0 reads, all get what it has read. */
int state_load(struct session *s, const char *dir, const char *which, struct clock *c, bool *found,
               char id[64]);
/* The same where hosts may have versions on their own disks, this one in `local`
 * (train/save/levels.h; NULL: none): for "auto" and "last" the newest that any has. */
struct state_resumed {
	bool found;
	int rank;                  /* whose host's disk it is from; -1: from the run's store */
	char id[64];
	struct ckpt_age newest;    /* of all versions on hosts' disks */
};
int state_resume(struct session *s, const char *dir, const char *local, const char *which,
                 struct clock *c, struct state_resumed *out);
/* Only parameters and running statistics, for evaluation, prediction and export; which and *found
 * as in state_load; id on rank 0. averaged: the averages of parameters in their place, where the
 * checkpoint has any. Collective. */
int state_load_weights(struct session *s, const char *dir, const char *which, bool averaged,
                       bool *found, char id[64]);
/* The averages of a run that begins: the parameters themselves. */
int state_begin_averages(struct store *store);

#endif
