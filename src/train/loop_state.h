/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a run of training is between its steps, for the files that loop.c is made of. */
#ifndef DLX_TRAIN_LOOP_STATE_H
#define DLX_TRAIN_LOOP_STATE_H

#include "op/loss_scale.h"
#include "optim/schedule.h"
#include "report/progress.h"
#include "train/ahead.h"
#include "train/diverged.h"
#include "train/job_end.h"
#include "train/journal.h"
#include "train/loop.h"
#include "train/lost.h"

/* A step that the device was given: what came of it is known later. */
struct given {
	struct plan *plan;
	struct clock clock;            /* after it */
	int64_t samples, number;       /* which of this run, from 1 */
	uint64_t allocations;          /* while it was given */
	double waited;                 /* for its batch, in seconds */
};

struct loop {
	struct session *s;
	const struct run_config *c;
	struct comm *comm;
	bool first;                    /* this is rank 0, or alone */
	struct journal *journal;       /* these three: of rank 0, else NULL or silent */
	struct progress *progress;
	struct ckpt_store *ckpt;
	struct clock clock;            /* after the last step that was given */
	struct given given[ANSWERS_DEEP];
	int ngiven;
	bool beside;                   /* the device may have a step to go on with while the host takes note of the one before */
	double answered_at;            /* when the host knew the outcome of one more step, or gave the first of several */
	struct schedule_context schedule;
	int64_t batches;               /* per epoch */
	int64_t epochs;                /* 0: by steps alone */
	double start, began;           /* io_seconds at the beginning of this run; when the first rank's process began */
	double seconds_before;         /* of earlier runs, from the checkpoint */
	double saved_at;
	double scaling[LOSS_SCALE_STATE]; /* of the loss; all zero if there is none */
	struct diverged diverged;
	double sample_flops;           /* of a micro-batch, forward to update, by its samples */
	struct job_end job_end;
	/* Smoothed over about twenty steps. */
	double step_seconds, wait_seconds;
	bool worth_saving;             /* what failed is not the training */
	struct ahead ahead;
	struct rates rates;
	bool weighed, counted;         /* a step had a weight that is not 0; and a loss that is not 0 */
	bool safe;                     /* a complete checkpoint is on disk */
	struct lost_from durable;      /* the newest of them that this process knows */
	int64_t saved_step;            /* -1: none in this run */
	int64_t evaluated_step;
	bool stop, save, look;         /* agreed upon with this step */
	double metric;                 /* last value of the watched metric, larger is better */
	struct train_result *result;
	const char *trace;             /* file for the record of the first steps, or NULL */
	int64_t trace_steps;
};

/* The files of the run, its length and, if it goes on, its state. Collective. */
int loop_prepare(struct loop *l, const struct train_options *o);
/* Samples of a batch of all ranks. */
int64_t loop_global_batch(const struct loop *l);
/* Samples seen in an epoch, which may drop what fills no batch. */
int64_t loop_epoch_samples(const struct loop *l);

#endif
