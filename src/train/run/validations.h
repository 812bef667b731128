/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The history of validations: the best one so far, and the number of validations since then, by
 * which `train.patience` and the schedule `plateau` decide. It is part of a checkpoint, so that a
 * resumed run makes the same decisions. */
#ifndef DLX_TRAIN_VALIDATIONS_H
#define DLX_TRAIN_VALIDATIONS_H

#include "base/arena.h"
#include "ckpt/ckpt.h"
#include "optim/schedule.h"
#include "plan/config.h"

/* Metrics are stored so that larger is better: the sign of others, such as a loss, is changed. */
struct validations {
	double best;                 /* best metric of all validations; NaN: none yet */
	int64_t best_step;           /* first step with this metric; -1: not known */
	/* due_best, stale and plateau count only validations scheduled by train.validate. An additional
	 * validation at the end of a run is not counted, since a longer run would not make it. */
	double due_best;
	int64_t stale;               /* validations since the best one */
	int64_t step;                /* step of the last validation; -1: none, or not known */
	struct plateau plateau;
};

void validations_begin(struct validations *w);
/* Adds the validation at this step; due: train.validate scheduled it. Returns whether it is better
 * than all before; NaN never is. *reduced: the schedule lowers the learning rate. */
bool validations_add(struct validations *w, const struct run_config *c, int64_t step,
                     double metric, bool due, bool *reduced);
/* Whether train.patience is exhausted, so that training ends. */
bool validations_exhausted(const struct validations *w, const struct run_config *c);
/* The best value, with its original sign. */
double validations_best(const struct validations *w, const struct run_config *c);

/* Writes the history as VALIDATIONS_SCALARS scalars of a checkpoint; their texts are in arena a. */
#define VALIDATIONS_SCALARS 4
void validations_write(const struct validations *w, const struct run_config *c, struct arena *a,
                       struct ckpt_scalar *out);
/* Reads the history from these scalars of v. If v has none, or they are of another metric, sets
 * what can be known and prints a note. E_DATA. */
int validations_read(struct validations *w, const struct run_config *c,
                     const struct ckpt_version *v);

#endif
