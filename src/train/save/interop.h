/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Weights in and out as safetensors, and one training step
 * as files, so that any framework can be compared with. */
#ifndef DLX_TRAIN_INTEROP_H
#define DLX_TRAIN_INTEROP_H

#include "plan/session.h"

/* Params and running statistics of the store, in the network's order, float32. network: of
 * several this one alone, without its name before its tensors'; NULL: all. E_USAGE if there is none
 * such. */
int interop_export(struct session *s, const char *path, const char *network);
/* Sets params and running statistics from the files of `model.init_from`, and of that of each
 * network among several, where the config has some. strict: each missing, extra or misshapen tensor
 * is an error entry of its own (E_DATA) and nothing is set; else they are skipped and named in
 * notes. PyTorch's num_batches_tracked are passed over. */
int interop_init_from(struct session *s);
bool interop_has_init_from(const struct session *s);
/* The same errors, of the planned network: sets nothing, and notes which layers the file fits. s
 * needs SESSION_TRAIN. */
int interop_check(struct session *s);
/* One training step on the first batch into folder dir: loss.json, inputs, outputs, gradients and
 * parameters (after the update). s needs SESSION_TRAIN | SESSION_RUN | SESSION_DUMP. */
int interop_dump_step(struct session *s, const char *dir);

#endif
