/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The training loop: steps over batches, and between steps validation, checkpoints and the end. */
#ifndef DLX_TRAIN_LOOP_H
#define DLX_TRAIN_LOOP_H

#include "train/predict/evaluate.h"
#include "train/run/rates.h"
#include "train/save/state.h"

struct train_options {
	const char *resume;            /* NULL: start; else as in ckpt_load
	                                * ("auto": start if there is none) */
	int progress;                  /* enum progress_mode */
	const char *trace;             /* with trace_start: the file to write after trace_steps steps */
	int64_t trace_steps;
};

struct train_result {
	int64_t step, epoch;
	double seconds;                /* wall time of this run, from train() on */
	bool stopped;                  /* by a signal on any rank; false if training is complete */
	bool time_up;                  /* because the job's time is up, as far as this rank knows */
	bool target_reached;
	bool gave_up;                  /* train.patience came to its end */
	bool at_end;                   /* the checkpoint was at the end: no step is left */
	int64_t nonfinite, outliers;   /* steps left out by the guard, in earlier runs too */
	struct validations validations; /* of all validations, those of earlier runs too */
	bool has_evaluation;
	struct evaluation evaluation;  /* the last one */
	struct rates rates;
	double sample_flops;           /* of a sample in a step */
	uint64_t step_allocations;     /* memory obtained by steps after the first two */
};

/* Trains s (opened with SESSION_TRAIN | SESSION_EVALUATE | SESSION_RUN). Collective; r is the same
 * on all ranks but for seconds. Leaves the newest state in a checkpoint, also when it was stopped.
 * A run folder that holds checkpoints is refused unless resumed (E_CANTCREATE). */
int train(struct session *s, const struct train_options *o, struct train_result *r);

#endif
