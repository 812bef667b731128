/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The report of a GPU failure in the middle of a run. */
#ifndef DLX_TRAIN_GPU_FAILURE_H
#define DLX_TRAIN_GPU_FAILURE_H

#include "plan/session.h"

/* A complete checkpoint; id "": there is none. */
struct resume_point {
	char id[64];
	int64_t step;
};
void resume_point_set(struct resume_point *f, const char *id, int64_t step);

/* If the device failed, adds to its error: the step, the work that is lost, how to resume, and how
 * to find the failed node. Steps up to `done` succeeded, and steps up to `submitted` were submitted
 * to the device; if both are equal, it failed after a step, for example in a validation. Returns
 * rc. */
int gpu_failure_explain(int rc, const struct session *s, int64_t done, int64_t submitted,
                        const struct resume_point *f);

#endif
