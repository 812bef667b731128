/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Emits the graph of an objective: the tensors for the names in its expressions. */
#include <math.h>
#include <string.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/hash.h"
#include "op/lib/emit.h"
#include "op/noise.h"
#include "optim/optim.h"
#include "pass/autodiff.h"
#include "plan/compilation.h"
#include "plan/physics/physics.h"

struct leaves {
	struct compilation *c;
	const struct physics *p;
	const struct objective *objective;   /* NULL: networks by themselves */
	struct expr_scope *scope;
	int uniforms;                    /* streams of random numbers taken so far */
	int *places;                     /* at which each network was evaluated so far */
	bool keeps;                      /* running statistics stay as they are */
	struct drawn_noise *noise;       /* so far */
};

/* The noise of this name for this many realizations. */
struct drawn_noise {
	struct drawn_noise *next;
	const char *name;
	int64_t realizations;
	tid t;
};

bool physics_watches(const struct run_config *c)
{
	bool any = false;
	for (int i = 0; i < c->physics->points.n; i++)
		any |= c->physics->points.set[i].by != NULL;
	for (int k = 0; k < c->objectives.n; k++)
		any |= c->objectives.v[k].balance != NULL;
	return any;
}

/* --- leaves --- */

static int input(const struct leaves *l, struct graph *g, int set, const char *name,
                 int64_t columns, tid *out)
{
	const struct expr_set *at = &l->scope->set[set];
	const struct shape s = { 2, { at->points * at->realizations, columns } };
	return graph_input(g, arena_printf(g->arena, "%s.%s", l->scope->set[set].name, name),
	                   DTYPE_F32, &s, out);
}

static int coordinate(void *user, struct graph *g, int set, const char *name, tid *out)
{
	return input(user, g, set, name, 1, out);
}

