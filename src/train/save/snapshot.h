/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The one copy of a run's state that a checkpoint is written from. It is taken after a step and
 * filled while the next one runs: what only updates write is copied, by the thread that writes the
 * checkpoint or by the GPU concurrently with its kernels, during that step's forward and backward,
 * and the first update waits for it. What is written before that (running statistics) is copied at
 * once; with a gradient lag everything is. */
#ifndef DLX_TRAIN_SNAPSHOT_H
#define DLX_TRAIN_SNAPSHOT_H

#include "ckpt/ckpt.h"
#include "plan/session.h"

struct snapshot;

struct snapshot *snapshot_new(struct session *s);
/* When no save is in flight any more. NULL is fine. */
void snapshot_free(struct snapshot *p);
/* Takes the state as it is now: tensors and fill of *state, good until the next call. No save is in
 * flight. The values of the session's store stay as they are until snapshot_settle, or the first
 * update of its training plans, is done. E_NOMEM, or what the device says. */
int snapshot_take(struct snapshot *p, struct ckpt_state *state);
/* Waits until all is copied, for a second store that is written from the same copy: its state's
 * fill, with the same argument. What that failed with. */
int snapshot_await(void *p);
/* Waits until all is copied. Seconds that it, and updates, waited since snapshot_take; those of a
 * GPU's own wait, which shows in the step alone, are not in it. NULL is fine. */
double snapshot_settle(struct snapshot *p);

#endif
