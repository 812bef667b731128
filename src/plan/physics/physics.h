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
	const struct point_set *record;  /* the record for whose samples networks are evaluated; NULL:
	                                  * they are evaluated at coordinates */
	int nevaluated;                  /* networks that can be evaluated apart from objectives, and
	                                  * names of `let` that data.compare has */
	const struct evaluated *evaluated;
};

/* A network, or a name of `let`, that is evaluated for validation and prediction. */
struct evaluated {
	const char *name;
	struct loc loc;
	int components;                  /* number of values at a point, or of a sample */
	struct shape shape;              /* of these values: one axis, unless it is a sample */
	bool drawn;                      /* it is a function of noise alone */
	/* For samples: the values that it approximates, an expression of the record's arrays; NULL:
	 * none is known. */
	const struct expr *known;
};
#define PHYSICS_KNOWN "known/"       /* in front of the name: the output with the values of
                                      * `known` */

/* Where the record of physics_open is named. */
struct physics_record {
	const char *path;                /* NULL: there is none */
	struct loc loc;
	bool given;                      /* by the user for a prediction: it need not have the arrays of
	                                  * `data.compare` */
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
/* Reads the records of points, and checks all expressions. If networks are functions of samples, it
 * also opens the record that they are evaluated for; E_DATA at its place if it lacks what all
 * networks need, or E_CONFIG if `data.compare` does not fit it. */
int physics_open(struct run_config *c, const struct physics_record *record);
/* Whether the points of the sets are samples, so that there are no coordinates. */
bool physics_has_samples(const struct physics *p);
/* Finds p->evaluated; c: with `data.compare`. The last step of physics_open. */
int physics_find_evaluated(struct run_config *c, const struct physics_record *record);
/* The scope in which networks are evaluated: one set, PHYSICS_AT or PHYSICS_RECORD, with this many
 * points. */
struct expr_scope physics_scope_at(struct arena *a, const struct physics *p, int64_t rows);

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
/* Emits p->evaluated at c->r->batch points or samples, and what is known of them. Coordinates,
 * arrays and noise are inputs called SET.NAME, with a row for each point, SET as in
 * physics_scope_at; each output has its name. */
int physics_emit_networks(struct graph *g, struct compilation *c);
#define PHYSICS_AT "at"              /* points of coordinates */
#define PHYSICS_RECORD "record"      /* samples */
#define PHYSICS_ROWS 1024            /* most points evaluated by one run of the plan */
/* The points evaluated by one run of the plan: of samples no more than a step of training has. */
int64_t physics_rows(const struct physics *p);

#endif
