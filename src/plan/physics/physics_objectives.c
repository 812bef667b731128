/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/physics/physics_objectives.h"

#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "optim/optim.h"
#include "optim/schedule.h"
#include "plan/config.h"
#include "plan/physics/physics.h"
#include "yaml/schema_value.h"

struct objective_config {
	struct strings train;
	int64_t times;
	const struct ynode *minimise;
	const struct ynode *optimizer;
	struct variant_value schedule;
	struct balance_config balance;
};

static const struct field balance_fields[] = {
	FIELD_INT(struct balance_config, every, "100", 1, 1e12, "steps from one update to the next"),
	FIELD_FLOAT(struct balance_config, keep, "0.9", 0, 1,
	            "part of a weight that an update keeps: a moving average"),
	FIELD_END
};

static const struct field lbfgs_fields[] = {
	FIELD_INT(struct lbfgs_config, history, "50", 1, 1000, "steps that the direction comes from"),
	FIELD_FLOAT(struct lbfgs_config, gradient, "1e-12", 0, 1e30,
	            "largest element of the gradient at which it has converged"),
	FIELD_FLOAT(struct lbfgs_config, change, "0", 0, 1,
	            "part of the loss that a step changes at least, or it has converged"),
	FIELD_END
};

struct term_config {
	const struct ynode *of, *weight;
};
static const struct field term_fields[] = {
	FIELD(struct term_config, of, FT_NODE, .dflt = "", .flags = FIELD_SHORTHAND,
	      .doc = "the expression"),
	FIELD_NODE(struct term_config, weight, NULL,
	           "factor on the term (1); balanced: it follows from the terms' gradients"),
	FIELD_END
};
/* Of a phase, what no optimizer of the config has. */
static const struct variant phase_variants[] = {
	{ "lbfgs", "L-BFGS with a strong Wolfe search, on a CPU", lbfgs_fields,
	  sizeof(struct lbfgs_config), "type" },
	{ 0 }
};

static const struct field weight_field = { .name = "weight", .type = FT_FLOAT, .min = 0,
	.max = 1e30, .doc = "factor on the term" };

const struct field objective_fields[] = {
	FIELD_STRINGS(struct objective_config, train, NULL,
	              "networks and variables that it trains; default: all"),
	FIELD_INT(struct objective_config, times, "1", 1, 1 << 20,
	          "number of steps of this objective in each round"),
	FIELD_NAMED(struct objective_config, minimise, "", term_fields,
	            "the terms whose sum is the loss"),
	FIELD(struct objective_config, optimizer, FT_NODE, .variants = phase_variants,
	      .doc = "as the config's, which is the default; or a list of phases, one after the other "
	             "for 'steps' each, of which the last may be this one"),
	FIELD(struct objective_config, schedule, FT_VARIANT, .variants = schedule_variants,
	      .flags = FIELD_NULLABLE, .doc = "default: the config's"),
	FIELD_SECTION(struct objective_config, balance, balance_fields,
	              "how weights of 'balanced' terms follow from their gradients"),
	FIELD_END
};

/* --- reading --- */

static int need_map(const struct ynode *n, const char *what)
{
	if (n->kind == Y_MAP && n->n > 0)
		return 0;
	return ERR(E_CONFIG, &n->loc, "'%s' must be a map of names", what);
}

static int read_term(struct run_config *c, const struct ypair *pair, struct term *t)
{
	struct term_config read = { .of = pair->value };
	*t = (struct term){ .name = pair->key, .loc = pair->key_loc, .weight = 1 };
	if (pair->value->kind == Y_MAP) {
		/* First: an expression that a comma cuts off is followed by what looks like a key. */
		const struct ynode *of = ytree_find(pair->value, "of");
		TRY(of && of->kind == Y_SCALAR ? expr_parse(c->arena, of, &t->e) : 0);
		TRY(schema_read(c->arena, pair->value, term_fields,
		                arena_printf(c->arena, "term '%s'", pair->key), &pair->key_loc, &read));
	}
	const struct ynode *w = read.weight;
	t->balanced = w && w->kind == Y_SCALAR && strcmp(w->text, "balanced") == 0;
	if (w && !t->balanced && !y_is_null(w))
		TRY(value_read(c->arena, &weight_field, w, &t->weight));
	return expr_parse(c->arena, read.of, &t->e);
}

