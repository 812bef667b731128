/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports of a plan: the inputs that the host writes before a run of the plan, and the results
 * that it reads afterwards. Each has a name. An input is either the array of that name in the batch
 * ("input", "target", another array of the records) or a number of the step. */
#ifndef DLX_PLAN_PORT_H
#define DLX_PLAN_PORT_H

#include "graph/graph.h"

#define PORT_VALUES 8            /* numbers of a step in one port */
union port_values {
	double f[PORT_VALUES];
	int64_t i[PORT_VALUES];
};

struct batch;
struct plan_step;
struct run_config;

/* The sources of input values. step is NULL outside training. */
struct plan_feeding {
	const struct run_config *config;
	const struct batch *batch;
	const struct plan_step *step;
};

struct port {
	const char *name;
	tid t;
	/* Computes the values, of `type` F64 or I64, from the step; NULL: the port is an array of the
	 * batch. */
	void (*value)(const struct plan_feeding *f, union port_values *out);
	enum dtype type;
};
#define PORTS_MOST 128

struct ports {
	int n;
	struct port port[PORTS_MOST];
};

/* Adds a port for t; NONE adds none. */
void ports_add(struct ports *p, const char *name, tid t);
/* Makes t the tensor of the port of this name, which exists. */
void ports_set(struct ports *p, const char *name, tid t);
/* The tensor of the port of this name, or NONE. */
tid ports_get(const struct ports *p, const char *name);
/* The inputs of a graph, with the source of each. */
void ports_of_inputs(struct ports *p, const struct graph *g);

#endif
