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
 * The caller evaluates, and wolfe_report says what to do with each result. The state has doubles
 * alone, so that a checkpoint keeps it as they are. */
#ifndef DLX_OPTIM_WOLFE_H
#define DLX_OPTIM_WOLFE_H

/* A step length with its loss and slope; the loss is infinite where it was not finite. */
struct wolfe_point {
	double step, loss, slope;
};

struct wolfe {
	struct wolfe_point start;        /* its step is 0 */
	struct wolfe_point low;          /* with enough decrease the one with the lowest loss */
	struct wolfe_point high;         /* the interval's other end, once there is one */
	double interval;                 /* whether there is: 0 or 1 */
	double step;                     /* to be evaluated now */
	double width, before;            /* of the interval, one and two evaluations ago */
	double allowance;                /* losses that differ by less are taken as equal */
	double evaluations;              /* reported so far */
};

enum wolfe_next {
	WOLFE_EVALUATE,                  /* w->step, and report it */
	WOLFE_FOUND,                     /* w->step fulfils both conditions */
	WOLFE_BEST,                      /* the search cannot go on; w->low.step fulfils the first
	                                  * condition alone, and its loss is below that of step 0 */
	WOLFE_FAILED                     /* the search cannot go on, and no step is better than none */
};

/* slope: below 0. step: the first one to evaluate. rounding: the relative error of a loss. */
void wolfe_begin(struct wolfe *w, double loss, double slope, double step, double rounding);
/* What was found at w->step; either may be NaN or infinite. */
enum wolfe_next wolfe_report(struct wolfe *w, double loss, double slope);

#endif
