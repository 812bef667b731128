/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the passes of a plan share that know the config: pass_env.user of those in plan.c and
 * plan_update.c. */
#ifndef DLX_PLAN_COMPILATION_H
#define DLX_PLAN_COMPILATION_H

#include "pass/pass.h"
#include "plan/plan.h"

struct compilation {
	const struct plan_request *r;
	struct plan_env env;
	struct plan *p;
	const struct plan_field *field;  /* what is seen in place of a training sample, or NULL */
	/* As emitted so far: */
	tid input, target, output;
	tid truth;                       /* the target as metrics read it, in its own units */
	struct loss_out loss;
	struct loss_scaling scaling;     /* state NONE: no loss scaling */
	tid step, micro;                 /* updates made so far; which micro-batch, or NONE */
	tid guard;                       /* state of plan/guard.h; NONE: every step is made */
	bool apart;                      /* no sum is stored where one of its operands is */
};

/* Whether a step is made of more than one batch, or of what a sum says. */
bool plan_has_batches(const struct plan_request *r);
/* Prepares to read, after each step, those results that are the step's. */
int plan_read_steps(struct plan *p, const struct device *dev);
/* Accumulation, the all-reduce, clipping and the optimizer. */
int plan_pass_update(struct graph *g, struct pass_env *env);

#endif
