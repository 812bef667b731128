/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Emits expressions as nodes. Results that could be needed again are cached: leaves by set, `let`s
 * by set, networks by their input tensors, derivatives by tensor and coordinate. A first derivative
 * computes those with respect to all coordinates in one reverse pass; unused ones are dead code. */
#include <string.h>

#include "base/err.h"
#include "model/expr_collapse.h"
#include "model/expr_derive.h"
#include "op/lib/elementwise.h"
#include "op/lib/emit.h"

struct let_value {
	struct let_value *next;
	const struct expr_name *let;
	int set;
	struct value value;
};

struct applied {
	struct applied *next;
	const struct expr_name *network;
	const tid *in;
	tid out;
};

static int emit(struct expr_emission *m, const struct site *f, const struct expr *e,
                struct value *out);

/* --- names --- */

static struct value at_set(const struct expr_emission *m, const struct site *f, tid t)
{
	return value_of(m->v.g, t, f->set);
}

/* Noise of each realization, (R, C), repeated to its points. */
static int repeat_noise(struct expr_emission *m, int set, tid *t)
{
	const int64_t points = m->s->set[set].points, r = m->s->set[set].realizations;
	const int64_t c = graph_t(m->v.g, *t)->shape.d[1];
	const struct shape each = { 3, { r, 1, c } }, all = { 3, { r, points, c } };
	const struct shape rows = { 2, { r * points, c } };
	if (points == 1)
		return 0;
	TRY(emit_reshape(m->v.g, *t, &each, t));
	TRY(emit_broadcast(m->v.g, *t, &all, t));
	return emit_reshape(m->v.g, *t, &rows, t);
}

static int make_leaf(struct expr_emission *m, int set, enum expr_what what, const char *name,
                     tid *out)
{
	const struct expr_host *h = m->host;
	const struct shape scalar = { 0 };
	if (what == EXPR_COORDINATE)
		return h->coordinate(h->user, m->v.g, set, name, out);
	if (what == EXPR_ARRAY)
		return h->array(h->user, m->v.g, set, name, out);
	if (what == EXPR_NOISE) {
		TRY(h->noise(h->user, m->v.g, set, name, out));
		return repeat_noise(m, set, out);
	}
	TRY(h->variable(h->user, m->v.g, name, out));
	return emit_reshape(m->v.g, *out, &scalar, out);
}

int expr_leaf(struct expr_emission *m, int set, enum expr_what what, const char *name, tid *out)
{
	if (what == EXPR_VARIABLE)
		set = EXPR_NOWHERE;
	for (const struct leaf *l = m->leaves; l; l = l->next)
		if (l->set == set && l->what == what && !strcmp(l->name, name)) {
			*out = l->t;
			return 0;
		}
	TRY(make_leaf(m, set, what, name, out));
	if (set >= 0 && graph_t(m->v.g, *out)->shape.d[0] !=
	                m->s->set[set].points * m->s->set[set].realizations)
		return ERR(E_BUG, &m->v.g->cur_loc, "'%s' at the set '%s' has %lld rows", name,
		           m->s->set[set].name, (long long)graph_t(m->v.g, *out)->shape.d[0]);
	struct leaf *l = ARENA_NEW(m->v.arena, struct leaf);
	*l = (struct leaf){ m->leaves, set, what, name, *out };
	m->leaves = l;
	return 0;
}

/* The network of these inputs. */
static int apply(struct expr_emission *m, const struct expr_name *n, const tid *in, tid *out)
{
	const size_t bytes = (size_t)n->ninput * sizeof *in;
	for (const struct applied *a = m->applied; a; a = a->next)
		if (a->network == n && !memcmp(a->in, in, bytes)) {
			*out = a->out;
			return 0;
		}
	const struct graph_context before = { m->v.g->cur_name, m->v.g->cur_loc, m->v.g->cur_phase };
	int rc = m->host->network(m->host->user, m, n, in, out);
	graph_leave(m->v.g, before);
	TRY(rc);
	struct applied *a = ARENA_NEW(m->v.arena, struct applied);
	*a = (struct applied){ m->applied, n, arena_copy(m->v.arena, in, bytes), *out };
	m->applied = a;
	return 0;
}

