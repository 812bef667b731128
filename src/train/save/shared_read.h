/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A checkpoint read by several ranks: rank 0 decides which version, each of some ranks reads and
 * verifies a share of its chunks, and rank 0 gets them all. A rank that does not see the files, or
 * finds them damaged, leaves its share to rank 0, which alone says what is wrong. */
#ifndef DLX_TRAIN_SHARED_READ_H
#define DLX_TRAIN_SHARED_READ_H

#include "ckpt/ckpt.h"
#include "comm/comm.h"

/* ckpt_load on rank 0; *out is NULL on the others, which return 0. comm may be NULL: alone.
 * Collective. */
int shared_read(struct ckpt_version **out, struct comm *comm, const char *dir, const char *which);

#endif
