/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the keys of equations. Checks that need only the config are made when it is read;
 * expressions are checked after the records of points were opened. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "data/loader.h"
#include "optim/optim.h"
#include "plan/config.h"
#include "plan/physics/physics.h"
#include "plan/physics/physics_objectives.h"
#include "plan/physics/physics_variables.h"
#include "plan/program.h"
#include "yaml/schema_value.h"

static bool has_networks(const struct ynode *tree)
{
	const struct ynode *model = ytree_find(tree, "model"),
	                   *family = model && model->kind == Y_MAP ? ytree_find(model, "family") : NULL;
	return family && family->kind == Y_SCALAR && strcmp(family->text, "networks") == 0;
}

const struct field *physics_fields(struct arena *a, const struct ynode *tree)
{
	int n = 0, m = 0;
	if (!tree || tree->kind != Y_MAP || !(ytree_pair(tree, "objective") || has_networks(tree)))
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
	{ "parallel", "average_statistics" }, { "parallel", "spatial" } };
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

static bool is_listed(const char *name, const char *const *list)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

/* Whether a set has `samples`, as far as the text says. */
static bool names_samples(const struct ynode *points)
{
	for (int i = 0; points && points->kind == Y_MAP && i < points->n; i++) {
		const struct ynode *set = points->pair[i].value;
		if (set->kind == Y_MAP && ytree_pair(set, "samples"))
			return true;
	}
	return false;
}