static int emit_let(struct expr_emission *m, const struct site *f, const struct expr_name *n,
                    struct value *out)
{
	for (const struct let_value *l = f->bound ? NULL : m->lets; l; l = l->next)
		if (l->let == n && l->set == f->set) {
			*out = l->value;
			return 0;
		}
	TRY(emit(m, f, n->let, out));
	if (f->bound)
		return 0;
	struct let_value *l = ARENA_NEW(m->v.arena, struct let_value);
	*l = (struct let_value){ m->lets, n, f->set, *out };
	m->lets = l;
	return 0;
}

static int emit_word(struct expr_emission *m, const struct site *f, const char *name,
                     struct value *out)
{
	const struct expr_bound *b = expr_find_bound(f->nbound, f->bound, name);
	const struct expr_name *n = b ? NULL : expr_find_name(m->s, name);
	tid t;
	if (b) {
		*out = at_set(m, f, b->value);
		return 0;
	}
	BUG_IF(!n, "the name '%s' of an expression that was checked", name);
	if (n->what == EXPR_LET)
		return emit_let(m, f, n, out);
	if (n->what == EXPR_NETWORK) {
		tid *in = ARENA_ARRAY(m->v.arena, tid, n->ninput);
		for (int i = 0; i < n->ninput; i++) {
			struct value x;
			TRY(emit_word(m, f, n->input[i].name, &x));
			TRY(value_whole(&m->v, &x, f->rows, &in[i]));
		}
		TRY(apply(m, n, in, &t));
	} else {
		TRY(expr_leaf(m, f->set, n->what, name, &t));
	}
	*out = at_set(m, f, t);
	return 0;
}

static int emit_apply(struct expr_emission *m, const struct site *f, const struct expr *e,
                      struct value *out)
{
	const struct expr_name *n = expr_find_name(m->s, e->name);
	struct value *x = ARENA_ARRAY(m->v.arena, struct value, e->n), like = { .set = f->set };
	tid *in = ARENA_ARRAY(m->v.arena, tid, e->n), t;
	for (int i = 0; i < e->n; i++) {
		TRY(emit(m, f, e->arg[i], &x[i]));
		if (x[i].rows && !like.rows)
			like = x[i];
		like.located |= x[i].located;
	}
	if (!like.rows)
		like.rows = f->rows ? f->rows : 1;
	for (int i = 0; i < e->n; i++)
		TRY(value_whole(&m->v, &x[i], like.rows, &in[i]));
	TRY(apply(m, n, in, &t));
	*out = value_of(m->v.g, t, like.set);
	out->extent = like.extent == EXPR_OF_SNAPSHOTS ? EXPR_OF_SNAPSHOTS : EXPR_OF_POINTS;
	out->located = like.located;
	return 0;
}

/* --- operators --- */

static int plain_operator(struct graph *g, const void *of, const tid *in, tid *out)
{
	return graph_emit1(g, of, NULL, op_find(of)->min_in, in, out);
}

static int scale_operator(struct graph *g, const void *of, const tid *in, tid *out)
{
	const struct scale_attr *at = of;
	return emit_scale(g, in[0], at->factor, at->shift, out);
}

static int power_operator(struct graph *g, const void *of, const tid *in, tid *out)
{
	const struct pow_attr *at = of;
	*out = in[0];
	if (at->exponent == 1)
		return 0;
	if (at->exponent == 2 || at->exponent == 0.5)
		return emit_unary(g, at->exponent == 2 ? "square" : "sqrt", in[0], out);
	return graph_emit1(g, "pow", at, 1, in, out);
}

static int tan_operator(struct graph *g, const void *of, const tid *in, tid *out)
{
	tid sine, cosine;
	TRY(emit_unary(g, "sin", in[0], &sine));
	TRY(emit_unary(g, "cos", in[0], &cosine));
	return emit_div(g, sine, cosine, out);
}

