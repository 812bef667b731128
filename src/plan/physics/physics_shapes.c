/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the shape of the value of each name in expressions: components at a point, or a sample. The
 * shape of a network made of layers follows from its arguments. */
#include <string.h>

#include "base/err.h"
#include "plan/physics/physics.h"
#include "yaml/schema_value.h"

struct network *physics_network(const struct physics *p, const char *name)
{
	for (int i = 0; i < p->net.n; i++)
		if (strcmp(p->net.v[i].name, name) == 0)
			return &p->net.v[i];
	return NULL;
}

const struct noise_name *physics_noise(const struct physics *p, const char *name)
{
	for (int i = 0; i < p->net.nnoise; i++)
		if (strcmp(p->net.noise[i].name, name) == 0)
			return &p->net.noise[i];
	return NULL;
}

static bool is_coordinate(const struct physics *p, const char *name)
{
	for (int i = 0; i < p->coordinates.n; i++)
		if (strcmp(p->coordinates.v[i], name) == 0)
			return true;
	return false;
}

static const struct point_values *find_array(const struct physics *p, const char *name)
{
	for (int i = 0; i < p->points.n; i++)
		for (int k = 0; k < p->points.set[i].nvalues; k++)
			if (strcmp(p->points.set[i].values[k].name, name) == 0)
				return &p->points.set[i].values[k];
	for (int k = 0; p->record && k < p->record->nvalues; k++)
		if (strcmp(p->record->values[k].name, name) == 0)
			return &p->record->values[k];
	return NULL;
}

/* The shape of a value at one point, or of one sample; no axes: it is not known, as of what a
 * network is given. */
static struct shape shape_of_name(const struct physics *p, const char *name)
{
	const struct network *n = physics_network(p, name);
	const struct noise_name *z = physics_noise(p, name);
	const struct point_values *v = find_array(p, name);
	struct shape s = { 1, { z ? z->components : 1 } };
	bool one = z || is_coordinate(p, name);
	if (n)
		s.d[0] = n->c.outputs;
	if (n && n->layered)
		return n->out;
	for (int i = 0; i < p->nvariable; i++)
		one |= strcmp(p->variable[i].name, name) == 0;
	if (v && !n && !one && v->shape.nd)
		return v->shape;
	return n || one || v ? s : (struct shape){ 0 };
}

/* 0: not known */
int physics_components(const struct physics *p, const char *name)
{
	const struct shape s = shape_of_name(p, name);
	return s.nd ? (int)shape_count(&s) : 0;
}

enum { UNKNOWN, FINDING, FOUND };

/* Those of the network's inputs first. */
static int find_shape(struct physics *p, struct expr_scope *s, int *state, int i)
{
	struct network *n = &p->net.v[i];
	struct shape *given = ARENA_ARRAY(s->arena, struct shape, n->c.inputs.n);
	if (state[i] != UNKNOWN)
		return 0;
	state[i] = FINDING;
	for (int k = 0; k < n->c.inputs.n; k++) {
		const struct network *of = physics_network(p, n->c.inputs.v[k]);
		if (of && state[of - p->net.v] == FINDING)
			return ERR(E_CONFIG, &n->c.inputs.loc[k], "'%s' is defined by itself: '%s' takes it as "
			           "an input", of->name, n->name);
		if (of)
			TRY(find_shape(p, s, state, (int)(of - p->net.v)));
		given[k] = shape_of_name(p, n->c.inputs.v[k]);
	}
	if (n->layered && n->owner != n)
		TRY(find_shape(p, s, state, (int)(n->owner - p->net.v)));
	if (n->layered)
		TRY(network_find_shape(s, n, given));
	state[i] = FOUND;
	return 0;
}

int physics_find_shapes(struct arena *a, struct physics *p)
{
	struct expr_scope s = physics_scope(a, p, 1);
	int *state = ARENA_ARRAY(a, int, p->net.n + 1), rc = 0;
	for (int i = 0; i < p->net.n; i++)
		rc = first_code(rc, find_shape(p, &s, state, i));
	for (int i = 0; i < p->nname; i++) {
		struct expr_name *name = &p->name[i];
		const struct network *n = name->what == EXPR_NETWORK ? physics_network(p, name->name) :
		                          NULL;
		struct expr_input *in = n ? ARENA_ARRAY(a, struct expr_input, name->ninput) : NULL;
		for (int k = 0; k < name->ninput; k++)
			in[k] = (struct expr_input){ name->input[k].name,
				physics_components(p, name->input[k].name) };
		if (!n)
			continue;
		if (n->layered && name->ninput == 1 && n->nfeature == 0)
			in[0].components = n->width;     /* by 'shape', where nothing else says it */
		name->components = (int)n->c.outputs;
		name->kinked = network_kinked(n);
		name->mixes = n->mixes;
		name->input = in;
	}
	return rc;
}
