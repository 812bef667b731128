/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph of an objective: the leaves that its expressions name. */
#include <math.h>
#include <string.h>

#include "base/debug.h"
#include "base/err.h"
#include "op/lib/emit.h"
#include "op/noise.h"
#include "plan/compilation.h"
#include "plan/physics.h"

struct leaves {
	struct compilation *c;
	const struct physics *p;
	struct expr_scope *scope;
	int uniforms;                    /* streams of random numbers taken so far */
};

int64_t physics_share(const struct point_set *s, int ranks)
{
	return s->count / (ranks > 1 ? ranks : 1);
}

bool physics_is_spatial(const char *axis)
{
	return strcmp(axis, "t") != 0 && strcmp(axis, "time") != 0;
}

static struct expr_set set_of(struct arena *a, const struct point_set *p, int ranks)
{
	struct expr_axis *axis = ARENA_ARRAY(a, struct expr_axis, p->naxes + 1);
	const char **array = ARENA_ARRAY(a, const char *, p->nvalues + 1);
	for (int k = 0; k < p->naxes; k++)
		axis[k] = (struct expr_axis){ p->axis[k], physics_is_spatial(p->axis[k]) };
	for (int k = 0; k < p->nvalues; k++)
		array[k] = p->values[k].name;
	return (struct expr_set){ .name = p->name, .points = physics_share(p, ranks),
		.realizations = 1, .axis = axis, .naxis = p->naxes, .array = array, .narray = p->nvalues,
		.normals = p->normals };
}

struct expr_scope physics_scope(struct arena *a, const struct physics *p, int ranks)
{
	struct expr_set *set = ARENA_ARRAY(a, struct expr_set, p->points.n + 1);
	int n = 0;
	for (int i = 0; i < p->points.n; i++)
		set[n++] = set_of(a, &p->points.set[i], ranks);
	return (struct expr_scope){ .arena = a, .name = p->name, .nname = p->nname, .set = set,
		.nset = n, .ranks = ranks };
}

/* --- leaves --- */

static int input(const struct leaves *l, struct graph *g, int set, const char *name,
                 int64_t columns, tid *out)
{
	const struct shape s = { 2, { l->scope->set[set].points, columns } };
	return graph_input(g, arena_printf(g->arena, "%s.%s", l->scope->set[set].name, name),
	                   DTYPE_F32, &s, out);
}

static int coordinate(void *user, struct graph *g, int set, const char *name, tid *out)
{
	return input(user, g, set, name, 1, out);
}

static int normal(void *user, struct graph *g, int set, tid *out)
{
	const struct leaves *l = user;
	const struct expr_set *s = &l->scope->set[set];
	int64_t columns = 0;
	for (int k = 0; k < s->naxis; k++)
		columns += s->axis[k].spatial;
	return input(l, g, set, "normal", columns, out);
}

/* exp(p) where it is positive. */
static int variable(void *user, struct graph *g, const char *name, tid *out)
{
	const struct leaves *l = user;
	const struct variable *v = l->p->variable;
	const struct shape s = { 1, { 1 } };
	while (strcmp(v->name, name) != 0)
		v++;
	const struct init init = { INIT_CONSTANT, v->positive ? log(v->start) : v->start };
	TRY(graph_param(g, arena_printf(g->arena, "variables.%s", name), DTYPE_F32, &s, init, out));
	if (v->positive)
		TRY(emit_unary(g, "exp", *out, out));
	const struct shape scalar = { 0 };
	TRY(emit_reshape(g, *out, &scalar, out));
	graph_t(g, *out)->output = true;
	ports_add(&l->c->p->out, arena_printf(g->arena, PLAN_STEP_VARIABLE "%s", name), *out);
	return 0;
}

static int uniform(void *user, struct graph *g, int64_t rows, tid *out)
{
	struct leaves *l = user;
	const struct shape s = { 2, { rows, 1 } };
	return noise_emit(g, NOISE_UNIFORM, &s, l->uniforms++, out);
}

static const struct network *network_of(const struct physics *p, const char *name)
{
	for (int i = 0; i < p->net.n; i++)
		if (strcmp(p->net.v[i].name, name) == 0)
			return &p->net.v[i];
	BUG("no network '%s'", name);
}

static int network(void *user, struct expr_emission *m, const struct expr_name *name,
                   const tid *in, tid *out)
{
	const struct leaves *l = user;
	return network_emit(m, expr_graph(m)->arena, network_of(l->p, name->name), in, out);
}

static int no_noise(void *user, struct graph *g, int like, const char *name, tid *out)
{
	BUG("noise '%s'", name);
}

