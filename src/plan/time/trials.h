/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernels of a plan take on the device that is here: each kind is run a few times in memory
 * that nothing else uses, the most expensive first, for two seconds at most. What is left follows
 * from its estimate and from how far those that were run are from theirs. So a step is predicted
 * for any processor, without a table of processors and without the memory of the whole step.
 *
 * Predicted over measured step on two cores with AMX, float32 (test/bench/predicted --repetitions
 * 1): tiramisu 1.07, fcn 1.02, deeplab 0.99, deepcam 1.06, cosmoflow-mlperf and -lbann 1.00,
 * resnet50 1.01, unet3d 0.98, demo 0.95; fc-densenet103 1.51, in medians of three 0.94. */
#ifndef DLX_PLAN_TRIALS_H
#define DLX_PLAN_TRIALS_H

#include "backend/node_time.h"
#include "plan/plan.h"

struct trials {
	int kinds, tried;            /* nodes that cannot take different times are of one kind */
	double share;                /* of the predicted seconds, that of nodes that were run */
};

/* seconds[i]: the predicted time of node i. Where the device has a memory of its own, is not there
 * or only described, or has no scratch memory, or with DLX_DEBUG=trials=no, it follows from
 * rooflines alone. */
int trials_run(struct trials *t, const struct plan *p, const struct device *d,
               const struct node_rates *r, double *seconds);

#endif
