/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One mean of a step's micro-batches on all ranks, as graph
 * (the ops and the formulas: op/loss/mean.c). */
#ifndef DLX_PLAN_STEP_MEAN_H
#define DLX_PLAN_STEP_MEAN_H

#include "graph/op.h"
#include "op/loss/mean.h"

struct mean {
	/* given */
	double nominal;              /* weight of one micro-batch as planned; the same
	                              * in all plans of all ranks */
	bool sum;                    /* the loss is a sum over the batch */
	/* made */
	tid share;                   /* F32 scalar, input: whether the batch counts */
	tid votes;                   /* F32 (MEAN_VOTES), input: 1 for each vote of this rank */
	tid terms;                   /* the step's sums (MEAN_TERMS); NONE: no mean is made */
	tid factor;                  /* F32 scalar that multiplies sums of gradients */
};

/* The seed of autodiff: the gradient of the loss. weight: the
 * weight that the loss is a mean over; scale: or NONE. */
int mean_emit_seed(struct graph *g, struct mean *m, tid weight, tid scale, tid *seed);
/* m->terms of this rank, from the first micro-batch on.
 * micro: I64 scalar, which one; NONE: the only one. */
int mean_emit_terms(struct graph *g, struct mean *m, tid loss, tid weight, tid micro);
/* m->factor, of m->terms; divided: what sums of gradients
 * were divided by on the way; inverse: 1 / scale, or NONE. */
int mean_emit_factor(struct graph *g, struct mean *m, double divided, tid inverse);

#endif