static int array(void *user, struct graph *g, int set, const char *name, tid *out)
{
	const struct leaves *l = user;
	const struct point_set *p = points_find(&l->p->points, l->scope->set[set].name);
	int k = 0;
	while (strcmp(p->values[k].name, name) != 0)
		k++;
	return input(user, g, set, name, p->values[k].each, out);
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

/* The parameter's first value, from which the variable has its own. */
static double stored_start(const struct variable *v)
{
	if (v->bounded)
		return log((v->start - v->low) / (v->high - v->start));
	return v->positive ? log(v->start) : v->start;
}

static int variable(void *user, struct graph *g, const char *name, tid *out)
{
	const struct leaves *l = user;
	const struct variable *v = l->p->variable;
	const struct shape s = { 1, { 1 } };
	while (strcmp(v->name, name) != 0)
		v++;
	const struct init init = { INIT_CONSTANT, stored_start(v) };
	TRY(graph_param(g, arena_printf(g->arena, "variables.%s", name), DTYPE_F32, &s, init, out));
	if (v->positive)
		TRY(emit_unary(g, "exp", *out, out));
	if (v->bounded) {
		TRY(emit_unary(g, "sigmoid", *out, out));
		TRY(emit_scale(g, *out, v->high - v->low, v->low, out));
	}
	const struct shape scalar = { 0 };
	TRY(emit_reshape(g, *out, &scalar, out));
	graph_t(g, *out)->output = true;
	ports_add(&l->c->p->out, arena_printf(g->arena, PLAN_STEP_VARIABLE "%s", name), *out);
	return 0;
}

/* Numbers for the rows that this rank has of all. The rank is the key's sample, and has one row of
 * the node, which begins where that of the rank before it ends, since a row is of even length: so
 * the numbers of a realization are the same on any number of ranks. */
static int random_rows(struct graph *g, enum noise_kind law, int64_t rows, int64_t components,
                       int64_t stream, tid *out)
{
	const int64_t even = components + components % 2;
	const struct shape s = { 2, { 1, rows * even } }, split = { 2, { rows, even } };
	const struct slice range = { 1, 0, components };
	TRY(noise_emit(g, law, &s, stream, out));
	TRY(emit_reshape(g, *out, &split, out));
	return even > components ? emit_slice(g, *out, &range, out) : 0;
}

static int uniform(void *user, struct graph *g, int64_t rows, tid *out)
{
	struct leaves *l = user;
	return random_rows(g, NOISE_UNIFORM, rows, 1, l->uniforms++, out);
}

/* One tensor for all sets of as many realizations. */
static int noise(void *user, struct graph *g, int like, const char *name, tid *out)
{
	struct leaves *l = user;
	const struct noise_name *n = physics_noise(l->p, name);
	const struct point_set *set = &l->p->points.set[like];
	const int64_t realizations = l->scope->set[like].realizations;
	if (!set->realizations && !set->whole)
		return ERR(E_CONFIG, &g->cur_loc, "the noise '%s' is for realizations, which the set '%s' "
		           "has not: give it 'realizations: N'", name, set->name);
	for (const struct drawn_noise *d = l->noise; d; d = d->next)
		if (d->realizations == realizations && strcmp(d->name, name) == 0) {
			*out = d->t;
			return 0;
		}
	TRY(random_rows(g, (enum noise_kind)n->law, realizations, n->components,
	                (int64_t)hash_name(name), out));
	struct drawn_noise *d = ARENA_NEW(g->arena, struct drawn_noise);
	*d = (struct drawn_noise){ l->noise, name, realizations, *out };
	l->noise = d;
	return 0;
}

static int network(void *user, struct expr_emission *m, const struct expr_name *name,
                   const tid *in, tid *out)
{
	struct leaves *l = user;
	const struct network *n = physics_network(l->p, name->name);
	const struct objective *o = l->objective;
	const int owner = (int)(n->owner - l->p->net.v);
	int place = l->places[owner]++;
	if (l->keeps || (o && !objective_trains(o, n->owner->name)))
		place++;                         /* its running statistics are another plan's */
	return network_emit(m, expr_graph(m)->arena, n, o != NULL, place, in, out);
}

static const struct expr_host host = { .coordinate = coordinate, .normal = normal,
	.array = array, .noise = noise, .variable = variable, .uniform = uniform,
	.network = network };

/* --- objectives --- */

/* The weighted term. A weight that is balanced is an input. */
static int weigh(struct graph *g, struct compilation *c, const struct term *t, tid value, tid *out)
{
	const struct shape scalar = { 0 };
	tid weight;
	if (!t->balanced)
		return emit_scale(g, value, t->weight, 0, out);
	TRY(graph_input(g, arena_printf(g->arena, PHYSICS_WEIGHT, c->r->objective->name, t->name),
	                DTYPE_F32, &scalar, &weight));
	graph_t(g, weight)->output = true;
	ports_add(&c->p->out, arena_printf(g->arena, PLAN_STEP_WEIGHT "%s", t->name), weight);
	return emit_mul(g, value, weight, out);
}

static int emit_term(struct graph *g, struct compilation *c, struct expr_emission *m,
                     const struct term *t, tid *sum)
{
	tid value, weighted;
	g->cur_name = t->name;
	g->cur_loc = t->loc;
	TRY(expr_emit(m, t->e, EXPR_NOWHERE, &value));
	graph_t(g, value)->output = true;
	ports_add(&c->p->out, arena_printf(g->arena, PLAN_STEP_TERM "%s", t->name), value);
	if (t->weight == 0 && !t->balanced)  /* it is only reported */
		return 0;
	TRY(weigh(g, c, t, value, &weighted));
	if (*sum == NONE)
		*sum = weighted;
	else
		TRY(graph_emit1(g, "add", NULL, 2, (tid[]){ *sum, weighted }, sum));
	return 0;
}

static struct expr_emission *begin(struct graph *g, struct leaves *l, struct expr_scope scope,
                                   const struct expr_host *leaves)
{
	struct expr_scope *s = ARENA_NEW(g->arena, struct expr_scope);
	struct expr_host *h = ARENA_NEW(g->arena, struct expr_host);
	*s = scope;
	*h = *leaves;
	h->user = l;
	l->places = ARENA_ARRAY(g->arena, int, l->p->net.n + 1);
	l->scope = s;
	g->cur_phase = PHASE_FORWARD;
	return expr_emission_new(g, s, h);
}

/* Why no derivatives travel forward: on a GPU op/taylor has no kernel. NULL: they may. */
static const char *why_reverse(const struct compilation *c)
{
	if (c->r->dev->backend == BACKEND_CUDA)
		return "on a GPU";
	return debug_skips("streams") ? "DLX_DEBUG=skip=streams" : NULL;
}

static int foresee(struct leaves *l, struct expr_emission *m, int n, const struct expr *const *e,
                   const int *set)
{
	if (why_reverse(l->c))
		return 0;
	TRY(expr_foresee(m, n, e, set));
	memset(l->places, 0, (size_t)l->p->net.n * sizeof *l->places);   /* none of that stays */
	return 0;
}

/* Checks the terms that will be emitted, all or those that are balanced, and foresees them. */
static int foresee_terms(struct leaves *l, struct expr_emission *m, bool balanced)
{
	const struct objective *o = l->c->r->objective;
	const struct expr **e = ARENA_ARRAY(l->scope->arena, const struct expr *, o->nterm);
	int *set = ARENA_ARRAY(l->scope->arena, int, o->nterm), n = 0;
	for (int i = 0; i < o->nterm; i++) {
		if (balanced && !o->term[i].balanced)
			continue;
		TRY(expr_check_term(l->scope, o->term[i].e));
		e[n] = o->term[i].e;
		set[n++] = EXPR_NOWHERE;
	}
	return foresee(l, m, n, e, set);
}

/* By noise, the lines of a penalty, or dropout. */
static bool is_random(const struct graph *g)
{
	for (int i = 0; i < g->nnode; i++)
		if (g->node[i]->op->flags & OP_RANDOM)
			return true;
	return false;
}

int physics_emit_objective(struct graph *g, struct compilation *c)
{
	const struct objective *o = c->r->objective;
	struct leaves *l = ARENA_NEW(g->arena, struct leaves);
	*l = (struct leaves){ .c = c, .p = c->r->config->physics, .objective = o };
	struct expr_emission *m = begin(g, l, physics_scope(g->arena, l->p, c->r->ranks.ranks),
	                                &host);
	tid sum = NONE;
	TRY(foresee_terms(l, m, false));
	for (int i = 0; i < o->nterm; i++)
		TRY(emit_term(g, c, m, &o->term[i], &sum));
	if (sum == NONE)
		return ERR(E_CONFIG, &o->term[0].loc, "all terms of objective '%s' have weight 0: there is "
		           "nothing to minimise", o->name);
	if (o->lbfgs && is_random(g))
		return ERR(E_CONFIG, &o->term[0].loc, "'lbfgs' does not train '%s': its terms have random "
		           "numbers, other ones each time that they are evaluated", o->name);
	c->p->derivatives = expr_derivation(m, why_reverse(c));
	c->loss.loss = sum;
	c->loss.weight = graph_scalar(g, 1);
	graph_t(g, sum)->output = true;
	ports_add(&c->p->out, "loss", sum);
	return 0;
}

/* --- balanced weights --- */

/* The parameters that an objective trains. Returns how many; param: room for all tensors. */
static int trained(struct graph *g, const struct objective *o, tid *param)
{
	int n = 0;
	for (tid t = 0; t < g->ntensor; t++)
		if (graph_t(g, t)->role == ROLE_PARAM && graph_t(g, t)->alias == NONE &&
		    objective_trains(o, graph_t(g, t)->name))
			param[n++] = t;
	return n;
}

static int emit_gradient(struct graph *g, struct compilation *c, const struct term *t, tid value,
                         int n, const tid *param)
{
	tid *grad = ARENA_ARRAY(g->arena, tid, n + 1), all;
	int found = 0;
	g->cur_loc = t->loc;
	TRY(autodiff(g, 1, &value, NULL, n, param, grad));
	for (int i = 0; i < n; i++) {
		const struct shape flat = { 1, { shape_count(&graph_t(g, param[i])->shape) } };
		if (grad[i] != NONE)
			TRY(emit_reshape(g, grad[i], &flat, &grad[found++]));
	}
	if (found == 0)
		return ERR(E_CONFIG, &t->loc, "'%s' depends on nothing that is trained, and cannot be "
		           "balanced", t->name);
	TRY(emit_concat(g, 0, found, grad, &all));
	graph_t(g, all)->output = true;
	ports_add(&c->p->out, arena_printf(g->arena, PHYSICS_GRADIENT "%s", t->name), all);
	return 0;
}

int physics_emit_gradients(struct graph *g, struct compilation *c)
{
	const struct objective *o = c->r->objective;
	struct leaves *l = ARENA_NEW(g->arena, struct leaves);
	*l = (struct leaves){ .c = c, .p = c->r->config->physics, .objective = o, .keeps = true };
	struct expr_emission *m = begin(g, l, physics_scope(g->arena, l->p, c->r->ranks.ranks),
	                                &host);
	tid *value = ARENA_ARRAY(g->arena, tid, o->nterm);
	TRY(foresee_terms(l, m, true));
	for (int i = 0; i < o->nterm; i++) {
		if (!o->term[i].balanced)
			continue;
		g->cur_name = o->term[i].name;
		g->cur_loc = o->term[i].loc;
		TRY(expr_emit(m, o->term[i].e, EXPR_NOWHERE, &value[i]));
	}
	tid *param = ARENA_ARRAY(g->arena, tid, g->ntensor);
	int n = trained(g, o, param);
	TRY(optim_drop_frozen(g, o->optimizer, &n, param));
	for (int i = 0; i < o->nterm; i++)
		if (o->term[i].balanced)
			TRY(emit_gradient(g, c, &o->term[i], value[i], n, param));
	return 0;
}

/* --- resampling --- */

int physics_emit_scores(struct graph *g, struct compilation *c)
{
	const int k = c->r->scored - 1;
	struct leaves *l = ARENA_NEW(g->arena, struct leaves);
	*l = (struct leaves){ .c = c, .p = c->r->config->physics };
	struct expr_scope scope = physics_scope(g->arena, l->p, 1);
	struct expr_set *set = arena_copy(g->arena, scope.set, sizeof *set * (size_t)scope.nset);
	struct expr_type type;
	tid out;
	set[k].points = c->r->batch;
	scope.set = set;
	struct expr_emission *m = begin(g, l, scope, &host);
	g->cur_name = l->p->points.set[k].name;
	g->cur_loc = l->p->points.set[k].by_loc;
	TRY(expr_check(l->scope, l->p->residual[k], k, &type));
	TRY(foresee(l, m, 1, &l->p->residual[k], &k));
	TRY(expr_emit(m, l->p->residual[k], k, &out));
	graph_t(g, out)->output = true;
	ports_add(&c->p->out, "score", out);
	return 0;
}

bool physics_is_state(const char *name)
{
	return strncmp(name, PHYSICS_PICKS, strlen(PHYSICS_PICKS)) == 0 ||
	       strncmp(name, BALANCE_STATE ".", strlen(BALANCE_STATE ".")) == 0;
}

int physics_emit_states(struct graph *g, const struct compilation *c)
{
	const struct points *p = &c->r->config->physics->points;
	const struct objective *o = c->r->objective;
	const struct shape weights = { 1, { 1 + o->nterm } };
	tid state;
	if (o->balance)
		TRY(graph_state(g, arena_printf(g->arena, BALANCE_STATE ".%s", o->name), DTYPE_F64,
		                &weights, (struct init){ INIT_CONSTANT, 0 }, &state));
	for (int i = 0; i < p->n; i++) {
		const struct shape s = { 1, { 1 + p->set[i].count } };
		if (p->set[i].by)
			TRY(graph_state(g, arena_printf(g->arena, PHYSICS_PICKS "%s", p->set[i].name),
			                DTYPE_F64, &s, (struct init){ INIT_CONSTANT, 0 }, &state));
	}
	return 0;
}

/* --- networks by themselves --- */

/* (rows, components): of each point its own. */
static int noise_at(void *user, struct graph *g, int like, const char *name, tid *out)
{
	const struct leaves *l = user;
	return input(l, g, like, name, physics_noise(l->p, name)->components, out);
}

static int array_at(void *user, struct graph *g, int set, const char *name, tid *out)
{
	const struct leaves *l = user;
	return input(l, g, set, name, physics_components(l->p, name), out);
}

/* A name as an expression. */
static int parse_name(struct arena *a, const struct evaluated *v, const struct expr **out)
{
	struct ynode *text = ARENA_NEW(a, struct ynode);
	*text = (struct ynode){ .kind = Y_SCALAR, .loc = v->loc, .text = v->name };
	return expr_parse(a, text, out);
}

static int emit_output(struct graph *g, struct leaves *l, struct expr_emission *m,
                       const struct expr *e, const char *name)
{
	struct expr_type type;
	tid out;
	TRY(expr_check(l->scope, e, 0, &type));
	TRY(expr_emit(m, e, 0, &out));
	graph_t(g, out)->output = true;
	ports_add(&l->c->p->out, name, out);
	return 0;
}

int physics_emit_networks(struct graph *g, struct compilation *c)
{
	struct leaves *l = ARENA_NEW(g->arena, struct leaves);
	*l = (struct leaves){ .c = c, .p = c->r->config->physics };
	struct expr_host at = host;
	at.noise = noise_at;
	at.array = array_at;
	struct expr_emission *m = begin(g, l, physics_scope_at(g->arena, l->p, c->r->batch), &at);
	for (int i = 0; i < l->p->nevaluated; i++) {
		const struct evaluated *v = &l->p->evaluated[i];
		const struct expr *e;
		TRY(parse_name(g->arena, v, &e));
		TRY(emit_output(g, l, m, e, v->name));
		if (v->known)
			TRY(emit_output(g, l, m, v->known,
			                arena_printf(g->arena, PHYSICS_KNOWN "%s", v->name)));
	}
	return 0;
}
