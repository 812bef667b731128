/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The objectives of a run: each has a loss, the networks that it trains, and an optimizer. A round
 * makes `times` steps for each objective in turn. So the objective of a step, and its number among
 * the steps of that objective, are functions of the step's number, and a run may stop anywhere in a
 * round. */
#ifndef DLX_PLAN_OBJECTIVE_H
#define DLX_PLAN_OBJECTIVE_H

#include "base/arena.h"
#include "yaml/schema.h"

#define OBJECTIVES_MOST 16

struct term;
struct objective {
	const char *name;
	const struct strings *networks;  /* networks whose parameters it trains: a parameter's name is
	                                  * that of the network, or begins with it and a dot; NULL: all
	                                  * networks */
	const char *output;              /* name of the model's output that the loss reads
	                                  * (model_output); NULL: the first */
	const char *weights;             /* name of an array of the batch, of the output's shape, with a
	                                  * weight for each element of the loss; NULL: all weights are
	                                  * 1 */
	int64_t times;                   /* steps in a round */
	const struct variant_value *loss, *optimizer, *schedule;
	const struct term *term;         /* terms of equations (plan/physics/physics.h), which replace
	                                  * the loss */
	int nterm;
	const struct balance_config *balance;    /* how weights of terms are balanced; NULL: no weight
	                                          * is */
	const struct strings *metrics;
	/* An optimizer with several phases gives one objective per phase, consecutive in the list and
	 * equal in name and terms. */
	bool continues;                  /* this is a later phase of the objective before it in the
	                                  * list */
	int64_t steps;                   /* steps of the phase; 0: to the end of training */
	const struct lbfgs_config *lbfgs;    /* L-BFGS, which replaces `optimizer`; or NULL */
};

/* Balancing of weights by gradients (train/run/balance.h). */
struct balance_config {
	int64_t every;                   /* steps between updates of the weights */
	double keep;                     /* factor of the old weight in the moving average */
};
#define BALANCE_STATE "balance"      /* in the store: this, a dot and the name */

struct lbfgs_config {
	int64_t history;
	double gradient, change;
};
#define LBFGS_STATE "lbfgs"          /* name of its state in the store: this, a dot and the
                                      * objective's name */

struct objectives {
	const struct objective *v;
	int n;
};

/* For step `step` of a run, counted from 0: the index of its objective, and the number of steps
 * that this objective (or phase) has made before. */
struct turn {
	int objective;
	int64_t step;
};
struct turn objective_turn(const struct objectives *o, int64_t step);
/* The number of steps of objective k among the first `steps` steps of a run. */
int64_t objective_steps(const struct objectives *o, int k, int64_t steps);
/* The names of the record arrays that weigh elements of losses, each once. */
struct strings objectives_arrays(const struct objectives *o, struct arena *a);
/* Whether the optimizer of at least one objective averages weights. */
bool objectives_average(const struct objectives *o);
/* Whether the objective trains the parameter of this name. */
bool objective_trains(const struct objective *o, const char *param);

#endif