static int read_terms(struct run_config *c, const struct ynode *n, struct objective *o)
{
	struct term *t = ARENA_ARRAY(c->arena, struct term, n->n + 1);
	int rc = 0;
	TRY(need_map(n, "minimise"));
	if (n->n > TERMS_MOST)
		return ERR(E_CONFIG, &n->loc, "'minimise' has %d terms; expected at most %d", n->n,
		           TERMS_MOST);
	for (int i = 0; i < n->n; i++)
		rc = first_code(rc, read_term(c, &n->pair[i], &t[i]));
	o->term = t;
	o->nterm = n->n;
	return rc;
}

static int check_balance(const struct ypair *pair, const struct objective_config *read,
                         struct objective *o)
{
	const struct ynode *given = ytree_find(pair->value, "balance");
	int n = 0, at = 0;
	for (int i = 0; i < o->nterm; i++)
		if (o->term[i].balanced) {
			n++;
			at = i;
		}
	if (n == 0 && given)
		return ERR(E_CONFIG, &given->loc, "no term of '%s' has 'weight: balanced'", o->name);
	if (n == 1)
		return ERR(E_CONFIG, &o->term[at].loc, "'%s' alone is balanced: give another term "
		           "'weight: balanced', too", o->term[at].name);
	o->balance = n ? &read->balance : NULL;
	return 0;
}

static bool is_trained_name(const struct physics *p, const char *name)
{
	for (int i = 0; i < p->net.n; i++)
		if (strcmp(p->net.v[i].name, name) == 0)
			return true;
	for (int i = 0; i < p->nvariable; i++)
		if (strcmp(p->variable[i].name, name) == 0)
			return true;
	return false;
}

static int no_trained_name(const struct physics *p, const char *name, const struct loc *loc)
{
	struct suggest near = { .word = name };
	for (int i = 0; i < p->net.n; i++)
		suggest_offer(&near, p->net.v[i].name);
	for (int i = 0; i < p->nvariable; i++)
		suggest_offer(&near, p->variable[i].name);
	if (strchr(name, ','))
		return ERR(E_CONFIG, loc, "'train' names '%s'; several names are a list, 'train: [%s]'",
		           name, name);
	return ERR(E_CONFIG, loc, "'train' names '%s', which is neither a network nor a variable%s%s%s",
	           name, near.best ? "; did you mean '" : "", near.best ? near.best : "",
	           near.best ? "'?" : "");
}

/* The names of parameters begin with a network's, or with "variables" and a variable's. */
static int read_trained(struct run_config *c, const struct objective_config *from,
                        struct objective *o)
{
	struct strings *s = ARENA_NEW(c->arena, struct strings);
	const char **v = ARENA_ARRAY(c->arena, const char *, from->train.n + 1);
	int rc = 0;
	for (int i = 0; i < from->train.n; i++) {
		const char *name = from->train.v[i];
		if (!is_trained_name(c->physics, name))
			rc = no_trained_name(c->physics, name, &from->train.loc[i]);
		const struct network *n = physics_network(c->physics, name);
		v[i] = n ? n->owner->name : name;
		for (int k = 0; k < c->physics->nvariable; k++)
			if (strcmp(c->physics->variable[k].name, name) == 0)
				v[i] = arena_printf(c->arena, "variables.%s", name);
	}
	*s = (struct strings){ .n = from->train.n, .v = v };
	o->networks = s->n ? s : NULL;
	return rc;
}

/* The map without these keys, which are read apart. */
static struct ynode *without(struct arena *a, const struct ynode *n, const char *one,
                             const char *other)
{
	struct ynode *copy = ARENA_NEW(a, struct ynode);
	*copy = *n;
	copy->pair = ARENA_ARRAY(a, struct ypair, n->n + 1);
	copy->n = 0;
	for (int i = 0; i < n->n; i++)
		if (strcmp(n->pair[i].key, one) != 0 && (!other || strcmp(n->pair[i].key, other) != 0))
			copy->pair[copy->n++] = n->pair[i];
	return copy;
}

static int read_steps(const struct ynode *n, int64_t *out)
{
	const struct ynode *steps = n->kind == Y_MAP ? ytree_find(n, "steps") : NULL;
	*out = 0;
	if (!steps)
		return 0;
	if (y_int(steps, out) && *out > 0)
		return 0;
	return ERR(E_CONFIG, &steps->loc, "'steps' of a phase must be a number of steps");
}

static bool is_lbfgs(const struct ynode *n)
{
	const struct ynode *type = n->kind == Y_MAP ? ytree_find(n, "type") : n;
	return type && type->kind == Y_SCALAR && strcmp(type->text, "lbfgs") == 0;
}

