/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is lost when a GPU fails in the middle of a run. */
#ifndef DLX_TRAIN_LOST_H
#define DLX_TRAIN_LOST_H

#include "train/session.h"

/* A complete checkpoint; id "": there is none. */
struct lost_from {
	char id[64];
	int64_t step;
};
void lost_from(struct lost_from *f, const char *id, int64_t step);

/* If the device failed in a step, adds to its error which it was (steps up to `done` came out well,
 * up to `given` were given to the device), what is lost, where to go on and how to find the node.
 * Returns rc. */
int lost_explain(int rc, const struct session *s, int64_t done, int64_t given, const struct lost_from *f);

#endif
