/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of step_guard, and the layout of its state. */
#ifndef DLX_OP_UPDATE_STEP_GUARD_H
#define DLX_OP_UPDATE_STEP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* The state, zero at first: these GUARD_TOLD numbers, then the losses and then the gradient norms
 * of the last accepted steps, each a ring buffer of `window` entries. */
enum {
	GUARD_NONFINITE,             /* number of steps left out so far because of values that are not
	                              * finite */
	GUARD_OUTLIERS,              /* number of steps left out so far as outliers */
	GUARD_IN_A_ROW,              /* number of consecutive steps left out, up to now, for either
	                              * reason */
	GUARD_FILLED, GUARD_NEXT,    /* ring buffers: entries in use; the entry to write next */
	GUARD_LOSS_Z, GUARD_NORM_Z,  /* z-scores of the last step; 0 if unknown */
	GUARD_NORM,                  /* gradient norm of the last step; 0 if not computed */
	GUARD_TOLD                   /* number of the entries above */
};

struct step_guard_attr {
	bool finite;                 /* leave out steps with values that are not finite */
	bool sum;                    /* the loss is a sum, not a mean */
	double loss, gradient;       /* largest z-scores that are accepted; NaN: no limit */
	int64_t maxima;              /* number of inputs after the head that are maxima; the following
	                              * ones are sums of squares */
};

#endif
