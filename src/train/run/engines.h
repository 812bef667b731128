/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engines that a GPU's library uses, the same on all ranks: those in the wisdom file, and those
 * that rank 0 measured while planning. */
#ifndef DLX_TRAIN_ENGINES_H
#define DLX_TRAIN_ENGINES_H

#include "comm/comm.h"

struct wisdom;

/* *w: the wisdom of a file, NULL without one (path NULL). Rank 0 reads it, and measures problems
 * that it lacks. engines_close frees it, also where this fails. */
int engines_open(struct wisdom **w, const struct comm *c, const char *path);
/* Before and after a plan is made. With several ranks the others wait before their first plan for
 * the engines that rank 0 measured in its own, and no rank measures any more: collective there, on
 * every rank, whatever has failed, with no other collective between the two. */
void engines_await(struct wisdom *w, struct comm *c);
int engines_share(struct wisdom *w, struct comm *c, const char *path);
/* Writes what was measured since, and frees w; NULL is fine. */
void engines_close(struct wisdom *w, const char *path);

#endif
