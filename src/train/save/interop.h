/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Imports and exports weights as safetensors, and writes one training step as files, with which any
 * framework can be compared. */
#ifndef DLX_TRAIN_INTEROP_H
#define DLX_TRAIN_INTEROP_H

#include "plan/session.h"

/* Writes the parameters and running statistics of the store, as float32, in the network's order.
 * network: export only this one of several networks, and drop its name from those of the tensors;
 * NULL: all networks. E_USAGE if there is no such network. */
int interop_export(struct session *s, const char *path, const char *network);
/* Sets parameters and running statistics from the file of `model.init_from`, or of the same key of
 * each network if there are several. With its `strict`, each tensor that is missing, unexpected or
 * of a wrong shape is an error entry (E_DATA) and nothing is set; without it, these tensors are
 * skipped and named in notes. PyTorch's num_batches_tracked are ignored. */
int interop_init_from(struct session *s);
bool interop_has_init_from(const struct session *s);
/* Rank 0 reads that file for all ranks; without `init_from` nothing happens. Collective. */
int interop_begin(struct session *s);
/* Raises the same errors for the planned network, but sets nothing. Prints a note on the layers
 * that the file fits. s needs SESSION_TRAIN. */
int interop_check(struct session *s);
/* Makes one training step on the first batch, and writes to folder dir: loss.json, inputs, outputs,
 * gradients, and the parameters after the update. s needs SESSION_TRAIN | SESSION_RUN |
 * SESSION_DUMP. */
int interop_dump_step(struct session *s, const char *dir);

#endif
