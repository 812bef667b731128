/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a checkpoint with several ranks. Rank 0 chooses the version; some ranks each read and
 * verify a share of its chunks and send them to rank 0. A rank that cannot see the files, or finds
 * them damaged, leaves its share to rank 0, which alone reports errors. */
#ifndef DLX_TRAIN_SHARED_READ_H
#define DLX_TRAIN_SHARED_READ_H

#include "ckpt/ckpt.h"
#include "comm/comm.h"

/* Does what ckpt_load does, with the result on rank 0; on other ranks *out is NULL and the call
 * returns 0. comm may be NULL, which means one rank. Collective. */
int shared_read(struct ckpt_version **out, struct comm *comm, const char *dir, const char *which);

#endif
