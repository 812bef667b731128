/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engines that a GPU's library uses, the same on all ranks: those in the wisdom file, and those
 * that rank 0 measured while planning. */
#ifndef DLX_TRAIN_ENGINES_H
#define DLX_TRAIN_ENGINES_H

#include "backend/device.h"
#include "comm/comm.h"

/* Gives rank 0's device the wisdom file; it measures
 * problems that the file lacks. path: NULL: none. */
int engines_open(struct device *d, const struct comm *c, const char *path);
/* Before and after a plan is made. With several ranks the others wait before their first plan for
 * the engines that rank 0 measured in its own, and no rank measures any more: collective there, on
 * every rank, whatever has failed, with no other collective between the two. */
void engines_await(struct device *d, struct comm *c);
int engines_share(struct device *d, struct comm *c, const char *path);
/* Writes what was measured since, and forgets all. */
void engines_close(struct device *d, const char *path);

#endif
