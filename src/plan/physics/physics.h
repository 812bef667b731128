/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Equations as objectives: reads the keys `model.networks`, `points`, `variables` and `objective`
 * of the config, and emits the graph of an objective. A term is a scalar expression over sets of
 * points; an objective minimises the weighted sum of its terms. */
#ifndef DLX_PLAN_PHYSICS_H
#define DLX_PLAN_PHYSICS_H

#include "data/points.h"
#include "model/networks.h"
#include "plan/objective.h"

struct compilation;
struct run_config;
struct variant_value;

/* A number that training determines. It is computed from a parameter p, called `variables.NAME`: a
 * positive variable is exp(p), one with bounds is low + (high - low) / (1 + exp(-p)), any other is
 * p. */
struct variable {
	const char *name;
	struct loc loc;
	double start;
	bool positive, bounded;
	double low, high;
};

/* A summand of the loss that an objective minimises. */
struct term {
	const char *name;
	struct loc loc;
	double weight;
	bool balanced;                   /* its weight changes in training: an input named by
	                                  * PHYSICS_WEIGHT (objective, term) replaces `weight` */
	const struct expr *e;
};
#define PHYSICS_WEIGHT "weight/%s/%s"

#define TERMS_MOST 32                /* largest number of terms of an objective */

struct physics {
	struct networks_read net;
	struct points points;
	int nvariable;
	struct variable *variable;
	bool opened;                     /* the points were read from their records */
	struct strings coordinates;
	const struct expr **residual;    /* the residual of each set that is resampled by one; else
	                                  * NULL */
	int nname;
	struct expr_name *name;          /* the names that expressions may use */
};

/* The table of keys by which a config is read. If the tree has equations, the keys that only
 * training on data needs are optional. */
const struct field *physics_fields(struct arena *a, const struct ynode *tree);
/* Removes from an effective config the keys that have no meaning with equations. */
void physics_leave_out(struct ynode *tree);
/* E_CONFIG for a metric that does not compare networks with known values. */
int physics_check_metrics(const struct run_config *c);
/* Reads these keys from c's tree into c->physics and c->objectives. E_CONFIG, with an entry for
 * every mistake that can be found without reading records. */
int physics_read(struct run_config *c);
/* Reads the records of points, and checks all expressions. */
int physics_open(struct run_config *c);

/* The scope of expressions, with the shapes of one rank's share of the points among `ranks`
 * ranks. */
struct expr_scope physics_scope(struct arena *a, const struct physics *p, int ranks);
/* Whether an axis is spatial: any axis but "t" and "time". */
bool physics_is_spatial(const char *axis);
/* The number of spatial axes of a set. */
int physics_spatial_axes(const struct point_set *p);
/* The network, or the noise, of this name; NULL if there is none. */
struct network *physics_network(const struct physics *p, const char *name);
const struct noise_name *physics_noise(const struct physics *p, const char *name);
/* The number of components of a network or noise; 0: not known, as for arguments of a network.
 * Those of networks made of layers are known after physics_find_shapes, which also updates
 * p->name. */
int physics_components(const struct physics *p, const char *name);
int physics_find_shapes(struct arena *a, struct physics *p);
/* Whether the host evaluates networks between steps, to resample points by a residual or to balance
 * weights. */
bool physics_watches(const struct run_config *c);
/* The rows of a set that one of `ranks` ranks computes in each step. Ranks share its points, or its
 * realizations if it has any. */
int64_t physics_share(const struct point_set *s, int ranks);
/* Whether a network is a function of coordinates and noise only. Others, such as critics, take
 * outputs of networks as arguments. */
bool physics_is_field(const struct physics *p, const struct network *n);
/* Emits the objective's terms at the points of a rank's share, c->loss, which is their sum, and the
 * ports PLAN_STEP_TERM, PLAN_STEP_VARIABLE and PLAN_STEP_WEIGHT; inputs are called
 * SET.COORDINATE, SET.normal and SET.ARRAY. */
int physics_emit_objective(struct graph *g, struct compilation *c);
/* Emits the residual of set c->r->scored - 1 at c->r->batch candidates as the result "score". Its
 * inputs have the names given above. */
int physics_emit_scores(struct graph *g, struct compilation *c);
/* Emits, for each balanced term of c->r->objective, its gradient by all parameters that the
 * objective trains, one after the other: the result PHYSICS_GRADIENT and the term's name. */
int physics_emit_gradients(struct graph *g, struct compilation *c);
#define PHYSICS_GRADIENT "gradient/"
/* The prefix, followed by the set's name, of a state that keeps the points chosen by resampling.
 * Its first value is the number of the draw + 1; the indices of the chosen candidates follow. */
#define PHYSICS_PICKS "points."
/* Whether a state has this prefix. A run that resumes with another config may start such states
 * anew. */
bool physics_is_state(const char *name);
/* Emits the states that a run of equations has besides its parameters. */
int physics_emit_states(struct graph *g, const struct compilation *c);
/* Emits all networks that are fields, evaluated at c->r->batch points. Coordinates and noise are
 * inputs called PHYSICS_AT.NAME, with a row for each point; each output has its network's name. */
int physics_emit_networks(struct graph *g, struct compilation *c);
#define PHYSICS_AT "at"
#define PHYSICS_ROWS 1024            /* points evaluated by one run of the plan */

#endif
