/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which engines a GPU's library uses, on all ranks alike: what a file of wisdom says, and what rank
 * 0 measured while it planned. */
#ifndef DLX_TRAIN_ENGINES_H
#define DLX_TRAIN_ENGINES_H

#include "backend/device.h"
#include "comm/comm.h"

/* Gives the device what is in the file, on rank 0, which measures what is not. path: NULL: none. */
int engines_open(struct device *d, const struct comm *c, const char *path);
/* Before and after a plan is made. With several ranks the others wait before the first for what
 * rank 0 knows after it, and nobody
 * measures any more: collective there, on every rank, whatever has failed, with no other collective
 * between the two. */
void engines_await(struct device *d, struct comm *c);
int engines_share(struct device *d, struct comm *c, const char *path);
/* Writes what was measured since, and forgets all. */
void engines_close(struct device *d, const char *path);

#endif
