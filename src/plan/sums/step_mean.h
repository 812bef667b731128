/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Emits the nodes that make one mean loss of a step's micro-batches on all ranks. The ops and the
 * formulas are in op/loss/mean.c. */
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
	tid share;                   /* F32 scalar, input: 1 if the batch counts, 0 if not */
	tid votes;                   /* F32 (MEAN_VOTES), input: 1 for each vote of this rank */
	tid terms;                   /* the step's sums (MEAN_TERMS) from which the mean is computed;
	                              * NONE: a step is one batch, which needs no mean */
	tid factor;                  /* F32 scalar that multiplies sums of gradients */
};

/* Emits the seed of autodiff: the gradient of the loss. weight: the sum of weights that the loss
 * was divided by. scale: the loss scale, or NONE. */
int mean_emit_seed(struct graph *g, struct mean *m, tid weight, tid scale, tid *seed);
/* Emits m->terms, which this rank accumulates over the micro-batches of a step. micro: the number
 * of the micro-batch, an I64 scalar; NONE if a step has one. */
int mean_emit_terms(struct graph *g, struct mean *m, tid loss, tid weight, tid micro);
/* Emits m->factor, computed from m->terms. divided: the divisor that the sums of gradients already
 * contain. inverse: 1 / loss scale, or NONE. */
int mean_emit_factor(struct graph *g, struct mean *m, double divided, tid inverse);

#endif
