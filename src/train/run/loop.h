/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The training loop: steps over batches and, between steps, validations and checkpoints. */
#ifndef DLX_TRAIN_LOOP_H
#define DLX_TRAIN_LOOP_H

#include "train/predict/evaluate.h"
#include "train/run/rates.h"
#include "train/save/state.h"

/* What a caller sees of a training, on its first rank. */
struct train_watch {
	void *self;
	/* Between steps. */
	void (*stepped)(void *self, int64_t step, int64_t steps, double loss);
	/* After a validation, with the metric that decides (target_metric). False: the run ends here,
	 * with a checkpoint, if `decides`. */
	bool (*validated)(void *self, int64_t step, double value);
	bool decides;                  /* the same on all ranks */
};

struct train_options {
	const char *resume;            /* NULL: start a new run; else the checkpoint to resume from, as
	                                * in ckpt_load ("auto": start a new run if there is none) */
	int progress;                  /* enum progress_mode */
	const char *trace;             /* with trace_start: the file to write after trace_steps steps */
	int64_t trace_steps;
	const struct train_watch *watch;     /* or NULL */
};

struct train_result {
	int64_t step, epoch;
	double seconds;                /* wall time of this run, from train() on */
	bool stopped;                  /* by a signal on any rank; false if training is complete */
	bool time_up;                  /* training ended because the job's time limit is near, as far as
	                                * this rank knows */
	bool target_reached;
	bool gave_up;                  /* train.patience was exhausted */
	bool called_off;               /* train_watch.validated ended the run before its end */
	bool at_end;                   /* the checkpoint was already at the end, so no step was made */
	int64_t nonfinite, outliers;   /* steps that the guard skipped, including those before a
	                                * resume */
	struct validations validations; /* history of validations, including those before a resume */
	bool has_evaluation;
	struct evaluation evaluation;  /* the last one */
	struct rates rates;
	double sample_flops;           /* flops of one sample in a step */
	uint64_t step_allocations;     /* number of memory allocations in steps after the first two */
};

/* Trains s, which was opened with SESSION_TRAIN | SESSION_EVALUATE | SESSION_RUN. The final state
 * is saved in a checkpoint, even if a signal stopped the run. E_CANTCREATE if the run folder
 * already has checkpoints and the run is not resumed. r is the same on all ranks except for
 * r->seconds. Collective. */
int train(struct session *s, const struct train_options *o, struct train_result *r);

#endif
