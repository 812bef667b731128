/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the ops that update state in place, for the optimizers and layers that emit
 * them. */
#ifndef DLX_OP_UPDATE_UPDATE_H
#define DLX_OP_UPDATE_UPDATE_H

#include "yaml/schema.h"

/* The inputs of an optimizer's node before its groups; each but the first may be NONE. */
enum {
	DESCENT_RATE,                /* F32 scalar */
	DESCENT_STEP,                /* I64 scalar: updates made so far */
	DESCENT_SCALE,               /* F32 scalar that multiplies every gradient */
	DESCENT_APPLY,               /* F32 scalar: 0 leaves the step out */
	DESCENT_TRUST,               /* F32, one number for each group, a factor of its gradient */
	DESCENT_HEAD
};

/* Values that may differ between parameters: each is a list, one number for all, or empty. This is
 * the first member of every optimizer's attributes. */
struct each_attr {
	struct floats weight_decay, rate_factor;
	bool decoupled;              /* apply weight decay to the weights rather than to the gradient */
	bool direction;              /* output the direction u + decay w rather than the new weights */
	struct ints copy_of;         /* for each copy of new weights, after all groups: its group's
	                              * number (op/update/bundle.h) */
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
	double momentum;             /* weight of the new value in the running average */
	double factor;               /* multiplies the new values: n / (n -
	                              * 1) for an unbiased variance */
	struct floats factors;       /* or one factor for each group */
	bool finite;                 /* ignore new values that are not finite */
};
/* The control input of `accumulate`, a vector of I64 with these entries. Levels are those of a
 * binary counter. */
enum { SUM_INDEX, SUM_LAST, SUM_ABSENT, SUM_VALUES };
struct accumulate_attr {
	int64_t level;               /* level of the binary counter; -1: sequential sums, where the
	                              * control input is the index only */
	bool all;                    /* count the values of an absent rank, too */
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
