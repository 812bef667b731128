/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be evaluated apart from objectives: whatever the expression checks say is defined where
 * only coordinates and noise, or a record's arrays and noise, are known. */
#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "plan/config.h"
#include "plan/physics/physics.h"

struct finding {
	struct arena *a;
	struct physics *p;
	const struct physics_record *record;
	struct evaluated *v;
	int n;
};

/* alone: with nothing known but noise. */
static int check(const struct finding *f, const struct expr *e, bool alone, struct expr_type *out)
{
	struct expr_scope s = physics_scope_at(f->a, f->p, 1);
	struct expr_set set = *s.set;
	if (alone)
		set.naxis = set.narray = 0;
	s.set = &set;
	TRY(expr_check(&s, e, 0, out));
	return out->extent == EXPR_OF_POINTS ? 0 : ERR(E_CONFIG, expr_loc(e), "this is one number, "
	       "which is the same for all samples");
}

static bool is_possible(const struct finding *f, const struct expr *e, bool alone)
{
	struct expr_type type;
	const int mark = err_count(), rc = check(f, e, alone, &type);
	err_truncate(mark);
	return rc == 0;
}

static int parse(struct arena *a, const char *text, const struct loc *loc, const struct expr **out)
{
	struct ynode *n = ARENA_NEW(a, struct ynode);
	*n = (struct ynode){ .kind = Y_SCALAR, .loc = *loc, .text = text };
	return expr_parse(a, n, out);
}

/* Of samples without places, that of the array with which they are compared. */
static struct shape shape_of_values(const struct finding *f, const struct evaluated *v)
{
	const struct network *n = physics_network(f->p, v->name);
	const struct point_set *r = f->p->record;
	const struct shape own = n && n->layered && !n->output ? n->out :
	                         (struct shape){ 1, { v->components } };
	for (int k = 0; own.nd == 1 && v->known && r && k < r->nvalues; k++)
		if (r->values[k].each == v->components && expr_names(v->known, r->values[k].name))
			return r->values[k].shape;
	return own;
}

/* known: NULL if nothing is. */
static int add(struct finding *f, const char *name, const struct loc *loc, const struct expr *known)
{
	struct evaluated *v = &f->v[f->n];
	struct expr_type type, other;
	const struct expr *e;
	TRY(parse(f->a, name, loc, &e));
	TRY(check(f, e, false, &type));
	if (known)
		TRY(check(f, known, false, &other));
	if (known && type.components != other.components)
		return ERR(E_CONFIG, expr_loc(known), "'%s' has %d value%s for a sample, and what it is "
		           "compared with has %d", name, type.components, type.components == 1 ? "" : "s",
		           other.components);
	*v = (struct evaluated){ .name = name, .loc = *loc, .components = type.components,
		.drawn = is_possible(f, e, true), .known = known };
	v->shape = shape_of_values(f, v);
	f->n++;
	return 0;
}

/* --- data.compare --- */

static int check_compared(const struct finding *f, const struct ypair *pair)
{
	const struct physics *p = f->p;
	struct suggest near = { .word = pair->key };
	for (int i = 0; i < p->nname; i++) {
		if (p->name[i].what != EXPR_NETWORK && p->name[i].what != EXPR_LET)
			continue;
		if (strcmp(p->name[i].name, pair->key) == 0)
			return 0;
		suggest_offer(&near, p->name[i].name);
	}
	return ERR(E_CONFIG, &pair->key_loc, "'%s' is neither a network nor a name of 'let'%s",
	           pair->key, near.best ? arena_printf(f->a, "; did you mean '%s'?", near.best) : "");
}

/* A record that is only predicted from need not have what is known of the others. */
static int add_compared(struct finding *f, const struct ypair *pair)
{
	const struct expr *known, *e;
	const bool strict = f->record->path && !f->record->given;
	TRY(check_compared(f, pair));
	TRY(expr_parse(f->a, pair->value, &known));
	TRY(parse(f->a, pair->key, &pair->key_loc, &e));
	if (!strict && !is_possible(f, e, false))
		return 0;
	return add(f, pair->key, &pair->key_loc, strict || is_possible(f, known, false) ? known : NULL);
}

static int add_all_compared(struct finding *f, const struct ynode *compare)
{
	if (!compare)
		return 0;
	if (!physics_has_samples(f->p))
		return ERR(E_CONFIG, &compare->loc, "'compare' is for networks of samples; at coordinates "
		           "networks are compared with the arrays of their names");
	int rc = 0;
	for (int i = 0; i < compare->n; i++) {
		const int one = add_compared(f, &compare->pair[i]);
		rc = rc < 0 ? rc : one;
	}
	return rc;
}

/* --- networks --- */

static const char *known_array(const struct finding *f, const struct network *n)
{
	const struct point_set *r = f->p->record;
	for (int k = 0; r && k < r->nvalues; k++)
		if (strcmp(r->values[k].name, n->name) == 0 && r->values[k].each == n->c.outputs)
			return arena_printf(f->a, PHYSICS_RECORD ".%s", n->name);
	return NULL;
}

static bool has(const struct finding *f, const char *name)
{
	for (int i = 0; i < f->n; i++)
		if (strcmp(f->v[i].name, name) == 0)
			return true;
	return false;
}

static int add_network(struct finding *f, const struct network *n)
{
	const char *array = known_array(f, n);
	const struct expr *e, *known = NULL;
	TRY(parse(f->a, n->name, &n->loc, &e));
	if (has(f, n->name) || !is_possible(f, e, false))
		return 0;
	if (array)
		TRY(parse(f->a, array, &n->loc, &known));
	return add(f, n->name, &n->loc, known);
}

/* In which no network finds its inputs. */
static int refuse_record(const struct finding *f)
{
	const struct point_set *r = f->p->record;
	const char *arrays = "", *inputs = "";
	for (int k = 0; k < r->nvalues; k++)
		arrays = arena_printf(f->a, "%s%s%s", arrays, k ? ", " : "", r->values[k].name);
	for (int i = 0; i < f->p->net.n; i++) {
		const struct network *n = &f->p->net.v[i];
		for (int k = 0; k < n->c.inputs.n; k++)
			inputs = arena_printf(f->a, "%s%s%s", inputs, k ? ", " : i ? "; " : "",
			                      n->c.inputs.v[k]);
		inputs = arena_printf(f->a, "%s of '%s'", inputs, n->name);
	}
	return ERR(E_DATA, &r->loc, "no network can be evaluated for the samples of '%s', whose arrays "
	           "are %s; inputs are %s", r->record, arrays, inputs);
}

int physics_find_evaluated(struct run_config *c, const struct physics_record *record)
{
	struct physics *p = c->physics;
	const struct ynode *compare = c->data.compare;
	struct finding f = { .a = c->arena, .p = p, .record = record,
		.v = ARENA_ARRAY(c->arena, struct evaluated, p->net.n + (compare ? compare->n : 0) + 1) };
	TRY(add_all_compared(&f, compare));
	for (int i = 0; i < p->net.n; i++)
		TRY(add_network(&f, &p->net.v[i]));
	p->evaluated = f.v;
	p->nevaluated = f.n;
	return p->record && f.n == 0 ? refuse_record(&f) : 0;
}
