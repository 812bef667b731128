/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The keys of equations: what can be known from the config alone is checked when it is read, what
 * expressions mean once the records of points are open. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "data/loader.h"
#include "optim/optim.h"
#include "optim/schedule.h"
#include "plan/config.h"
#include "plan/physics.h"
#include "plan/physics_variables.h"
#include "plan/program.h"
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

static const struct field objective_fields[] = {
	FIELD_STRINGS(struct objective_config, train, NULL,
	              "networks and variables that it trains; default: all"),
	FIELD_INT(struct objective_config, times, "1", 1, 1 << 20, "steps of it in a round"),
	FIELD_NODE(struct objective_config, minimise, "",
	           "a map of names to terms, expressions or {of: EXPRESSION, weight: NUMBER | "
	           "balanced}"),
	FIELD_NODE(struct objective_config, optimizer, NULL,
	           "as the config's, which is the default; or a list of these, one after the other for "
	           "`steps` each, of which the last may be {type: lbfgs}"),
	FIELD(struct objective_config, schedule, FT_VARIANT, .variants = schedule_variants,
	      .flags = FIELD_NULLABLE, .doc = "default: the config's"),
	FIELD_SECTION(struct objective_config, balance, balance_fields,
	              "how weights of 'balanced' terms follow from their gradients"),
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
static const struct field weight_field = { .name = "weight", .type = FT_FLOAT, .min = 0,
	.max = 1e30, .doc = "factor on the term" };

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
		/* First of all: what a comma cuts off an expression looks like a key. */
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
			rc = ERR(E_CONFIG, &from->train.loc[i], "'train' names '%s', which is neither a "
			         "network nor a variable", name);
		v[i] = name;
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
	return rc;
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

static int read_objectives(struct run_config *c)
{
	const struct ynode *n = c->objective;
	struct objective *o = ARENA_ARRAY(c->arena, struct objective, 2 * OBJECTIVES_MOST);
	int rc = 0, made = 0, all = 0, count;
	TRY(need_map(n, "objective"));
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
	if (made > 1 && c->parallel.gradient_lag)
		rc = ERR(E_CONFIG, config_place(c, "parallel", "gradient_lag"),
		         "'gradient_lag' is not possible with several objectives");
	return rc;
}

const struct field *physics_fields(struct arena *a, const struct ynode *tree)
{
	int n = 0, m = 0;
	if (!tree || !ytree_pair(tree, "objective"))
		return config_fields;
	while (config_fields[n].type != FT_END)
		n++;
	while (data_fields[m].type != FT_END)
		m++;
	struct field *root = arena_copy(a, config_fields, sizeof *root * (size_t)(n + 1)),
	             *data = arena_copy(a, data_fields, sizeof *data * (size_t)(m + 1));
	for (int i = 0; i < m; i++)
		if (strcmp(data[i].name, "train") == 0)
			data[i].dflt = NULL;
	for (int i = 0; i < n; i++) {
		if (strcmp(root[i].name, "loss") == 0)
			root[i].dflt = "mse";        /* of nothing: no plan has it */
		if (strcmp(root[i].name, "data") == 0)
			root[i].sub = data;
	}
	return root;
}

/* Keys that mean nothing where nothing is trained on data. */
static const char *const keys[][2] = { { "loss", NULL }, { "data", "train" },
	{ "data", "transforms" }, { "data", "target_transforms" }, { "data", "validation_transforms" },
	{ "data", "mixup" }, { "data", "stage" }, { "data", "statistics" }, { "data", "shuffle" },
	{ "data", "keep_short_batch" }, { "data", "threads" }, { "data", "prefetch" },
	{ "train", "batch_size" }, { "train", "global_batch_size" }, { "train", "accumulate" },
	{ "train", "epochs" }, { "parallel", "reproducible" }, { "parallel", "sync_batch_norm" },
	{ "parallel", "average_statistics" } };
#define NKEYS (sizeof keys / sizeof *keys)

static void leave_out(struct ynode *map, const char *key)
{
	int n = 0;
	for (int i = 0; i < map->n; i++)
		if (strcmp(map->pair[i].key, key) != 0)
			map->pair[n++] = map->pair[i];
	map->n = n;
}

void physics_leave_out(struct ynode *tree)
{
	for (size_t i = 0; i < NKEYS; i++) {
		struct ynode *map = keys[i][1] ? ytree_find(tree, keys[i][0]) : tree;
		if (map && map->kind == Y_MAP)
			leave_out(map, keys[i][1] ? keys[i][1] : keys[i][0]);
	}
}

static int refuse_keys(const struct run_config *c)
{
	int rc = 0;
	for (size_t i = 0; i < NKEYS; i++) {
		const struct ypair *p = ytree_pair(c->tree, keys[i][0]);
		const struct ypair *q = p && keys[i][1] && p->value->kind == Y_MAP ?
		                        ytree_pair(p->value, keys[i][1]) : NULL;
		if (keys[i][1] ? q != NULL : p != NULL)
			rc = ERR(E_CONFIG, q ? &q->key_loc : &p->key_loc, "'%s' has no meaning with "
			         "'objective', which is trained at points, by 'train.steps'",
			         q ? q->key : p->key);
	}
	return rc;
}

int physics_check_metrics(const struct run_config *c)
{
	static const char *const names[] = { "relative_l2", "max_error", "mae", "mse", "rmse", NULL };
	int rc = 0;
	for (int i = 0; i < c->metrics.n; i++) {
		int k = 0;
		while (names[k] && strcmp(names[k], c->metrics.v[i]) != 0)
			k++;
		if (!names[k])
			rc = ERR(E_CONFIG, &c->metrics.loc[i], "'%s' is no metric of networks of equations, "
			         "which are relative_l2, max_error, mae, mse and rmse", c->metrics.v[i]);
	}
	return rc;
}

/* The residuals by which sets are resampled. */
static int read_residuals(struct run_config *c, struct physics *p)
{
	int rc = 0, n = 0;
	p->residual = ARENA_ARRAY(c->arena, const struct expr *, p->points.n + 1);
	for (int i = 0; i < p->points.n; i++) {
		const struct point_set *s = &p->points.set[i];
		if (!s->by)
			continue;
		rc = first_code(rc, expr_parse(c->arena, s->by_node, &p->residual[i]));
		if (++n > SCORED_MOST)
			return ERR(E_CONFIG, &s->by_loc, "more than %d sets are resampled by a residual",
			           SCORED_MOST);
	}
	return rc;
}

/* A search keeps its points, which the other objectives' steps would pick anew. */
static int check_searches(const struct run_config *c)
{
	const struct objectives *o = &c->objectives;
	int named = 0;
	bool searches = false;
	for (int k = 0; k < o->n; k++) {
		named += !o->v[k].continues;
		searches |= o->v[k].lbfgs != NULL;
	}
	if (named < 2 || !searches || !physics_watches(c))
		return 0;
	return ERR(E_CONFIG, config_place(c, "objective", NULL), "sets are not resampled by a residual "
	           "where one of several objectives has a phase of 'lbfgs'");
}

/* Of one objective whose phases all say theirs; else 0. */
static int64_t steps_of_phases(const struct objectives *o)
{
	int64_t sum = 0;
	for (int k = 0; k < o->n; k++) {
		if (o->v[k].steps == 0 || (k > 0 && !o->v[k].continues))
			return 0;
		sum += o->v[k].steps;
	}
	return sum;
}

int physics_read(struct run_config *c)
{
	const struct ynode *train = ytree_find(c->tree, "train");
	struct physics *p = c->physics = ARENA_NEW(c->arena, struct physics);
	TRY(refuse_keys(c));
	if (strcmp(c->model.v->name, "networks") != 0)
		return ERR(E_CONFIG, &c->model.loc, "'objective' trains the networks of 'family: "
		           "networks'; for '%s' give 'loss'", c->model.v->name);
	if (!c->points)
		return ERR(E_CONFIG, config_place(c, "objective", NULL),
		           "missing key 'points': where the objective holds");
	int rc = networks_read(c->arena, c->model.data, &p->net);
	rc = first_code(rc, points_read(c->arena, c->points, &p->points));
	rc = first_code(rc, read_residuals(c, p));
	rc = first_code(rc, physics_read_variables(c));
	TRY(rc < 0 ? rc : read_objectives(c));
	TRY(check_searches(c));
	if (c->train.steps == 0)
		c->train.steps = steps_of_phases(&c->objectives);
	if (c->train.steps == 0)
		return ERR(E_CONFIG, config_place(c, "train", NULL), "nothing says how long to train; give "
		           "'train.steps'");
	c->train.batch_size = 1;
	if (!train || !ytree_find(train, "validate"))
		c->train.validate = (struct validate_section){ .steps = c->train.steps / 10 + 1 };
	return 0;
}

/* --- names --- */

static int add_name(struct physics *p, const struct expr_name *name, const struct loc *loc)
{
	if (expr_is_function(name->name) || strcmp(name->name, "pi") == 0 ||
	    strcmp(name->name, "at") == 0)
		return ERR(E_CONFIG, loc, "'%s' has a meaning of its own in expressions; take another name",
		           name->name);
	for (int i = 0; i < p->nname; i++)
		if (strcmp(p->name[i].name, name->name) == 0 && name->what != EXPR_ARRAY &&
		    p->name[i].what != EXPR_ARRAY)
			return ERR(E_CONFIG, loc, "'%s' is the name of something else, too", name->name);
	p->name[p->nname++] = *name;
	return 0;
}

/* 0: as many as it is given. */
static int components_of(const struct physics *p, const char *name)
{
	for (int i = 0; i < p->coordinates.n; i++)
		if (strcmp(p->coordinates.v[i], name) == 0)
			return 1;
	for (int i = 0; i < p->net.n; i++)
		if (strcmp(p->net.v[i].name, name) == 0)
			return (int)p->net.v[i].c.outputs;
	for (int i = 0; i < p->net.nnoise; i++)
		if (strcmp(p->net.noise[i].name, name) == 0)
			return (int)p->net.noise[i].components;
	return 0;
}

static int add_network(struct arena *a, struct physics *p, const struct network *n)
{
	struct expr_input *in = ARENA_ARRAY(a, struct expr_input, n->c.inputs.n);
	for (int i = 0; i < n->c.inputs.n; i++)
		in[i] = (struct expr_input){ n->c.inputs.v[i], components_of(p, n->c.inputs.v[i]) };
	return add_name(p, &(struct expr_name){ .name = n->name, .what = EXPR_NETWORK,
	                .components = (int)n->c.outputs, .input = in, .ninput = n->c.inputs.n,
	                .kinked = network_kinked(n) }, &n->loc);
}

/* Each array once, whichever records have it. */
static int add_arrays(struct physics *p, const struct point_set *s)
{
	for (int k = 0; k < s->nvalues; k++) {
		bool known = false;
		for (int i = 0; i < p->nname; i++)
			known |= p->name[i].what == EXPR_ARRAY &&
			         strcmp(p->name[i].name, s->values[k].name) == 0;
		if (!known)
			TRY(add_name(p, &(struct expr_name){ .name = s->values[k].name, .what = EXPR_ARRAY,
			             .components = 1 }, &s->loc));
	}
	return 0;
}

static int collect_names(struct run_config *c)
{
	struct physics *p = c->physics;
	int most = p->net.n + p->net.nlet + p->net.nnoise + p->nvariable, rc = 0;
	p->coordinates = points_axes(c->arena, &p->points);
	for (int i = 0; i < p->points.n; i++)
		most += p->points.set[i].nvalues;
	p->name = ARENA_ARRAY(c->arena, struct expr_name, most + p->coordinates.n);
	for (int i = 0; i < p->coordinates.n; i++)
		rc = first_code(rc, add_name(p, &(struct expr_name){ .name = p->coordinates.v[i],
		                             .what = EXPR_COORDINATE, .components = 1 },
		                             &c->points->loc));
	for (int i = 0; i < p->net.n; i++)
		rc = first_code(rc, add_network(c->arena, p, &p->net.v[i]));
	for (int i = 0; i < p->nvariable; i++)
		rc = first_code(rc, add_name(p, &(struct expr_name){ .name = p->variable[i].name,
		                             .what = EXPR_VARIABLE, .components = 1 },
		                             &p->variable[i].loc));
	for (int i = 0; i < p->net.nnoise; i++)
		rc = first_code(rc, add_name(p, &(struct expr_name){ .name = p->net.noise[i].name,
		                             .what = EXPR_NOISE,
		                             .components = (int)p->net.noise[i].components },
		                             &p->net.noise[i].loc));
	for (int i = 0; i < p->net.nlet; i++)
		rc = first_code(rc, add_name(p, &(struct expr_name){ .name = p->net.let[i].name,
		                             .what = EXPR_LET, .let = p->net.let[i].e },
		                             expr_loc(p->net.let[i].e)));
	for (int i = 0; i < p->points.n; i++)
		rc = first_code(rc, add_arrays(p, &p->points.set[i]));
	return rc;
}

/* --- checking --- */

static int check_networks(const struct run_config *c, struct expr_scope *s)
{
	const struct physics *p = c->physics;
	int rc = 0;
	for (int i = 0; i < p->net.n; i++) {
		const struct network *n = &p->net.v[i];
		int *components = ARENA_ARRAY(c->arena, int, n->c.inputs.n);
		for (int k = 0; k < n->c.inputs.n; k++)
			components[k] = components_of(p, n->c.inputs.v[k]);
		rc = first_code(rc, network_check(s, n, components));
	}
	return rc;
}

/* Where no region says which coordinates there are: the inputs of networks that are neither
 * networks nor noise. */
static struct strings given_inputs(struct arena *a, const struct physics *p)
{
	int most = 0, n = 0;
	for (int i = 0; i < p->net.n; i++)
		most += p->net.v[i].c.inputs.n;
	const char **v = ARENA_ARRAY(a, const char *, most + 1);
	for (int i = 0; i < p->net.n && points_axes(a, &p->points).n == 0; i++)
		for (int k = 0; k < p->net.v[i].c.inputs.n; k++)
			if (components_of(p, p->net.v[i].c.inputs.v[k]) == 0)
				v[n++] = p->net.v[i].c.inputs.v[k];
	return (struct strings){ .n = n, .v = v };
}

static int check_residuals(const struct run_config *c, struct expr_scope *s)
{
	const struct physics *p = c->physics;
	int rc = 0;
	for (int i = 0; i < p->points.n; i++) {
		const struct expr *e = p->residual[i];
		struct expr_type type;
		int one = e ? expr_check(s, e, i, &type) : 0;
		if (e && one == 0 && (type.extent != EXPR_OF_POINTS || type.set != i))
			one = ERR(E_CONFIG, expr_loc(e),
			          "'%s' has no value at each point of '%s' to pick points by",
			          p->points.set[i].by, p->points.set[i].name);
		rc = first_code(rc, one);
	}
	return rc;
}

int physics_open(struct run_config *c)
{
	struct physics *p = c->physics;
	int rc = 0;
	if (p->opened)
		return 0;
	p->opened = true;
	const struct strings inputs = given_inputs(c->arena, p);
	TRY(points_open(c->arena, &p->points, &inputs));
	TRY(collect_names(c));
	struct expr_scope s = physics_scope(c->arena, p, 1);
	rc = check_networks(c, &s);
	for (int k = 0; k < c->objectives.n; k++)
		for (int i = 0; i < c->objectives.v[k].nterm; i++)
			rc = first_code(rc, expr_check_term(&s, c->objectives.v[k].term[i].e));
	return first_code(rc, check_residuals(c, &s));
}
