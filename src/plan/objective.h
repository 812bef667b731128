/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The objectives of a run: what is minimised, by which networks, with which optimizer. Steps are
 * made for the objectives in turn, `times` for each, which makes a round: so the objective of a
 * step, and how many steps it has made before, are functions of the step's number, and a run may
 * stop anywhere in a round. */
#ifndef DLX_PLAN_OBJECTIVE_H
#define DLX_PLAN_OBJECTIVE_H

#include "base/arena.h"
#include "yaml/schema.h"

#define OBJECTIVES_MOST 16

struct term;
struct objective {
	const char *name;
	const struct strings *networks;  /* whose parameters it trains: those of this name, or whose
	                                  * name begins with it and a dot; NULL: all */
	const char *output;              /* of the model (model_output); NULL: the first */
	const char *weights;             /* an array of the batch, of the output's shape, that weighs
	                                  * the loss's elements; NULL: all count the same */
	int64_t times;                   /* steps in a round */
	const struct variant_value *loss, *optimizer, *schedule;
	const struct term *term;         /* of equations (plan/physics/physics.h), in place of a loss */
	int nterm;
	const struct balance_config *balance;    /* of terms whose weights are; NULL: none is */
	const struct strings *metrics;
	/* An optimizer of phases makes an objective of each, one after the other in the list: they have
	 * the name and the terms in common. */
	bool continues;                  /* the phase after the one before it in the list */
	int64_t steps;                   /* of the phase; 0: to the end */
	const struct lbfgs_config *lbfgs;    /* in place of `optimizer`; or NULL */
};

/* Of weights that are balanced by gradients (train/run/balance.h). */
struct balance_config {
	int64_t every;                   /* steps */
	double keep;                     /* of the weight that was, in the moving average */
};
#define BALANCE_STATE "balance"      /* in the store: this, a dot and the name */

struct lbfgs_config {
	int64_t history;
	double gradient, change;
};
#define LBFGS_STATE "lbfgs"          /* its state in the store: this, a dot and the name */

struct objectives {
	const struct objective *v;
	int n;
};

/* Step `step` of a run, counted from 0: whose it is, and how many that objective, or phase of one,
 * made before. */
struct turn {
	int objective;
	int64_t step;
};
struct turn objective_turn(const struct objectives *o, int64_t step);
/* How many of the first `steps` steps of a run are those of objective k. */
int64_t objective_steps(const struct objectives *o, int k, int64_t steps);
/* The arrays of records that elements are weighed by, each once. */
struct strings objectives_arrays(const struct objectives *o, struct arena *a);
/* Whether the optimizer of one of them averages weights. */
bool objectives_average(const struct objectives *o);
/* Whether the objective trains the parameter so named. */
bool objective_trains(const struct objective *o, const char *param);

#endif
