/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the origin of a loss or a gradient that is not finite. The steps since the last checkpoint
 * are repeated in memory (train/diagnose/rerun.h), first to find the step whose loss or state is
 * not finite, then a second time up to that step, whose nodes are examined one by one
 * (train/diagnose/look.h). */
#ifndef DLX_TRAIN_NONFINITE_H
#define DLX_TRAIN_NONFINITE_H

#include "train/run/loop_state.h"

/* rc: E_DIVERGED, raised on all ranks. Returns rc, adding the finding to the error and to
 * metrics.jsonl, and l->diverged.advice to the error unless a wrong kernel or the machine is the
 * cause. step: the step whose loss is not finite, or after which too many steps had been skipped;
 * it must be the oldest in flight. The run cannot continue afterwards. Collective. */
int nonfinite_explain(struct loop *l, int rc, int64_t step);

/* Call it after a step that was skipped because of such values, with no other step in flight. The
 * weights are those before the step, so only this step is repeated and reported. The run can
 * continue. Collective. */
int nonfinite_look(struct loop *l, const struct submitted *g);

#endif