/* (exp(a) + exp(-a)) / 2, and tanh(a) cosh(a), which has no cancellation near 0. */
static int hyperbolic_operator(struct graph *g, const void *of, const tid *in, tid *out)
{
	const enum expr_call *function = of;
	tid up, down, tanh;
	TRY(emit_unary(g, "exp", in[0], &up));
	TRY(emit_scale(g, in[0], -1, 0, &down));
	TRY(emit_unary(g, "exp", down, &down));
	TRY(graph_emit1(g, "add", NULL, 2, (tid[]){ up, down }, out));
	TRY(emit_scale(g, *out, 0.5, 0, out));
	if (*function == CALL_COSH)
		return 0;
	TRY(emit_unary(g, "tanh", in[0], &tanh));
	return emit_mul(g, tanh, *out, out);
}

/* a^b, b no number: exp(b log(a)). */
static int varying_power(struct graph *g, const void *of, const tid *in, tid *out)
{
	tid t;
	TRY(emit_unary(g, "log", in[0], &t));
	TRY(emit_mul(g, t, in[1], &t));
	return emit_unary(g, "exp", t, out);
}

static int emit_power(struct expr_emission *m, struct value *v, struct value *out)
{
	const struct pow_attr at = { v[1].number };
	if (v[1].extent == EXPR_OF_NUMBER)
		return value_map(&m->v, power_operator, &at, 1, v, out);
	return value_map(&m->v, varying_power, NULL, 2, v, out);
}

/* A sum, difference, product or quotient with one number: at most one node. */
static int emit_scaled(struct expr_emission *m, enum expr_op op, struct value *v, struct value *out)
{
	const double a = v[0].number, b = op == EXPR_NEGATE ? 0 : v[1].number;
	const bool first = op != EXPR_NEGATE && v[0].extent == EXPR_OF_NUMBER;
	struct scale_attr at = { 1, 0 };
	if (op == EXPR_DIVIDE && !first && b == 0)
		return ERR(E_CONFIG, &m->v.g->cur_loc, "division by zero");
	if (op == EXPR_NEGATE)
		at.factor = -1;
	else if (op == EXPR_MULTIPLY)
		at.factor = first ? a : b;
	else if (op == EXPR_DIVIDE)
		at.factor = first ? a : 1 / b;
	else
		at = (struct scale_attr){ first && op == EXPR_SUBTRACT ? -1 : 1,
			                      first ? a : op == EXPR_ADD ? b : -b };
	if (op == EXPR_DIVIDE && first) {
		const struct pow_attr inverse = { -1 };
		struct value t;
		TRY(value_map(&m->v, power_operator, &inverse, 1, &v[1], &t));
		return value_map(&m->v, scale_operator, &at, 1, &t, out);
	}
	return value_map(&m->v, scale_operator, &at, 1, &v[first], out);
}

static int emit_operator(struct expr_emission *m, const struct expr *e, struct value *v,
                         struct value *out)
{
	static const char *const op[] = { [EXPR_ADD] = "add", [EXPR_SUBTRACT] = "subtract",
		                              [EXPR_MULTIPLY] = "multiply", [EXPR_DIVIDE] = "divide" };
	if (e->op == EXPR_POWER)
		return emit_power(m, v, out);
	if (e->n == 1 || v[0].extent == EXPR_OF_NUMBER || v[1].extent == EXPR_OF_NUMBER)
		return emit_scaled(m, e->op, v, out);
	return value_map(&m->v, plain_operator, op[e->op], 2, v, out);
}

static int emit_function(struct expr_emission *m, const struct expr *e, struct value *v,
                         struct value *out)
{
	static const char *const op[] = {
		[CALL_SIN] = "sin", [CALL_COS] = "cos", [CALL_EXP] = "exp", [CALL_LOG] = "log",
		[CALL_SQRT] = "sqrt", [CALL_ABS] = "abs", [CALL_TANH] = "tanh", [CALL_SIGMOID] = "sigmoid",
		[CALL_SOFTPLUS] = "softplus", [CALL_MIN] = "minimum", [CALL_MAX] = "maximum",
		[CALL_SELECT] = "select"
	};
	if (e->function == CALL_TAN)
		return value_map(&m->v, tan_operator, NULL, 1, v, out);
	if (e->function == CALL_SINH || e->function == CALL_COSH)
		return value_map(&m->v, hyperbolic_operator, &e->function, 1, v, out);
	if (e->function == CALL_POW)
		return emit_power(m, v, out);
	if (e->function != CALL_MIN && e->function != CALL_MAX)
		return value_map(&m->v, plain_operator, op[e->function], e->n, v, out);
	*out = v[0];
	for (int i = 1; i < e->n; i++) {
		struct value pair[2] = { *out, v[i] };
		TRY(value_map(&m->v, plain_operator, op[e->function], 2, pair, out));
	}
	return 0;
}