static const struct expr_host host = { .coordinate = coordinate, .normal = normal,
	.array = coordinate, .noise = no_noise, .variable = variable, .uniform = uniform,
	.network = network };

/* --- objectives --- */

static int emit_term(struct graph *g, struct compilation *c, struct expr_emission *m,
                     const struct term *t, tid *sum)
{
	tid value, weighted;
	g->cur_name = t->name;
	g->cur_loc = t->loc;
	TRY(expr_emit(m, t->e, EXPR_NOWHERE, &value));
	graph_t(g, value)->output = true;
	ports_add(&c->p->out, arena_printf(g->arena, PLAN_STEP_TERM "%s", t->name), value);
	TRY(emit_scale(g, value, t->weight, 0, &weighted));
	if (*sum == NONE)
		*sum = weighted;
	else
		TRY(graph_emit1(g, "add", NULL, 2, (tid[]){ *sum, weighted }, sum));
	return 0;
}

static struct expr_emission *begin(struct graph *g, struct leaves *l, struct expr_scope scope)
{
	struct expr_scope *s = ARENA_NEW(g->arena, struct expr_scope);
	struct expr_host *h = ARENA_NEW(g->arena, struct expr_host);
	*s = scope;
	*h = host;
	h->user = l;
	l->scope = s;
	g->cur_phase = PHASE_FORWARD;
	return expr_emission_new(g, s, h);
}

static int foresee(struct arena *a, struct expr_emission *m, const struct objective *o)
{
	const struct expr **e = ARENA_ARRAY(a, const struct expr *, o->nterm);
	int *set = ARENA_ARRAY(a, int, o->nterm);
	for (int i = 0; i < o->nterm; i++) {
		e[i] = o->term[i].e;
		set[i] = EXPR_NOWHERE;
	}
	return expr_foresee(m, o->nterm, e, set);
}

int physics_emit_objective(struct graph *g, struct compilation *c)
{
	const struct objective *o = c->r->objective;
	struct leaves *l = ARENA_NEW(g->arena, struct leaves);
	*l = (struct leaves){ .c = c, .p = c->r->config->physics };
	struct expr_emission *m = begin(g, l, physics_scope(g->arena, l->p, c->r->ranks.ranks));
	tid sum = NONE;
	for (int i = 0; i < o->nterm; i++)
		TRY(expr_check_term(l->scope, o->term[i].e));
	if (c->r->dev->backend != BACKEND_CUDA && !debug.no_streams)
		TRY(foresee(g->arena, m, o));
	for (int i = 0; i < o->nterm; i++)
		TRY(emit_term(g, c, m, &o->term[i], &sum));
	c->loss.loss = sum;
	c->loss.weight = graph_scalar(g, 1);
	graph_t(g, sum)->output = true;
	ports_add(&c->p->out, "loss", sum);
	return 0;
}

/* --- networks by themselves --- */

static struct expr_scope scope_at(struct arena *a, const struct physics *p, int64_t rows)
{
	struct expr_axis *axis = ARENA_ARRAY(a, struct expr_axis, p->coordinates.n + 1);
	struct expr_set *set = ARENA_NEW(a, struct expr_set);
	for (int k = 0; k < p->coordinates.n; k++)
		axis[k] = (struct expr_axis){ p->coordinates.v[k],
			physics_is_spatial(p->coordinates.v[k]) };
	*set = (struct expr_set){ .name = PHYSICS_AT, .points = rows, .realizations = 1, .axis = axis,
		.naxis = p->coordinates.n };
	return (struct expr_scope){ .arena = a, .name = p->name, .nname = p->nname, .set = set,
		.nset = 1 };
}

int physics_emit_networks(struct graph *g, struct compilation *c)
{
	struct leaves *l = ARENA_NEW(g->arena, struct leaves);
	*l = (struct leaves){ .c = c, .p = c->r->config->physics };
	struct expr_emission *m = begin(g, l, scope_at(g->arena, l->p, c->r->batch));
	for (int i = 0; i < l->p->net.n; i++) {
		const struct network *n = &l->p->net.v[i];
		struct ynode *text = ARENA_NEW(g->arena, struct ynode);
		const struct expr *e;
		struct expr_type type;
		tid out;
		*text = (struct ynode){ .kind = Y_SCALAR, .loc = n->loc, .text = n->name };
		TRY(expr_parse(g->arena, text, &e));
		TRY(expr_check(l->scope, e, 0, &type));
		TRY(expr_emit(m, e, 0, &out));
		graph_t(g, out)->output = true;
		ports_add(&c->p->out, n->name, out);
	}
	return 0;
}
