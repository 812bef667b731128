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

/* A step in flight: submitted to the device, with its results not read back yet. */
struct submitted {
	struct plan *plan;
	struct clock before, clock;    /* clock before the step, and after it */
	int64_t samples, number;       /* samples of the step; its number in this run, from 1 */
	int size;                      /* size of its samples (loader_size) */
	double work;                   /* its samples, each counted by its cost relative to the mean
	                                * sample (loop.sample_flops); equal to `samples` if all have one
	                                * size */
	uint64_t allocations;          /* memory allocations while it was submitted */
	double waited;                 /* seconds of waiting for its batch */
};

struct loop {
	struct session *s;
	const struct run_config *c;
	struct comm *comm;
	bool first;                    /* this is rank 0, or the only rank */
	struct journal *journal;       /* these three are active on rank 0 only; on other ranks NULL or
	                                * silent */
	struct progress *progress;
	struct ckpt_store *ckpt;       /* also open on ranks that write a share of a checkpoint; else
	                                * NULL */
	struct ckpt_store *local;      /* store on this host's disk (train/save/levels.h), or NULL */
	const char *local_folder;      /* its folder; NULL without checkpoint.local */
	char run[CKPT_RUN];            /* the run's id; "" for a new run */
	char parent[64];               /* id of the next version's parent; on rank 0 */
	struct ckpt_age newest;        /* age of the newest version so far; on rank 0 */
	struct snapshot *snapshot;     /* likewise */
	const char *config_text;       /* config text stored in versions; in the config's arena */
	struct clock clock;            /* after the last submitted step */
	struct submitted submitted[READBACK_DEPTH];
	int nsubmitted;
	bool overlapped;               /* two steps may be in flight */
	double retired_at;             /* time of the last readback, or of the first launch */
	struct schedule_context schedule;
	int64_t batches;               /* batches per epoch */
	int64_t epochs;                /* epochs to train; 0: only the number of steps is given */
	double start, began;           /* io_seconds when the loop began; when the first rank's process
	                                * began */
	double seconds_before;         /* seconds of training before a resume, from the checkpoint */
	double saved_at, saved_local_at;
	double stall;                  /* seconds that training waited for the newest save */
	struct pace pace;
	double scaling[LOSS_SCALE_STATE]; /* state of loss scaling; all zero if there is none */
	double guard[GUARD_TOLD];      /* state of the guard (op/update/step_guard.h) after the last
	                                * step read back */
	struct jsonl_value value[PORTS_MOST];    /* terms and variables of equations, likewise */
	int nvalues;
	enum left_out left_out;        /* whether the guard skipped that step, and why */
	int looked;                    /* number of skipped steps that were examined (nonfinite_look) */
	struct diverged diverged;
	double sample_flops;           /* flops of a step per sample, forward to update: the mean over
	                                * an epoch's samples */
	double *size_flops;            /* the same for each size of samples (loader_size) */
	struct job_end job_end;
	/* Seconds of a step, and of waiting for data in it, smoothed over about twenty steps. */
	double step_seconds, wait_seconds;
	bool worth_saving;             /* the failure was not in training itself, so the state is worth
	                                * saving */
	bool explained;                /* the GPU's failure has been explained in the error */
	struct batches prefetched;
	struct rates rates;
	struct slow_watch slow;
	bool weighed, counted;         /* some step so far had a nonzero weight; some step had a nonzero
	                                * loss */
	bool safe;                     /* a complete checkpoint is on disk */
	struct resume_point durable;   /* the newest complete checkpoint that this process knows */
	int64_t saved_step;            /* step of the last save; -1: none in this run */
	int64_t saved_local_step;      /* likewise, on hosts' disks */
	int64_t evaluated_step;
	int64_t watched_step;          /* step of the last validation counted in clock.validations */
	bool best;                     /* a validation since the last save was better than any before */
	bool stop, save, save_local, report;   /* the votes of all ranks, as summed with the last step
	                                        * read back */
	double metric;                 /* last value of the watched metric, larger is better */
	struct train_result *result;
	const struct train_watch *watch;     /* or NULL */
	const char *trace;             /* file for the trace of the first steps, or NULL */
	int64_t trace_steps;
	/* For steps that are repeated (train/diagnose/rerun.h): */
	int64_t last;                  /* last step for which data is read; 0: the config gives the end
	                                * of training */
	struct search *search;         /* state of a phase of L-BFGS, or NULL */
	bool settled;                  /* the phase of L-BFGS has ended */
	struct look *look;             /* examines every node of the next step; or NULL */
};

/* --- one step (loop_step.c) --- */

/* The number of the loader's batches in the next update: fewer at the end of an epoch. */
int64_t loop_step_batches(const struct loop *l);
/* Submits the next step to the device and advances the clock. number: the step's number in this
 * run, from 1. */
int loop_submit(struct loop *l, int64_t number);
/* The learning rate of step `step`, counted from 0, by the schedule of its objective. */
double loop_rate(const struct loop *l, int64_t step);
/* Whether a version is due, in the run's store and on hosts' disks. c: the clock after a step. Only
 * rank 0 calls them. */
bool loop_save_due(const struct loop *l, const struct clock *c);
bool loop_save_local_due(const struct loop *l, const struct clock *c);
bool loop_finished(const struct loop *l, const struct clock *c);
bool loop_validation_due(const struct loop *l);
/* For a resumed run: whether the validation at the checkpoint's step is counted in
 * clock.validations; whether one was due there but was interrupted. */
bool loop_validation_counted(const struct loop *l);
bool loop_validation_missing(const struct loop *l);
bool loop_stop_wanted(void);

/* --- saving (loop_save.c) --- */

/* Seconds of training so far, over all runs. */
double loop_elapsed(const struct loop *l);
/* Returns rc, the result of writing to the journal or of making a deferred plan. If it is a
 * failure, the run ends with a checkpoint, since the state of training is intact. */
int loop_save_on_failure(struct loop *l, int rc);
/* Writes the saves that have become durable to the journal. Call it before the next save, whose
 * times overwrite those of the last. */
int loop_note_durable(struct loop *l);
/* Begins to save the present state as a version. A save that fails does not end training: older
 * versions are intact, and the next save tries again. only_local: save on hosts' disks only.
 * Collective. */
int loop_save(struct loop *l, bool only_local);
/* Saves the last version and waits until it is durable. Its failure is an error; that of an earlier
 * save is not. Collective. */
int loop_save_at_end(struct loop *l);
/* Called by rank 0 if the other ranks may have failed: saves without them. */
void loop_save_alone(struct loop *l);

/* --- before the first (loop_begin.c) --- */

/* Sets the numbers of batches, steps and epochs. E_CONFIG. */
int loop_plan_length(struct loop *l);
/* Opens the files of the run, sets its length and, if it is resumed, loads its state.
 * Collective. */
int loop_prepare(struct loop *l, const struct train_options *o);
/* Samples of a batch, over all ranks. */
int64_t loop_global_batch(const struct loop *l);
/* The work of a step; see struct submitted. */
double loop_work(const struct loop *l, const struct submitted *g);
/* Samples used in an epoch, which may drop those that do not fill a batch. */
int64_t loop_epoch_samples(const struct loop *l);

#endif
