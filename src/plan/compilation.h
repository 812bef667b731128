/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared state of the passes that depend on the config: pass_env.user for the passes in plan.c
 * and plan_update.c. */
#ifndef DLX_PLAN_COMPILATION_H
#define DLX_PLAN_COMPILATION_H

#include "pass/pass.h"
#include "plan/plan.h"

struct compilation {
	const struct plan_request *r;
	struct plan_env env;
	struct plan *p;
	const struct plan_field *field;  /* the samples that evaluation and prediction read, if they
	                                  * have another size than those of training; or NULL */
	/* Tensors and losses emitted so far: */
	tid input, target, output;
	tid truth;                       /* the target as metrics read it, in its own units */
	struct loss_out loss;
	struct loss_scaling scaling;     /* state NONE: no loss scaling */
	tid step, micro;                 /* inputs: the number of updates made so far; the number of the
	                                  * micro-batch, or NONE */
	tid guard;                       /* state of the guard that skips steps (plan/guard.h); NONE: no
	                                  * step is skipped */
	double elements;                 /* number of elements of the whole target */
	const bool *live;                /* by tensor: the loss of the whole sample depends on it; NULL
	                                  * without a partition */
	bool apart;                      /* sums are not computed in place: no sum overwrites an
	                                  * operand */
};

/* Makes a plan by these passes, of which the first builds the graph. Its exec is NULL unless a pass
 * has made it. */
int plan_compile(struct plan **out, const struct plan_request *r, const struct pass *table,
                 int npass);
/* Whether the loss of a step is a mean over several batches, or is computed from a sum over
 * ranks. */
bool plan_has_batches(const struct plan_request *r);
/* Prepares the copies of a step's results to the host. */
int plan_read_steps(struct plan *p, const struct device *dev);
/* Accumulation, the all-reduce, clipping and the optimizer. */
int plan_pass_update(struct graph *g, struct pass_env *env);

#endif