/* An operator or a function of each component; numbers, which a `let` may be, give a number. */
static int emit_each(struct expr_emission *m, const struct site *f, const struct expr *e,
                     struct value *out)
{
	struct value *v = ARENA_ARRAY(m->v.arena, struct value, e->n);
	double *number = ARENA_ARRAY(m->v.arena, double, e->n);
	int numbers = 0;
	for (int i = 0; i < e->n; i++) {
		TRY(emit(m, f, e->arg[i], &v[i]));
		number[i] = v[i].number;
		numbers += v[i].extent == EXPR_OF_NUMBER;
	}
	m->v.g->cur_loc = e->loc;
	if (numbers < e->n)
		return e->op == EXPR_CALL ? emit_function(m, e, v, out) : emit_operator(m, e, v, out);
	*out = value_number(0);
	return expr_compute(e, number, &out->number);
}

/* --- functions that reduce or join --- */

/* The sum over components, (rows, 1). */
static int sum_components(struct expr_emission *m, struct value *v, tid *out)
{
	struct graph *g = m->v.g;
	if (!v->part) {
		TRY(value_whole(&m->v, v, 0, out));
		return v->components > 1 ? emit_sum(g, *out, 2u, true, out) : 0;
	}
	*out = v->part[0];
	for (int k = 1; k < v->components; k++)
		TRY(graph_emit1(g, "add", NULL, 2, (tid[]){ *out, v->part[k] }, out));
	return 0;
}

static int emit_contraction(struct expr_emission *m, const struct expr *e, struct value *v,
                            struct value *out)
{
	struct value product;
	const struct value like = v[0].rows ? v[0] : v[e->n - 1];
	const bool norm = e->function == CALL_NORM;
	tid t;
	TRY(value_map(&m->v, plain_operator, norm ? "square" : "multiply", e->n, v, &product));
	TRY(sum_components(m, &product, &t));
	if (norm) {
		TRY(emit_scale(m->v.g, t, 1, EXPR_EPSILON, &t));
		TRY(emit_unary(m->v.g, "sqrt", t, &t));
	}
	*out = value_of(m->v.g, t, like.set);
	out->extent = product.extent;
	out->located = product.located;
	return 0;
}

static int emit_mean(struct expr_emission *m, const struct expr *e, struct value *v,
                     struct value *out)
{
	tid t;
	TRY(value_whole(&m->v, v, 0, &t));
	TRY(emit_unary(m->v.g, e->function == CALL_MEAN ? "mean" : "sum", t, &t));
	if (e->function == CALL_SUM && m->s->ranks > 1 && v->set >= 0)
		TRY(emit_scale(m->v.g, t, m->s->ranks, 0, &t));
	*out = value_of(m->v.g, t, EXPR_NOWHERE);
	return 0;
}

static int join_components(struct expr_emission *m, const struct site *f, const struct expr *e,
                           struct value *v, struct value *out)
{
	struct value like = { .rows = f->rows, .set = f->set, .extent = EXPR_OF_POINTS };
	int n = 0, all = 0;
	for (int i = 0; i < e->n; i++) {
		if (v[i].rows)
			like = v[i];
		all += v[i].components;
	}
	tid *part = ARENA_ARRAY(m->v.arena, tid, all);
	for (int i = 0; i < e->n; i++)
		for (int k = 0; k < v[i].components; k++, n++)
			TRY(v[i].rows ? value_part(&m->v, &v[i], k, &part[n])
			              : value_whole(&m->v, &v[i], like.rows, &part[n]));
	*out = value_parts(&m->v, all, part, like.set);
	out->extent = like.extent;
	return 0;
}

