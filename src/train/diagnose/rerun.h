/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Steps of a run made once more, in memory alone: from a checkpoint, or from its beginning. All
 * that a step does follows from the state before it and the config, so the steps have the bits that
 * they had. Running statistics, which differ between ranks, are made alike where the run did it by
 * the number of the step: at validations and at checkpoints, but not at those that a clock asked
 * for. The session's store is overwritten. Everything is collective. */
#ifndef DLX_TRAIN_RERUN_H
#define DLX_TRAIN_RERUN_H

#include "train/run/loop_state.h"

struct rerun {
	struct loop l;                 /* clock: of the last step made */
	char from[64];                 /* the checkpoint; "": the beginning */
	int64_t made;                  /* steps so far */
};

/* which: as in ckpt_load, or NULL: the beginning. last: the last step that will be asked for; none
 * after it is read. E_NOINPUT if there is no such checkpoint. */
int rerun_begin(struct rerun *r, struct session *s, const char *which, int64_t last);
/* The next step. E_STOPPED, with nothing in the error record, if a signal came on any rank. */
int rerun_step(struct rerun *r, struct plan_result *out);
/* A batch that was on its way to the device is not the one to come, where the loader is sent
 * elsewhere. */
int rerun_forget_prefetched(struct session *s);
/* What a run does before it saves: the store is as the checkpoint's. */
int rerun_settle(struct rerun *r);

#endif
