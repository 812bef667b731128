/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Repeats steps of a run in memory, from a checkpoint or from the run's beginning. A step depends
 * only on the state before it and the config, so repeated steps give the same bits. Running
 * statistics, which differ between ranks, are made equal at the same steps as in the run: at
 * validations and checkpoints that are due by the number of the step, but not at checkpoints that
 * were due by time. The session's store is overwritten. All functions are collective. */
#ifndef DLX_TRAIN_RERUN_H
#define DLX_TRAIN_RERUN_H

#include "train/run/loop_state.h"

struct rerun {
	struct loop l;                 /* the loop; its clock is that of the last step made */
	char from[64];                 /* id of the checkpoint; "": the run's beginning */
	int64_t made;                  /* steps made so far */
};

/* which: as in ckpt_load, or NULL for the run's beginning. last: the last step that will be made;
 * no data after it is read. E_NOINPUT if there is no such checkpoint. */
int rerun_begin(struct rerun *r, struct session *s, const char *which, int64_t last);
/* Makes the next step. E_STOPPED, without an entry in the error record, if any rank received a
 * signal. */
int rerun_step(struct rerun *r, struct plan_result *out);
/* Discards the prefetched batch. Call it before the loader's position is changed. */
int rerun_forget_prefetched(struct session *s);
/* Does what a run does before it saves a checkpoint, so that the store has the values that the
 * checkpoint would have. */
int rerun_settle(struct rerun *r);

#endif