int physics_check_metrics(const struct run_config *c)
{
	static const char *const of_values[] = { "relative_l2", "max_error", "mae", "mse", "rmse",
		NULL }, *const of_laws[] = { "mean_l2", "std_l2", "ks", NULL };
	const bool random = c->model.v && strcmp(c->model.v->name, "networks") == 0 && c->model.data &&
	                    ((const struct networks *)c->model.data)->noise;
	const bool both = random && names_samples(c->points);
	int rc = 0;
	for (int i = 0; i < c->metrics.n; i++)
		if (!is_listed(c->metrics.v[i], random ? of_laws : of_values) &&
		    !(both && is_listed(c->metrics.v[i], of_values)))
			rc = ERR(E_CONFIG, &c->metrics.loc[i], "'%s' is no metric of networks of %s, which are "
			         "%s%s", c->metrics.v[i], random ? "noise" : "equations", both ?
			         "mean_l2, std_l2, ks, " : random ? "mean_l2, std_l2 and ks" : "", both ||
			         !random ? "relative_l2, max_error, mae, mse and rmse" : "");
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

/* A network that no objective trains, as a teacher, is evaluated as it is after training. */
static void find_frozen(struct run_config *c)
{
	const struct networks_read *net = &c->physics->net;
	for (int i = 0; i < net->n; i++) {
		net->v[i].frozen = true;
		for (int k = 0; k < c->objectives.n; k++)
			if (objective_trains(&c->objectives.v[k], net->v[i].owner->name))
				net->v[i].frozen = false;
	}
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
	const struct ynode *train = ytree_find(c->tree, "train"),
	                   *validate = train ? ytree_find(train, "validate") : NULL;
	struct physics *p = c->physics = ARENA_NEW(c->arena, struct physics);
	if (!c->objective)
		return ERR(E_CONFIG, &c->model.loc, "missing key 'objective': what the networks of "
		           "'family: networks' minimise, at which points");
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
	TRY(rc < 0 ? rc : physics_read_objectives(c));
	if (c->objectives.n > 1 && c->parallel.gradient_lag)
		return ERR(E_CONFIG, config_place(c, "parallel", "gradient_lag"),
		           "'gradient_lag' is not possible with several objectives");
	find_frozen(c);
	TRY(check_searches(c));
	if (c->train.steps == 0)
		c->train.steps = steps_of_phases(&c->objectives);
	if (c->train.steps == 0)
		return ERR(E_CONFIG, config_place(c, "train", NULL), "nothing says how long to train; give "
		           "'train.steps'");
	c->train.batch_size = 1;
	if (!validate || (!ytree_find(validate, "steps") && !ytree_find(validate, "epochs"))) {
		c->train.validate.epochs = 0;
		c->train.validate.steps = c->train.steps / 10 + 1;
	}
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

static int add_network(struct arena *a, struct physics *p, const struct network *n)
{
	struct expr_input *in = ARENA_ARRAY(a, struct expr_input, n->c.inputs.n);
	for (int i = 0; i < n->c.inputs.n; i++)
		in[i] = (struct expr_input){ n->c.inputs.v[i], physics_components(p, n->c.inputs.v[i]) };
	return add_name(p, &(struct expr_name){ .name = n->name, .what = EXPR_NETWORK,
	                .components = (int)n->c.outputs, .input = in, .ninput = n->c.inputs.n,
	                .kinked = network_kinked(n), .mixes = n->mixes }, &n->loc);
}

/* Each array once, whichever records have it. */
static int add_arrays(struct physics *p, const struct point_set *s)
{
	for (int k = 0; k < s->nvalues; k++) {
		bool known = false;
		for (int i = 0; i < p->nname; i++) {
			const struct expr_name *n = &p->name[i];
			if (n->what != EXPR_ARRAY || strcmp(n->name, s->values[k].name) != 0)
				continue;
			known = true;
			if (n->components != s->values[k].each)
				return ERR(E_CONFIG, &s->loc, "'%s' has %lld value%s in '%s' and %d in another set",
				           n->name, (long long)s->values[k].each, s->values[k].each == 1 ? "" : "s",
				           s->record, n->components);
		}
		if (s->values[k].each > INT32_MAX)
			return ERR(E_CONFIG, &s->loc, "'%s' of '%s' is too large", s->values[k].name,
			           s->record);
		if (!known)
			TRY(add_name(p, &(struct expr_name){ .name = s->values[k].name, .what = EXPR_ARRAY,
			             .components = (int)s->values[k].each }, &s->loc));
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
	most += p->record ? p->record->nvalues : 0;
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
	if (p->record)
		rc = first_code(rc, add_arrays(p, p->record));
	return rc;
}

/* --- checking --- */

static int check_networks(const struct run_config *c, struct expr_scope *s)
{
	const struct physics *p = c->physics;
	int rc = 0;
	for (int i = 0; i < p->net.n; i++) {
		struct network *n = &p->net.v[i];
		int *components = ARENA_ARRAY(c->arena, int, n->c.inputs.n);
		for (int k = 0; k < n->c.inputs.n; k++)
			components[k] = physics_components(p, n->c.inputs.v[k]);
		rc = first_code(rc, network_check(s, n, components));
	}
	for (int i = 0; rc == 0 && i < p->net.n; i++) {
		const struct network *n = &p->net.v[i];
		if (!n->layered && n->width && n->owner->width && n->width != n->owner->width)
			rc = ERR(E_CONFIG, &n->loc, "network '%s' has the parameters of '%s', whose first "
			         "layer reads %d values, but its own inputs have %d", n->name, n->owner->name,
			         n->owner->width, n->width);
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
			if (!physics_network(p, p->net.v[i].c.inputs.v[k]) &&
			    !physics_noise(p, p->net.v[i].c.inputs.v[k]))
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

/* The record as a set that no objective names. */
static int open_record(struct run_config *c, const struct physics_record *record)
{
	struct point_set *s = ARENA_NEW(c->arena, struct point_set);
	if (!record->path || !physics_has_samples(c->physics))
		return 0;
	*s = (struct point_set){ .name = PHYSICS_RECORD, .loc = record->loc, .record = record->path,
		.whole = true };
	c->physics->record = s;
	return points_open_samples(c->arena, s);
}

int physics_open(struct run_config *c, const struct physics_record *record)
{
	struct physics *p = c->physics;
	int rc = 0;
	if (p->opened)
		return 0;
	p->opened = true;
	const struct strings inputs = given_inputs(c->arena, p);
	TRY(points_open(c->arena, &p->points, &inputs));
	TRY(open_record(c, record));
	TRY(collect_names(c));
	TRY(physics_find_shapes(c->arena, p));
	struct expr_scope s = physics_scope(c->arena, p, 1);
	rc = check_networks(c, &s);
	for (int k = 0; k < c->objectives.n; k++)
		for (int i = 0; i < c->objectives.v[k].nterm; i++)
			rc = first_code(rc, expr_check_term(&s, c->objectives.v[k].term[i].e));
	rc = first_code(rc, check_residuals(c, &s));
	return rc < 0 ? rc : physics_find_evaluated(c, record);
}
