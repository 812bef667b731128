/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a loss or a gradient that is not finite comes from. The steps since the last checkpoint are
 * made again in memory (train/diagnose/rerun.h), first to see which of them is to blame, whose loss
 * or state is not finite, then up to that one, which is looked at node by node
 * (train/diagnose/look.h). */
#ifndef DLX_TRAIN_NONFINITE_H
#define DLX_TRAIN_NONFINITE_H

#include "train/run/loop_state.h"

/* rc: E_DIVERGED, raised on all ranks; returned with what was found as its context, which
 * metrics.jsonl gets too, and with l->diverged.advice unless a wrong kernel or the machine is to
 * blame. step: whose loss is not finite, or after which too many were in vain; the
 * oldest in flight. The run cannot go on after it. Collective. */
int nonfinite_explain(struct loop *l, int rc, int64_t step);

/* After a step that was left out for such values, with no other in flight: the weights are as they
 * were before it, so it alone is run again, and reported. The run goes on. Collective. */
int nonfinite_look(struct loop *l, const struct submitted *g);

#endif
