/* SPDX-License-Identifier: BSD-3-Clause
 *
 * L-BFGS: minimises a smooth loss of n parameters from its values and gradients alone (Liu and
 * Nocedal 1989). The direction comes from the last `history` pairs of steps and changes of the
 * gradient, the length from a search for the strong Wolfe conditions (wolfe.h).
 *
 * The caller evaluates the loss, so the caller decides where and by how many ranks:
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
	int history;                     /* pairs kept, 1 at least */
	double gradient;                 /* converged: the largest |g_i| is at most this */
	double change;                   /* converged: a step changes the loss by at most this part of
	                                  * it; 0: no such limit */
	double rounding;                 /* the relative error of a loss: 1e-15 if it is computed in
	                                  * float64, 1e-6 in float32 */
	bool single;                     /* the points to evaluate are float32 numbers */
};

enum lbfgs_next {
	LBFGS_EVALUATE,                  /* the search goes on */
	LBFGS_STEP,                      /* a step was made: l->point, l->head->loss; evaluate again */
	LBFGS_CONVERGED,                 /* to l->point; l->reason says by what */
	LBFGS_STOPPED                    /* l->reason says why there is no further step; l->point is the
	                                  * best point that was seen */
};

/* The counters and numbers of the state, doubles as all of it. */
struct lbfgs_head {
	double evaluations, steps;       /* reported so far; made so far */
	double loss;                     /* at the point */
	double pairs, newest;            /* kept; the place of the newest among them */
	struct wolfe search;
};

struct lbfgs {
	int64_t n;
	struct lbfgs_options options;
	const char *reason;              /* of the end; a literal */
	struct lbfgs_head *head;         /* here the state begins, in which all other pointers lie */
	double *point, *gradient;        /* n each: of the last step */
	double *direction;               /* n: of the search */
	double *low_gradient;            /* n: at search.low */
	double *moves, *changes;         /* history x n: of the point, of the gradient */
	double *curvature;               /* history: move times change, > 0 */
	double *weight;                  /* history: of the two loops, between them */
};

/* Doubles of the whole state: what the caller allocates, and a checkpoint holds. */
int64_t lbfgs_state_count(int64_t n, int history);

/* state: borrowed, for as long as l is used. Then lbfgs_begin or lbfgs_restored. */
void lbfgs_init(struct lbfgs *l, int64_t n, const struct lbfgs_options *options, double *state);
/* Starts at x (n), without history. */
void lbfgs_begin(struct lbfgs *l, const double *x);
/* Writes the point to evaluate next to x (n); after the end, the result. */
void lbfgs_propose(const struct lbfgs *l, double *x);
/* What was found there: the loss f and its gradient g (n), which may be infinite or NaN. */
enum lbfgs_next lbfgs_report(struct lbfgs *l, double f, const double *g);

/* The state holds what was once that of an equal n and history. E_DATA: it does not, and l has to
 * begin anew. */
int lbfgs_restored(struct lbfgs *l);

#endif
