/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the ops that write state, for the optimizers and layers that emit them. */
#ifndef DLX_OP_UPDATE_UPDATE_H
#define DLX_OP_UPDATE_UPDATE_H

#include "yaml/schema.h"

/* The inputs of an optimizer's node before its groups; all but the first may be NONE. */
enum {
	DESCENT_RATE,                /* F32 scalar */
	DESCENT_STEP,                /* I64 scalar: updates made so far */
	DESCENT_SCALE,               /* F32 scalar that multiplies every gradient */
	DESCENT_APPLY,               /* F32 scalar: 0 if the step is to be left out */
	DESCENT_TRUST,               /* F32, one number for each group: multiplies its gradient */
	DESCENT_HEAD
};

/* A value that may differ from parameter to parameter: a list, one number for all, or none. First
 * in the attributes of every optimizer. */
struct each_attr {
	struct floats weight_decay, rate_factor;
	bool decoupled;              /* decay the weights themselves rather than the gradient */
	bool direction;              /* output u + decay w rather than the new weights */
	struct ints copy_of;         /* copies of new weights after all groups: which group each is of
	                              * (op/update/bundle.h) */
};
struct sgd_attr {
	struct each_attr each;
	double momentum;
	bool nesterov, rate_inside;
};
struct adam_attr {
	struct each_attr each;
	double beta1, beta2, eps;
};
struct rmsprop_attr {
	struct each_attr each;
	double alpha, eps, momentum;
	bool eps_inside;
};
struct ema_update_attr {
	double momentum;             /* share of the new value */
	double factor;               /* multiplies the new values: n / (n -
	                              * 1) for an unbiased variance */
	struct floats factors;       /* or one for each group */
	bool finite;                 /* passes over new values that are not finite */
};
/* The control input of `accumulate`, a vector of I64
 * (SUM_INDEX, ...). Levels are those of a binary counter. */
enum { SUM_INDEX, SUM_LAST, SUM_ABSENT, SUM_VALUES };
struct accumulate_attr {
	int64_t level;               /* -1: one after the other; the input is the index alone */
	bool all;                    /* the value of an absent rank counts too */
};
extern const char *const average_warmup_names[];
struct weight_average_attr {
	double decay;
	int warmup;                  /* index in average_warmup_names */
	int64_t start;
};
struct clip_factor_attr {
	double max_norm;
};

#endif