static int join_snapshots(struct expr_emission *m, const struct expr *e, struct value *v,
                          struct value *out)
{
	tid *in = ARENA_ARRAY(m->v.arena, tid, e->n), t;
	for (int i = 0; i < e->n; i++) {
		const int64_t r = v[i].set >= 0 ? m->s->set[v[i].set].realizations : 1;
		const struct shape row = { 2, { r, v[i].rows / r * v[i].components } };
		TRY(value_whole(&m->v, &v[i], 0, &t));
		TRY(emit_reshape(m->v.g, t, &row, &in[i]));
	}
	TRY(emit_concat(m->v.g, 1, e->n, in, &t));
	*out = value_of(m->v.g, t, v[0].set);
	out->extent = EXPR_OF_SNAPSHOTS;
	out->located = true;
	return 0;
}

/* The norm of dD/dv at `at`, (rows, 1). */
static int slope(struct expr_emission *m, const struct expr *e, tid at, tid *out)
{
	struct graph *g = m->v.g;
	const struct expr_name *critic = expr_find_name(m->s, e->arg[0]->name);
	tid y, t;
	TRY(apply(m, critic, &at, &y));
	if (m->foreseeing) {         /* by an op that cannot be derived forward, as those below */
		const struct reduce_attr row = { ints_make(g, 1, &(int64_t){ 1 }), true };
		return graph_emit1(g, "max", &row, 1, &y, out);
	}
	TRY(expr_differentiate(m, y, 1, &at, &t));
	if (t == NONE)
		return ERR(E_CONFIG, &e->arg[0]->loc, "'%s' does not depend on its input", critic->name);
	TRY(emit_unary(g, "square", t, &t));
	TRY(emit_sum(g, t, 2u, true, &t));
	TRY(emit_scale(g, t, 1, EXPR_EPSILON, &t));
	return emit_unary(g, "sqrt", t, out);
}

static int emit_slope(struct expr_emission *m, const struct expr *e, struct value *v,
                      struct value *out)
{
	tid at, t;
	TRY(value_whole(&m->v, v, 0, &at));
	TRY(slope(m, e, at, &t));
	*out = value_of(m->v.g, t, v->set);
	out->extent = v->extent;
	out->located = v->located;
	return 0;
}

/* mean((slope - 1)^2) at fake + alpha (real - fake). */
static int emit_penalty(struct expr_emission *m, const struct expr *e, struct value *v,
                        struct value *out)
{
	struct graph *g = m->v.g;
	tid real, fake, alpha, at, t;
	TRY(value_whole(&m->v, &v[1], 0, &real));
	TRY(value_whole(&m->v, &v[2], 0, &fake));
	if (m->foreseeing)
		TRY(emit_fill(g, 0, &(struct shape){ 2, { v[1].rows, 1 } }, &alpha));
	else
		TRY(m->host->uniform(m->host->user, g, v[1].rows, &alpha));
	TRY(emit_broadcast(g, alpha, &graph_t(g, real)->shape, &alpha));
	TRY(emit_sub(g, real, fake, &t));
	TRY(emit_mul(g, alpha, t, &t));
	TRY(graph_emit1(g, "add", NULL, 2, (tid[]){ fake, t }, &at));
	TRY(slope(m, e, at, &t));
	TRY(emit_scale(g, t, 1, -1, &t));
	TRY(emit_unary(g, "square", t, &t));
	TRY(emit_unary(g, "mean", t, &t));
	*out = value_of(g, t, EXPR_NOWHERE);
	return 0;
}

static int emit_call(struct expr_emission *m, const struct site *f, const struct expr *e,
                     struct value *out)
{
	struct value *v = ARENA_ARRAY(m->v.arena, struct value, e->n);
	bool derives = e->function >= CALL_DERIVE && e->function <= CALL_NORMAL, located = false;
	if (e->function < CALL_DERIVE)
		return emit_each(m, f, e, out);
	for (int i = e->function >= CALL_SLOPE; i < (derives ? 1 : e->n); i++) {
		TRY(emit(m, f, e->arg[i], &v[i]));
		located |= v[i].located;
	}
	m->v.g->cur_loc = e->loc;
	if (derives)
		return expr_emit_derivative(m, f, e, &v[0], out);
	if (e->function == CALL_DOT || e->function == CALL_NORM)
		return emit_contraction(m, e, v, out);
	if (e->function == CALL_MEAN || e->function == CALL_SUM)
		return emit_mean(m, e, v, out);
	if (e->function == CALL_SLOPE)
		return emit_slope(m, e, &v[1], out);
	if (e->function == CALL_PENALTY)
		return emit_penalty(m, e, v, out);
	return located ? join_snapshots(m, e, v, out) : join_components(m, f, e, v, out);
}

