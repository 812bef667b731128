/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of step_guard, and what its state is read for. */
#ifndef DLX_OP_UPDATE_STEP_GUARD_H
#define DLX_OP_UPDATE_STEP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* The state, zero at first: this many numbers, and after them the losses and then the norms of the
 * last accepted steps, a ring of `window` each. */
enum {
	GUARD_NONFINITE,             /* steps left out so far, for values that are not finite; */
	GUARD_OUTLIERS,              /* as outliers */
	GUARD_IN_A_ROW,              /* the last steps left out, for either */
	GUARD_FILLED, GUARD_NEXT,    /* of the ring: entries; the one to be written next */
	GUARD_LOSS_Z, GUARD_NORM_Z,  /* of the last step; 0 where they are not known */
	GUARD_NORM,                  /* of its gradient; 0: not computed */
	GUARD_TOLD                   /* their number */
};

struct step_guard_attr {
	bool finite;                 /* leave out steps with values that are not finite */
	bool sum;                    /* the result's loss is a sum, no mean */
	double loss, gradient;       /* largest z-scores that are accepted; NaN: any */
	int64_t maxima;              /* this many inputs after the head are maxima; the others are sums
	                              * of squares */
};

#endif
