/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a training run between its steps, for loop*.c. */
#ifndef DLX_TRAIN_LOOP_STATE_H
#define DLX_TRAIN_LOOP_STATE_H

#include "op/update/loss_scale.h"
#include "optim/schedule.h"
#include "report/progress.h"
#include "train/run/batches.h"
#include "train/diagnose/diverged.h"
#include "train/save/job_end.h"
#include "train/save/journal.h"
#include "train/diagnose/left_out.h"
#include "train/run/loop.h"
#include "train/run/pace.h"
#include "train/diagnose/gpu_failure.h"
#include "train/run/search.h"
#include "train/diagnose/slow_watch.h"

/* A step in flight: submitted, its results not read back yet. */
struct submitted {
	struct plan *plan;
	struct clock before, clock;    /* of it; after it */
	int64_t samples, number;       /* which of this run, from 1 */
	int size;                      /* of its samples (loader_size) */
	double work;                   /* its samples, each counted by its cost relative to the mean one
	                                * (loop.sample_flops): samples, where all have one size */
	uint64_t allocations;          /* while it was launched */
	double waited;                 /* waited for its batch, in seconds */
};

struct loop {
	struct session *s;
	const struct run_config *c;
	struct comm *comm;
	bool first;                    /* this is rank 0, or alone */
	struct journal *journal;       /* these three: of rank 0, else NULL or silent */
	struct progress *progress;
	struct ckpt_store *ckpt;       /* also of ranks that write their share; else NULL */
	struct ckpt_store *local;      /* on this host's disk (train/save/levels.h), or NULL */
	const char *local_folder;      /* NULL without checkpoint.local */
	char run[CKPT_RUN];            /* the run's id; "" if it begins */
	char parent[64];               /* of the next version; of rank 0 */
	struct ckpt_age newest;        /* of the versions so far; of rank 0 */
	struct snapshot *snapshot;     /* likewise */
	const char *config_text;       /* for versions; in the config's arena */
	struct clock clock;            /* after the last submitted step */
	struct submitted submitted[READBACK_DEPTH];
	int nsubmitted;
	bool overlapped;               /* two steps may be in flight */
	double retired_at;             /* time of the last readback, or of the first launch */
	struct schedule_context schedule;
	int64_t batches;               /* per epoch */
	int64_t epochs;                /* 0: by steps alone */
	double start, began;           /* io_seconds at the beginning of this run; when the first rank's
	                                * process began */
	double seconds_before;         /* of earlier runs, from the checkpoint */
	double saved_at, saved_local_at;
	double stall;                  /* seconds that the newest save has kept training */
	struct pace pace;
	double scaling[LOSS_SCALE_STATE]; /* of the loss; all zero if there is none */
	double guard[GUARD_TOLD];      /* op/update/step_guard.h, after the last step read back */
	struct jsonl_value value[PORTS_MOST];    /* of equations, likewise */
	int nvalues;
	enum left_out left_out;        /* whether that one was */
	int looked;                    /* steps left out that were looked into (nonfinite_look) */
	struct diverged diverged;
	double sample_flops;           /* of a micro-batch, forward to update, by its samples; the mean
	                                * of an epoch's samples */
	double *size_flops;            /* the same of each size (loader_size) */
	struct job_end job_end;
	/* Smoothed over about twenty steps. */
	double step_seconds, wait_seconds;
	bool worth_saving;             /* the failure is not one of training itself */
	bool explained;                /* the GPU's failure */
	struct batches prefetched;
	struct rates rates;
	struct slow_watch slow;
	bool weighed, counted;         /* a step had a weight that is not 0; and a loss that is not 0 */
	bool safe;                     /* a complete checkpoint is on disk */
	struct resume_point durable;   /* the newest of them that this process knows */
	int64_t saved_step;            /* -1: none in this run */
	int64_t saved_local_step;      /* likewise, on hosts' disks */
	int64_t evaluated_step;
	int64_t watched_step;          /* of the last validation that clock.validations has counted */
	bool best;                     /* a validation since the last save was better than any before */
	bool stop, save, save_local, report;   /* the ranks' votes, agreed upon with this step */
	double metric;                 /* last value of the watched metric, larger is better */
	struct train_result *result;
	const char *trace;             /* file for the record of the first steps, or NULL */
	int64_t trace_steps;
	/* Of steps that are made again (train/diagnose/rerun.h): */
	int64_t last;                  /* nothing is read beyond this step; 0: the config says where
	                                * training ends */
	struct search *search;         /* of a phase of L-BFGS, or NULL */
	bool settled;                  /* which has ended */
	struct look *look;             /* looks at every node of the next step, or NULL */
};

/* --- one step (loop_step.c) --- */

/* The number of the loader's batches in the next update: fewer at the end of an epoch. */
int64_t loop_step_batches(const struct loop *l);
/* Gives the next step to the device and moves the clock. number: which of this run, from 1. */
int loop_submit(struct loop *l, int64_t number);
/* The learning rate of step `step`, counted from 0, by the schedule of its objective. */
double loop_rate(const struct loop *l, int64_t step);
/* c: after a step. Whether a version is due, and one on hosts' disks; of rank 0. */
bool loop_save_due(const struct loop *l, const struct clock *c);
bool loop_save_local_due(const struct loop *l, const struct clock *c);
bool loop_finished(const struct loop *l, const struct clock *c);
bool loop_validation_due(const struct loop *l);
/* Of the step that the run goes on from: it was made and counts in clock.validations; one was due
 * there and was cut short. */
bool loop_validation_counted(const struct loop *l);
bool loop_validation_missing(const struct loop *l);
bool loop_stop_wanted(void);

/* --- saving (loop_save.c) --- */

/* Seconds of training so far, over all runs. */
double loop_elapsed(const struct loop *l);
/* Returns rc, which is of a line of the journal or of a deferred plan. If it is a failure, the run
 * ends with a checkpoint: what was learned is whole. */
int loop_save_on_failure(struct loop *l, int rc);
/* Notes the saves that have become durable. Before the next save: the times are those of the
 * last. */
int loop_note_durable(struct loop *l);
/* Begins a version of the state as it is. One that cannot be saved does not end training: older
 * versions are intact, and the next save tries again. only_local: on hosts' disks alone.
 * Collective. */
int loop_save(struct loop *l, bool only_local);
/* The last version, and its end. It is an error if that cannot be saved; a failure of an earlier
 * save is not. Collective. */
int loop_save_at_end(struct loop *l);
/* Rank 0, where the others may not come: saves without them. */
void loop_save_alone(struct loop *l);

/* --- before the first (loop_begin.c) --- */

/* Sets the numbers of batches, steps and epochs. E_CONFIG. */
int loop_plan_length(struct loop *l);
/* The files of the run, its length and, if it goes on, its state. Collective. */
int loop_prepare(struct loop *l, const struct train_options *o);
/* Samples of a batch of all ranks. */
int64_t loop_global_batch(const struct loop *l);
/* The work of a step; see struct submitted. */
double loop_work(const struct loop *l, const struct submitted *g);
/* Samples seen in an epoch, which may drop what fills no batch. */
int64_t loop_epoch_samples(const struct loop *l);

#endif
