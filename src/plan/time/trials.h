/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures kernels of a plan on the present device. Each kind of node is run a few times in scratch
 * memory, the most expensive kinds first, for two seconds in total at most. The time of a kind that
 * was not run is its roofline estimate times the ratio of measured to estimated time of those that
 * were. So a step can be predicted for any processor, without a table of processors and without the
 * memory of the whole step.
 *
 * Predicted over measured step on two cores with AMX, float32 (test/bench/predicted --repetitions
 * 1): tiramisu 1.07, fcn 1.02, deeplab 0.99, deepcam 1.06, cosmoflow-mlperf and -lbann 1.00,
 * resnet50 1.01, unet3d 0.98, demo 0.95; fc-densenet103 1.51, in medians of three 0.94. On one of
 * two busy cores steps of 50 to 100 ms, whose tensors stay in the cache (test/bench/simulate
 * --parts one): fc-densenet56 1.02, fc-densenet103 1.06, tiramisu 1.04; cosmoflow, of 13 ms,
 * 0.94. */
#ifndef DLX_PLAN_TRIALS_H
#define DLX_PLAN_TRIALS_H

#include "backend/node_time.h"
#include "plan/plan.h"

struct trials {
	int kinds, tried;            /* number of kinds, and of kinds that were run; nodes with the same
	                              * op, shapes and kernel are of one kind */
	double share;                /* share of the predicted seconds that belongs to kinds that were
	                              * run */
};

/* Sets seconds[i] to the predicted time of node i. Only the roofline estimate is used if the device
 * has its own memory, is not present or only described, or has no scratch memory, or with
 * DLX_DEBUG=trials=no or sleep=yes. */
int trials_run(struct trials *t, const struct plan *p, const struct device *d,
               const struct node_rates *r, double *seconds);

#endif