/* --- the tree --- */

static int emit_at(struct expr_emission *m, const struct expr *e, struct value *out)
{
	const int set = expr_find_set(m->s, e->set);
	const struct site f = { .set = set,
		                     .rows = m->s->set[set].points * m->s->set[set].realizations };
	TRY(emit(m, &f, e->arg[0], out));
	out->located = out->rows > 0;
	return 0;
}

static int emit_member(struct expr_emission *m, const struct expr *e, struct value *out)
{
	const int set = expr_find_set(m->s, e->set);
	tid t;
	TRY(expr_leaf(m, set, EXPR_ARRAY, e->name, &t));
	*out = value_of(m->v.g, t, set);
	out->located = true;
	return 0;
}

static int emit_component(struct expr_emission *m, const struct site *f, const struct expr *e,
                          struct value *out)
{
	struct value v;
	tid t;
	TRY(emit(m, f, e->arg[0], &v));
	m->v.g->cur_loc = e->loc;
	TRY(value_part(&m->v, &v, e->index, &t));
	*out = value_of(m->v.g, t, v.set);
	out->extent = v.extent;
	out->located = v.located;
	return 0;
}

static int emit_op(struct expr_emission *m, const struct site *f, const struct expr *e,
                   struct value *out)
{
	m->v.g->cur_loc = e->loc;
	if (m->how == BY_SUMS && (e->op == EXPR_ADD || e->op == EXPR_SUBTRACT))
		e = expr_collapse(m, f, e);
	switch (e->op) {
	case EXPR_NUMBER: *out = value_number(e->number); return 0;
	case EXPR_NAME: return emit_word(m, f, e->name, out);
	case EXPR_MEMBER: return emit_member(m, e, out);
	case EXPR_COMPONENT: return emit_component(m, f, e, out);
	case EXPR_AT: return emit_at(m, e, out);
	case EXPR_APPLY: return emit_apply(m, f, e, out);
	case EXPR_CALL: return emit_call(m, f, e, out);
	default: return emit_each(m, f, e, out);
	}
}

static int emit(struct expr_emission *m, const struct site *f, const struct expr *e,
                struct value *out)
{
	const struct loc before = m->v.g->cur_loc;
	int rc = emit_op(m, f, e, out);
	m->v.g->cur_loc = before;
	return rc;
}

struct expr_emission *expr_emission_new(struct graph *g, struct expr_scope *s,
                                        const struct expr_host *host)
{
	struct expr_emission *m = ARENA_NEW(s->arena, struct expr_emission);
	*m = (struct expr_emission){ .v = { .g = g, .arena = s->arena }, .s = s, .host = host,
		                            .how = BY_REVERSE };
	return m;
}

struct graph *expr_graph(const struct expr_emission *m)
{
	return m->v.g;
}

int expr_emit(struct expr_emission *m, const struct expr *e, int set, tid *out)
{
	const struct site f = { .set = set, .rows = set < 0 ? 0 : m->s->set[set].points *
		                                                       m->s->set[set].realizations };
	struct value v;
	TRY(emit(m, &f, e, &v));
	if (m->refused && !m->foreseeing)
		return ERR(E_BUG, &e->loc, "a derivative that does not travel forward was not foreseen");
	return value_whole(&m->v, &v, 0, out);
}

int expr_emit_bound(struct expr_emission *m, const struct expr *e, int nbound,
                    const struct expr_bound *bound, tid *out)
{
	const struct site f = { .set = EXPR_NOWHERE, .nbound = nbound, .bound = bound,
		                     .rows = graph_t(m->v.g, bound[0].value)->shape.d[0] };
	struct value v;
	TRY(emit(m, &f, e, &v));
	return value_whole(&m->v, &v, f.rows, out);
}
