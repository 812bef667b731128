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

/* An unknown number. It is kept as a parameter called `variables.NAME`, whose exponential it is
 * where it is positive. */
struct variable {
	const char *name;
	struct loc loc;
	double start;
	bool positive;
};

/* A part of what an objective minimises. */
struct term {
	const char *name;
	struct loc loc;
	double weight;
	const struct expr *e;
};
#define TERMS_MOST 32                /* of an objective */

struct physics {
	struct networks_read net;
	struct points points;
	int nvariable;
	struct variable *variable;
	bool opened;                     /* the points of records are read */
	struct strings coordinates;
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
/* Rows that one of `ranks` ranks has of a set, in each step: ranks share its points, or its
 * realizations where it has these. */
int64_t physics_share(const struct point_set *s, int ranks);
/* Whether a network is a function of coordinates and noise; others have to be given something, as
 * critics. */
bool physics_is_field(const struct physics *p, const struct network *n);
/* Emits the objective's terms at the points of a rank's share, c->loss, which is their sum, and the
 * ports PLAN_STEP_TERM and PLAN_STEP_VARIABLE; inputs are called SET.COORDINATE, SET.normal and
 * SET.ARRAY. */
int physics_emit_objective(struct graph *g, struct compilation *c);
/* Emits all networks that are fields at c->r->batch points, whose coordinates and noise are inputs
 * called PHYSICS_AT.NAME with a row for each point, as outputs of the networks' names. */
int physics_emit_networks(struct graph *g, struct compilation *c);
#define PHYSICS_AT "at"
#define PHYSICS_ROWS 1024            /* points at a time */

#endif
