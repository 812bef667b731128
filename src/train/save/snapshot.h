/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The copy of a run's state from which a checkpoint is written. It is begun after a step and filled
 * while the next step runs. Values that only updates change are copied during that step's forward
 * and backward phases, by the thread that writes the checkpoint, or by the GPU concurrently with
 * kernels; the first update waits for these copies. Values that change earlier (running statistics)
 * are copied at once, and with a gradient lag all values are. */
#ifndef DLX_TRAIN_SNAPSHOT_H
#define DLX_TRAIN_SNAPSHOT_H

#include "ckpt/ckpt.h"
#include "plan/session.h"

struct snapshot;

struct snapshot *snapshot_new(struct session *s);
/* Call it when no save is in flight. NULL is fine. */
void snapshot_free(struct snapshot *p);
/* Begins a copy of the present state. Sets `tensors` and `fill` of *state, which are valid until
 * the next call. No save may be in flight. The values in the session's store must not change until
 * snapshot_settle returns; updates of its training plans wait by themselves. E_NOMEM, or an error
 * of the device. */
int snapshot_take(struct snapshot *p, struct ckpt_state *state);
/* Waits until all is copied. It is the `fill` of a second store that is written from the same copy,
 * and takes the same argument. Returns the error of the copy. */
int snapshot_await(void *p);
/* Waits until all is copied. Returns the seconds that this call and updates have waited since
 * snapshot_take. Waits on a GPU's own streams are not included; they only lengthen the step. NULL
 * is fine. */
double snapshot_settle(struct snapshot *p);

#endif
