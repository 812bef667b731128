/* SPDX-License-Identifier: BSD-3-Clause
 *
 * L-BFGS: minimises a smooth loss of n parameters from its values and gradients alone (Liu and
 * Nocedal 1989). The direction comes from the last `history` pairs of steps and changes of the
 * gradient, the length from a search for the strong Wolfe conditions (wolfe.h).
 *
 * Reverse communication: the caller evaluates the loss, and so decides on which device and on how
 * many ranks:
 *
 *   lbfgs_begin(l, x);
 *   do {
 *           lbfgs_propose(l, x);
 *           f, g = loss and gradient at x;
 *   } while (lbfgs_report(l, f, g) <= LBFGS_STEP);
 *   lbfgs_propose(l, x);                                   the result
 *
 * All arithmetic is float64, made by one thread in one order. The state is one array of doubles: a
 * copy of it, taken between two calls, continues with the same bits. */
#ifndef DLX_OPTIM_LBFGS_H
#define DLX_OPTIM_LBFGS_H

#include <stdbool.h>
#include <stdint.h>

#include "optim/wolfe.h"

struct lbfgs_options {
	int history;                     /* number of pairs to keep, at least 1 */
	double gradient;                 /* converged: the largest |g_i| is at most this */
	double change;                   /* converged if a step changes the loss by at most this
	                                  * fraction of it; 0: no such limit */
	double rounding;                 /* the relative error of a loss: 1e-15 if it is computed in
	                                  * float64, 1e-6 in float32 */
	bool single;                     /* the coordinates of points must be float32 numbers */
};

enum lbfgs_next {
	LBFGS_EVALUATE,                  /* the line search continues */
	LBFGS_STEP,                      /* a step was made, see l->point and l->head->loss; evaluate
	                                  * again */
	LBFGS_CONVERGED,                 /* converged to l->point; l->reason names the criterion */
	LBFGS_STOPPED                    /* no further step is possible; l->reason says why; l->point is
	                                  * the best point seen */
};

/* The scalars of the state, all stored as doubles. */
struct lbfgs_head {
	double evaluations, steps;       /* number of evaluations reported and of steps made so far */
	double loss;                     /* loss at `point` */
	double pairs, newest;            /* number of pairs kept; index of the newest */
	struct wolfe search;
};

struct lbfgs {
	int64_t n;
	struct lbfgs_options options;
	const char *reason;              /* why the minimisation ended; a string literal */
	struct lbfgs_head *head;         /* start of the state array, into which all other pointers
	                                  * point */
	double *point, *gradient;        /* n each: the point reached by the last step, and its
	                                  * gradient */
	double *direction;               /* n: direction of the line search */
	double *low_gradient;            /* n: gradient at search.low */
	double *moves, *changes;         /* history x n: changes of the point and of the gradient in
	                                  * each step */
	double *curvature;               /* history: inner product of each pair, > 0 */
	double *weight;                  /* history: scratch of the two-loop recursion */
};

/* Number of doubles of the state, which the caller allocates and a checkpoint saves. */
int64_t lbfgs_state_count(int64_t n, int history);

/* Initialises l. state: borrowed as long as l is used. Call lbfgs_begin or lbfgs_restored next. */
void lbfgs_init(struct lbfgs *l, int64_t n, const struct lbfgs_options *options, double *state);
/* Starts at x (n), without history. */
void lbfgs_begin(struct lbfgs *l, const double *x);
/* Copies the next point to evaluate to x (n); after the end, the result. */
void lbfgs_propose(const struct lbfgs *l, double *x);
/* Reports the loss f and the gradient g (n) at that point; either may be infinite or NaN. */
enum lbfgs_next lbfgs_report(struct lbfgs *l, double f, const double *g);

/* To be called after the caller has copied a saved state, with the same n and history, into
 * `state`. E_DATA: it is not valid, and lbfgs_begin has to be called. */
int lbfgs_restored(struct lbfgs *l);

#endif
