/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses over quantities and over flags. If all elements have equal weight, the loss is an op of
 * its own (op/loss/regression.c), else element_loss. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "model/op_attr.h"
#include "op/loss/element.h"
#include "optim/loss_keys.h"

struct mask {
	bool given;
	double value;                    /* NaN: all that are */
};
static const struct field mask_fields[] = {
	FIELD_AT("mask", FT_FLOAT, offsetof(struct mask, value), .dflt = "", .min = -3.4e38,
	         .max = 3.4e38, .doc = "target that does not count"),
	FIELD_END
};

static int read_mask(struct arena *a, struct ynode *n, struct mask *m)
{
	*m = (struct mask){ .value = (double)NAN };
	if (!n || n->kind == Y_NULL || y_is_null(n))
		return 0;
	m->given = true;
	if (n->kind == Y_SCALAR && (strcasecmp(n->text, "nan") == 0 ||
	                            strcasecmp(n->text, ".nan") == 0))
		return 0;
	struct mask read;
	struct ypair pair = { "mask", n->loc, n };
	struct ynode map = { .kind = Y_MAP, .loc = n->loc, .text = "", .n = 1, .pair = &pair };
	TRYC(schema_read(a, &map, mask_fields, "'mask'", &n->loc, &read),
	     "targets that do not count are nan or a number");
	m->value = read.value;
	return 0;
}

bool loss_mask(const struct variant_value *loss, double *value)
{
	struct mask m = { 0 };
	if (loss_target(loss) != TARGET_VALUES)
		return false;
	struct arena *a = arena_new();
	int mark = err_count(), rc = read_mask(a, ((const struct value_loss *)loss->data)->mask, &m);
	err_truncate(mark); /* loss_check reports it */
	arena_free(a);
	*value = m.value;
	return rc == 0 && m.given;
}

static int check_weights(const struct variant_value *loss, const char *key, const struct floats *v)
{
	for (int i = 0; i < v->n; i++)
		if (v->v[i] != 0)
			return 0;
	return v->n == 0 ? 0 : ERR(E_CONFIG, &loss->loc, "'%s' has no number above 0, so nothing would "
	                           "count", key);
}

int value_loss_check(const struct variant_value *loss)
{
	const struct value_loss *c = loss->data;
	struct mask m;
	struct arena *a = arena_new();
	int rc = read_mask(a, c->mask, &m);
	arena_free(a);
	if (rc == 0)
		rc = check_weights(loss, "output_weights", &c->output_weights);
	return rc;
}

/* *weights: F32 (channels), or NONE if there are none. one: a single number is of all channels. */
static int emit_weights(struct graph *g, const struct variant_value *loss, const char *key,
                        const struct floats *list, bool one, tid output, tid *weights)
{
	const struct shape *y = &graph_t(g, output)->shape;
	int64_t n = y->nd > 1 ? y->d[1] : 1;
	struct shape s = shape_of(1, &n);
	double *v = ARENA_ARRAY(g->arena, double, n);
	*weights = NONE;
	if (list->n == 0 || (one && list->n == 1 && list->v[0] == 1))
		return 0;
	if (list->n != n && !(one && list->n == 1))
		return ERR(E_CONFIG, &loss->loc, "'%s' has %d %s, but the output has %lld channels", key,
		           list->n, list->n == 1 ? "number" : "numbers", (long long)n);
	for (int64_t i = 0; i < n; i++)
		v[i] = list->v[list->n == 1 ? 0 : i];
	*weights = graph_floats(g, &s, v);
	return 0;
}

/* A mean over elements that have different weights, or of which some do not count. */
static int emit_elements(struct graph *g, struct op_attr *t, enum element_kind kind,
                         tid output, tid target, tid weights, struct loss_out *out)
{
	tid in[3] = { output, target, weights }, made[2];
	op_attr_int(t, "kind", kind);
	TRY(graph_emit(g, "element_loss", t->data, weights == NONE ? 2 : 3, in, 2, made));
	*out = (struct loss_out){ made[0], made[1] };
	return 0;
}

int flag_loss_emit(struct graph *g, const struct variant_value *loss, tid output, tid target,
                   int64_t ignore, struct loss_out *out)
{
	const struct flag_loss *c = loss->data;
	struct op_attr t = op_attr_new(g->arena, "element_loss");
	tid weights;
	TRY(emit_weights(g, loss, "positive_weight", &c->positive_weight, true, output, &weights));
	op_attr_int(&t, "skip_nan", true);
	if (ignore != INT64_MIN)
		op_attr_float(&t, "skip", (double)ignore);
	return emit_elements(g, &t, ELEMENT_LOGISTIC, output, target, weights, out);
}

static const struct error_op {
	const char *loss, *op;
	enum element_kind kind;
} error_ops[] = {
	{ "mse", "mse_loss", ELEMENT_SQUARE },
	{ "l1", "l1_loss", ELEMENT_ABSOLUTE },
	{ "huber", "huber_loss", ELEMENT_HUBER },
};

int value_loss_emit(struct graph *g, const struct variant_value *loss, tid output, tid target,
                    struct loss_out *out)
{
	const struct value_loss *c = loss->data;
	const struct error_op *e = error_ops;
	tid in[2] = { output, target }, made[2], weights;
	double skip;
	bool masked = loss_mask(loss, &skip);
	while (strcmp(loss->v->name, e->loss) != 0)
		e++;
	TRY(emit_weights(g, loss, "output_weights", &c->output_weights, false, output, &weights));
	bool plain = !masked && weights == NONE;
	struct op_attr t = op_attr_new(g->arena, plain ? e->op : "element_loss");
	if (e->kind == ELEMENT_HUBER)
		op_attr_float(&t, "delta", c->delta);
	if (plain) {
		TRY(graph_emit(g, e->op, t.data, 2, in, 2, made));
		*out = (struct loss_out){ made[0], made[1] };
		return 0;
	}
	op_attr_int(&t, "skip_nan", masked && isnan(skip));
	if (masked && !isnan(skip))
		op_attr_float(&t, "skip", skip);
	return emit_elements(g, &t, e->kind, output, target, weights, out);
}

