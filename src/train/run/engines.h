/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engines (algorithms) that a GPU library uses for each problem. All ranks use the same: those
 * in the wisdom file, and those that rank 0 measured while planning. */
#ifndef DLX_TRAIN_ENGINES_H
#define DLX_TRAIN_ENGINES_H

#include "comm/comm.h"

struct wisdom;

/* Sets *w to the wisdom of the file, or to NULL if path is NULL. Rank 0 reads the file, and
 * measures the problems that it lacks. engines_close frees *w, even if this fails. */
int engines_open(struct wisdom **w, const struct comm *c, const char *path);
/* Call them before and after a plan is made. With several ranks, the others wait in engines_await,
 * before their first plan, for the engines that rank 0 measures in its first plan and sends in
 * engines_share. Later plans measure nothing. Every rank must call both, even after a failure,
 * without another collective in between. */
void engines_await(struct wisdom *w, struct comm *c);
int engines_share(struct wisdom *w, struct comm *c, const char *path);
/* Writes newly measured engines to the file, and frees w; NULL is fine. */
void engines_close(struct wisdom *w, const char *path);

#endif
