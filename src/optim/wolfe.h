/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A line search for the strong Wolfe conditions: along a direction of descent, with phi(a) the loss
 * after a step of length a, it looks for an a with
 *
 *   phi(a) <= phi(0) + 1e-4 a phi'(0)     the loss falls enough
 *   |phi'(a)| <= 0.9 |phi'(0)|            the step is not too short, nor far beyond a minimum
 *
 * First lengths grow until an interval contains such a step, then the interval shrinks
 * (Nocedal & Wright, Numerical Optimization, algorithms 3.5 and 3.6) by cubic interpolation. A
 * length whose loss or slope is not finite bounds the interval like one whose loss is too high.
 *
 * Reverse communication: the caller evaluates, and wolfe_report returns what to do next. The state
 * consists of doubles only, so that a checkpoint can save it as it is. */
#ifndef DLX_OPTIM_WOLFE_H
#define DLX_OPTIM_WOLFE_H

/* A step length with its loss and slope. A loss that is not finite is stored as infinity. */
struct wolfe_point {
	double step, loss, slope;
};

struct wolfe {
	struct wolfe_point start;        /* its step is 0 */
	struct wolfe_point low;          /* the step with the lowest loss among those with sufficient
	                                  * decrease */
	struct wolfe_point high;         /* the other end of the interval, if there is one */
	double interval;                 /* 1 if there is an interval, else 0 */
	double step;                     /* step to be evaluated now */
	double width, before;            /* widths of the interval one and two evaluations ago */
	double allowance;                /* losses that differ by less are treated as equal */
	double evaluations;              /* number of evaluations reported so far */
};

enum wolfe_next {
	WOLFE_EVALUATE,                  /* evaluate w->step and report the result */
	WOLFE_FOUND,                     /* w->step fulfils both conditions */
	WOLFE_BEST,                      /* the search cannot go on; w->low.step fulfils the first
	                                  * condition alone, and its loss is below that of step 0 */
	WOLFE_FAILED                     /* the search cannot go on, and no step is better than none */
};

/* Begins a search. loss, slope: at step 0; slope < 0. step: the first step to evaluate. rounding:
 * the relative error of a loss. */
void wolfe_begin(struct wolfe *w, double loss, double slope, double step, double rounding);
/* Reports the loss and slope at w->step; either may be NaN or infinite. */
enum wolfe_next wolfe_report(struct wolfe *w, double loss, double slope);

#endif
