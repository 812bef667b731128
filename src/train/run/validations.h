/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What validations have come to so far: the best one, and for how long there was no better one,
 * which `train.patience` and the schedule plateau go by. It is a part of a checkpoint, so that a
 * resumed run decides alike. */
#ifndef DLX_TRAIN_VALIDATIONS_H
#define DLX_TRAIN_VALIDATIONS_H

#include "base/arena.h"
#include "ckpt/ckpt.h"
#include "optim/schedule.h"
#include "plan/config.h"

/* Metrics are larger where they are better: those that fall have the other sign. */
struct validations {
	double best;                 /* of all validations; NaN: none yet */
	int64_t best_step;           /* the first with it; -1: not known */
	/* Of the validations that train.validate asks for alone: the one at the end of a run that was
	 * to end there is not among those of a longer run. */
	double due_best;
	int64_t stale;               /* in a row without a better one */
	int64_t step;                /* of the last one that counts here; -1: none, or not known */
	struct plateau plateau;
};

void validations_begin(struct validations *w);
/* A validation at this step. Returns whether it is better than any before; *reduced: the rate
 * falls. NaN is never better. */
bool validations_add(struct validations *w, const struct run_config *c, int64_t step,
                     double metric, bool due, bool *reduced);
/* train.patience is at its end. */
bool validations_exhausted(const struct validations *w, const struct run_config *c);
/* The best value as it is reported. */
double validations_best(const struct validations *w, const struct run_config *c);

/* The scalars of a checkpoint, VALIDATIONS_SCALARS of them; texts in a. */
#define VALIDATIONS_SCALARS 4
void validations_write(const struct validations *w, const struct run_config *c, struct arena *a,
                       struct ckpt_scalar *out);
/* From them; of a version that has none, or of another metric, as far as they tell, with a note.
 * E_DATA. */
int validations_read(struct validations *w, const struct run_config *c,
                     const struct ckpt_version *v);

#endif
