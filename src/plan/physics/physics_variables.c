/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan/physics/physics_variables.h"

#include "base/err.h"
#include "plan/config.h"
#include "plan/physics/physics.h"
#include "yaml/schema_value.h"

struct variable_config {
	double start;
	bool positive;
	struct floats bounds;
};
const struct field variable_fields[] = {
	FIELD(struct variable_config, start, FT_FLOAT, .dflt = "", .min = -3e38, .max = 3e38,
	      .flags = FIELD_SHORTHAND, .doc = "first value"),
	FIELD_BOOL(struct variable_config, positive, "false", "it stays above 0"),
	FIELD_FLOATS(struct variable_config, bounds, NULL, -3e38, 3e38,
	             "[LOW, HIGH]: it stays between them"),
	FIELD_END
};

/* `start` lies strictly within what `positive` or `bounds` allow. */
static int check_variable(const struct ypair *pair, const struct variable_config *v)
{
	const double *b = v->bounds.v;
	const struct ynode *at = v->bounds.n ? ytree_find(pair->value, "bounds") : NULL;
	if (v->positive && v->start <= 0)
		return ERR(E_CONFIG, &pair->value->loc, "'%s' is positive, and its 'start' is %g",
		           pair->key, v->start);
	if (v->bounds.n == 0)
		return 0;
	if (v->bounds.n != 2 || !(b[0] < b[1]))
		return ERR(E_CONFIG, &at->loc, "'bounds' of '%s' must be [LOW, HIGH]", pair->key);
	if (v->positive)
		return ERR(E_CONFIG, &at->loc, "'%s' has 'bounds': leave out 'positive'",
		           pair->key);
	if (v->start > b[0] && v->start < b[1])
		return 0;
	return ERR(E_CONFIG, &pair->value->loc, "'start' of '%s' is %g, which is not between its "
	           "bounds %g and %g", pair->key, v->start, b[0], b[1]);
}

int physics_read_variables(struct run_config *c)
{
	const struct ynode *n = c->variables;
	struct physics *p = c->physics;
	int rc = 0;
	if (!n || y_is_null(n))
		return 0;
	if (n->kind != Y_MAP || n->n == 0)
		return ERR(E_CONFIG, &n->loc, "'variables' must be a map of names");
	p->variable = ARENA_ARRAY(c->arena, struct variable, n->n);
	for (int i = 0; i < n->n; i++) {
		struct variable_config v = { 0 };
		const struct ypair *pair = &n->pair[i];
		const char *what = arena_printf(c->arena, "variable '%s'", pair->key);
		int one = pair->value->kind == Y_SCALAR ? 0 :
		          schema_read(c->arena, pair->value, variable_fields, what, &pair->key_loc, &v);
		if (pair->value->kind == Y_SCALAR)
			one = value_read(c->arena, &variable_fields[0], pair->value, &v.start);
		if (one == 0)
			one = check_variable(pair, &v);
		rc = first_code(rc, one);
		p->variable[p->nvariable++] = (struct variable){ .name = pair->key, .loc = pair->key_loc,
			.start = v.start, .positive = v.positive, .bounded = v.bounds.n > 0,
			.low = v.bounds.n ? v.bounds.v[0] : 0, .high = v.bounds.n ? v.bounds.v[1] : 0 };
	}
	return rc;
}
