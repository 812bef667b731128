/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Equations as objectives: `model.networks`, `points`, `variables` and `objective` of the config,
 * read together, and the graph of an objective. A term is a scalar expression over sets of points;
 * an objective minimises the sum of its terms by their weights. */
#ifndef DLX_PLAN_PHYSICS_H
#define DLX_PLAN_PHYSICS_H

#include "data/points.h"
#include "model/networks.h"
#include "plan/objective.h"

struct compilation;
struct run_config;
struct variant_value;

/* An unknown number. It is kept as a parameter p called `variables.NAME`: a positive one is exp(p),
 * one with bounds low + (high - low) / (1 + exp(-p)). */
struct variable {
	const char *name;
	struct loc loc;
	double start;
	bool positive, bounded;
	double low, high;
};

/* A part of what an objective minimises. */
struct term {
	const char *name;
	struct loc loc;
	double weight;
	bool balanced;                   /* its weight is an input, PHYSICS_WEIGHT of the objective and
	                                  * the term, in place of `weight` */
	const struct expr *e;
};
#define PHYSICS_WEIGHT "weight/%s/%s"

#define TERMS_MOST 32                /* of an objective */

struct physics {
	struct networks_read net;
	struct points points;
	int nvariable;
	struct variable *variable;
	bool opened;                     /* the points of records are read */
	struct strings coordinates;
	const struct expr **residual;    /* of each set that is resampled by one; else NULL */
	int nname;
	struct expr_name *name;          /* of expressions */
};

/* The table that a config is read by: where its tree has equations, what these need no data for is
 * not required. */
const struct field *physics_fields(struct arena *a, const struct ynode *tree);
/* Takes the keys that have no meaning with equations out of an effective config. */
void physics_leave_out(struct ynode *tree);
/* E_CONFIG for a metric that does not compare networks with known values. */
int physics_check_metrics(const struct run_config *c);
/* Reads these keys of c, whose tree they are in, and makes c->physics and c->objectives of them.
 * E_CONFIG, with an entry for every mistake that can be known without records. */
int physics_read(struct run_config *c);
/* Reads the records of points, and checks all expressions. */
int physics_open(struct run_config *c);

/* The scope of expressions, at the points that one of `ranks` ranks has. */
struct expr_scope physics_scope(struct arena *a, const struct physics *p, int ranks);
/* Whether an axis is one of space, not of time ("t" or "time"). */
bool physics_is_spatial(const char *axis);
/* By name, or NULL. */
struct network *physics_network(const struct physics *p, const char *name);
const struct noise_name *physics_noise(const struct physics *p, const char *name);
/* Components of what has a name; 0: not known, as of what a network is given. Networks of layers
 * have some after physics_find_shapes, which the names of p->name get, too. */
int physics_components(const struct physics *p, const char *name);
int physics_find_shapes(struct arena *a, struct physics *p);
/* Whether the host looks at networks between steps: for picks by a residual, or weights that are
 * balanced. */
bool physics_watches(const struct run_config *c);
/* Rows that one of `ranks` ranks has of a set, in each step: ranks share its points, or its
 * realizations where it has these. */
int64_t physics_share(const struct point_set *s, int ranks);
/* Whether a network is a function of coordinates and noise; others have to be given something, as
 * critics. */
bool physics_is_field(const struct physics *p, const struct network *n);
/* Emits the objective's terms at the points of a rank's share, c->loss, which is their sum, and the
 * ports PLAN_STEP_TERM, PLAN_STEP_VARIABLE and PLAN_STEP_WEIGHT; inputs are called
 * SET.COORDINATE, SET.normal and SET.ARRAY. */
int physics_emit_objective(struct graph *g, struct compilation *c);
/* Emits the residual of set c->r->scored - 1 at c->r->batch of its candidates: the result "score",
 * whose inputs are called as above. */
int physics_emit_scores(struct graph *g, struct compilation *c);
/* Emits, for each balanced term of c->r->objective, its gradient by all parameters that the
 * objective trains, one after the other: the result PHYSICS_GRADIENT and the term's name. */
int physics_emit_gradients(struct graph *g, struct compilation *c);
#define PHYSICS_GRADIENT "gradient/"
/* What picks of a set are kept as in the store: PHYSICS_PICKS and the set's name, the number of the
 * draw + 1 and then the candidates picked. */
#define PHYSICS_PICKS "points."
/* Whether a state is one of these, which a run may begin anew that resumes with another config. */
bool physics_is_state(const char *name);
/* Emits the states that a run of equations has besides its parameters. */
int physics_emit_states(struct graph *g, const struct compilation *c);
/* Emits all networks that are fields at c->r->batch points, whose coordinates and noise are inputs
 * called PHYSICS_AT.NAME with a row for each point, as outputs of the networks' names. */
int physics_emit_networks(struct graph *g, struct compilation *c);
#define PHYSICS_AT "at"
#define PHYSICS_ROWS 1024            /* points at a time */

#endif
