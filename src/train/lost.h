/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The report of a GPU failure in the middle of a run. */
#ifndef DLX_TRAIN_LOST_H
#define DLX_TRAIN_LOST_H

#include "train/opening.h"

/* A complete checkpoint; id "": there is none. */
struct lost_from {
	char id[64];
	int64_t step;
};
void lost_from(struct lost_from *f, const char *id, int64_t step);

/* If the device failed in a step, adds to its error the step (steps up to `done` succeeded, up to
 * `given` were submitted), what is lost, how to resume and how to find the node. Returns rc. */
int lost_explain(int rc, const struct session *s, int64_t done, int64_t given, const struct lost_from *f);

#endif