/* One phase; last: nothing comes after it. */
static int read_phase(struct run_config *c, const struct ynode *n, bool last, struct objective *o)
{
	TRY(read_steps(n, &o->steps));
	if (!last && o->steps == 0)
		return ERR(E_CONFIG, &n->loc, "a phase of 'optimizer' that others follow needs 'steps'");
	const struct ynode *rest = n->kind == Y_MAP ? without(c->arena, n, "steps", NULL) : n;
	if (is_lbfgs(n)) {
		struct lbfgs_config *l = ARENA_NEW(c->arena, struct lbfgs_config);
		o->lbfgs = l;
		o->optimizer = &c->optimizer;
		if (!last)
			return ERR(E_CONFIG, &n->loc, "'lbfgs' is the last phase, which ends where it has "
			           "converged");
		return schema_read(c->arena, rest->kind == Y_MAP ? without(c->arena, rest, "type", NULL) :
		                   NULL, lbfgs_fields, "'lbfgs'", &n->loc, l);
	}
	struct variant_value *v = ARENA_NEW(c->arena, struct variant_value);
	o->optimizer = v;
	TRY(schema_read_variant(c->arena, rest, optimizer_variants, "'optimizer'", v));
	return optim_check(v);
}

/* Averages that a phase does not go on with would not follow what it trains. */
static int check_averages(const struct ynode *list, const struct objective *o, int phases)
{
	int n = 0;
	for (int i = 0; i < phases; i++)
		n += !o[i].lbfgs && optim_averages(o[i].optimizer);
	if (n == 0 || n == phases)
		return 0;
	return ERR(E_CONFIG, &list->loc, "one phase of 'optimizer' averages weights and another does "
	           "not; all have to, and 'lbfgs' cannot");
}

/* The phases of an objective, of which the first is filled in but for its optimizer. */
static int read_phases(struct run_config *c, const struct ynode *n, struct objective *o, int *count)
{
	const int phases = n && n->kind == Y_SEQ ? n->n : 1;
	int rc = 0;
	*count = phases;
	if (!n || y_is_null(n))
		return 0;
	if (phases == 0)
		return ERR(E_CONFIG, &n->loc, "'optimizer' is an empty list");
	for (int i = 0; i < phases; i++) {
		o[i] = o[0];
		o[i].continues = i > 0;
		o[i].lbfgs = NULL;
		rc = first_code(rc, read_phase(c, n->kind == Y_SEQ ? n->item[i] : n, i + 1 == phases,
		                               &o[i]));
	}
	return rc < 0 ? rc : check_averages(n, o, phases);
}

static int read_objective(struct run_config *c, const struct ypair *pair, struct objective *o,
                          int *count)
{
	struct objective_config *read = ARENA_NEW(c->arena, struct objective_config);
	*count = 0;
	*o = (struct objective){ .name = pair->key, .loss = &c->loss, .metrics = &c->metrics };
	TRY(schema_read(c->arena, pair->value, objective_fields,
	                arena_printf(c->arena, "objective '%s'", pair->key), &pair->key_loc, read));
	o->times = read->times;
	o->optimizer = &c->optimizer;
	o->schedule = read->schedule.v ? &read->schedule : &c->schedule;
	int rc = schedule_check(o->schedule);
	rc = first_code(rc, read_trained(c, read, o));
	rc = first_code(rc, read_terms(c, read->minimise, o));
	rc = first_code(rc, check_balance(pair, read, o));
	return first_code(rc, read_phases(c, read->optimizer, o, count));
}

int physics_read_objectives(struct run_config *c)
{
	const struct ynode *n = c->objective;
	struct objective *o = ARENA_ARRAY(c->arena, struct objective, 2 * OBJECTIVES_MOST);
	int rc = 0, made = 0, all = 0, count;
	TRY(need_map(n, "objective"));
	if (ytree_pair(n, "minimise"))
		return ERR(E_CONFIG, &ytree_pair(n, "minimise")->key_loc, "an objective has a name: "
		           "'objective: {NAME: {minimise: ...}}'");
	for (int i = 0; i < n->n; i++) {
		const struct ynode *list = n->pair[i].value->kind == Y_MAP ?
		                           ytree_find(n->pair[i].value, "optimizer") : NULL;
		all += list && list->kind == Y_SEQ ? list->n : 1;
	}
	if (all > OBJECTIVES_MOST)
		return ERR(E_CONFIG, &n->loc, "%d objectives and phases; expected at most %d", all,
		           OBJECTIVES_MOST);
	for (int i = 0; i < n->n; i++) {
		rc = first_code(rc, read_objective(c, &n->pair[i], &o[made], &count));
		made += count;
	}
	c->objectives = (struct objectives){ o, made };
	return rc;
}
