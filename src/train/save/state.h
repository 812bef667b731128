/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Saves a run's complete state to a checkpoint and loads it: parameters, running statistics, the
 * optimizer's moments, and the clock (step, epoch, position in the data, history of validations).
 * Schedules and random numbers are pure functions of the clock and the seed, so they have no
 * state. */
#ifndef DLX_TRAIN_STATE_H
#define DLX_TRAIN_STATE_H

#include "plan/session.h"
#include "train/save/snapshot.h"
#include "train/run/validations.h"

struct clock {
	int64_t step;              /* updates made */
	int64_t epoch;             /* epochs finished */
	int64_t batch;             /* batches (of all ranks together) of the current epoch used */
	struct validations validations; /* history of validations */
	double metric;             /* set by state_load: metric of the validation at this step; NaN:
	                            * none was made */
	bool reached;              /* set by state_load: that validation reached train.target */
	double seconds;            /* seconds of training so far, including those before a resume */
};

/* The metadata of a version. */
struct state_texts {
	const char *metric_name;   /* metric by which keep.best chooses; larger is better */
	double metric;             /* NaN: no validation was made at this step */
	int nmetrics;
	const struct ckpt_metric *metrics;
	const char *config, *program;
	struct ckpt_age age;       /* the least age that the version gets; see ckpt_state */
};
/* The stores in which a state is saved: that of the run, and that on this host's disk; NULL: there
 * is none. */
struct state_stores {
	struct ckpt_store *run, *local;
};
/* Begins saves (ckpt_save) of the present state; snapshot.h describes until when it must not
 * change. No save may be in flight: the caller has waited for the last ones and checked their
 * results. */
int state_save(struct session *s, const struct state_stores *to, struct snapshot *snapshot,
               const struct clock *c, const struct state_texts *texts);
/* Loads a state. which: as in ckpt_load. *found: false if "auto" found none. A checkpoint of
 * another network, seed or data is refused, and the error names the difference. One of another
 * number of ranks is refused only if its position in the data is not between two steps of this run.
 * Collective: rank 0 reads and broadcasts. */
int state_load(struct session *s, const char *dir, const char *which, struct clock *c, bool *found,
               char id[64]);
/* Like state_load, but also finds versions on hosts' own disks, in the folder `local` of this host
 * (train/save/levels.h; NULL: none). "auto" and "last" take the newest version on any host or in
 * the run's store. */
struct state_resumed {
	bool found;
	int rank;                  /* a rank of the host whose disk had the version; -1: it is from the
	                            * run's store */
	char id[64];
	struct ckpt_age newest;    /* age of the newest version on hosts' disks */
};
int state_resume(struct session *s, const char *dir, const char *local, const char *which,
                 struct clock *c, struct state_resumed *out);
/* Loads only parameters and running statistics, for evaluation, prediction and export. which and
 * *found are as in state_load; id is set on rank 0. averaged: load the averages of parameters in
 * their place, if the checkpoint has any. Collective. */
int state_load_weights(struct session *s, const char *dir, const char *which, bool averaged,
                       bool *found, char id[64]);
/* Initialises the averages of a new run with the parameters. */
int state_begin_averages(struct store *store);

#endif
