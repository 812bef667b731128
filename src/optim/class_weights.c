/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Class weights become a constant: given, or a power of each class's frequency in the training
 * set, (count_c / count)^p with p = -1 for inverse_frequency and -1/2 for inverse_sqrt_frequency. A
 * class that never occurs gets weight 0. */
#include "optim/class_weights.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "yaml/schema.h"
#include "yaml/synonym.h"

struct class_weights {
	struct floats list;
	double power;
};
static const struct field power_fields[] = { FIELD_FLOAT(struct class_weights, power, "", -10, 10,
	                                                     "weight = frequency to this power"),
	                                         FIELD_END };
static const struct field list_fields[] = {
	FIELD(struct class_weights, list, FT_FLOATS, .dflt = "", .min = 0, .max = 1e12,
	      .doc = "weight of each class"),
	FIELD_END
};

static const struct {
	const char *name;
	double power;
} powers[] = { { "none", 0 }, { "inverse_frequency", -1 }, { "inverse_sqrt_frequency", -0.5 } };
#define NPOWERS (sizeof powers / sizeof *powers)

static int unknown_weights(const struct ynode *n)
{
	const char *names[NPOWERS + 1] = { NULL };
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < NPOWERS; i++)
		names[i] = powers[i].name;
	if (!hint_of(&text, n->text, names))
		buf_puts(&text, "; expected none, inverse_frequency, inverse_sqrt_frequency, a list "
		         "or {power: P}");
	int rc = ERR(E_CONFIG, &n->loc, "'class_weights' is '%s'%s", n->text, text.data);
	buf_release(&text);
	return rc;
}

static int refuse_all_zero(const struct ynode *n, const struct floats *list)
{
	for (int i = 0; i < list->n; i++)
		if (list->v[i] != 0)
			return 0;
	return ERR(E_CONFIG, &n->loc, "'class_weights' has no number above 0, so nothing would count");
}

static int read_weights(struct arena *a, struct ynode *n, struct class_weights *w)
{
	*w = (struct class_weights){ 0 };
	if (!n || n->kind == Y_NULL || y_is_null(n))
		return 0;
	if (n->kind == Y_MAP)
		return schema_read(a, n, power_fields, "'class_weights'", &n->loc, w);
	if (n->kind == Y_SEQ) {
		struct ypair pair = { "list", n->loc, n };
		struct ynode map = { .kind = Y_MAP, .loc = n->loc, .text = "", .n = 1, .pair = &pair };
		TRY(schema_read(a, &map, list_fields, "'class_weights'", &n->loc, w));
		return refuse_all_zero(n, &w->list);
	}
	for (size_t i = 0; i < NPOWERS; i++)
		if (strcmp(n->text, powers[i].name) == 0) {
			w->power = powers[i].power;
			return 0;
		}
	return unknown_weights(n);
}

int class_weights_check(struct ynode *n)
{
	struct class_weights w;
	struct arena *a = arena_new();
	int rc = read_weights(a, n, &w);
	arena_free(a);
	return rc;
}

bool class_weights_need_counts(struct ynode *n)
{
	struct class_weights w;
	struct arena *a = arena_new();
	int mark = err_count(), rc = read_weights(a, n, &w);
	err_truncate(mark); /* the config's check and the emission report the mistake */
	arena_free(a);
	return rc == 0 && w.power != 0;
}

static int from_list(const struct ynode *n, const struct floats *list, int64_t classes, float *out)
{
	if (list->n != classes)
		return ERR(E_CONFIG, &n->loc, "'class_weights' has %d numbers, but there are %lld classes",
		           list->n, (long long)classes);
	for (int i = 0; i < list->n; i++)
		out[i] = (float)list->v[i];
	return 0;
}

static int from_counts(const struct ynode *n, double power, const int64_t *counts, int64_t classes,
                       float *out)
{
	double total = 0;
	for (int64_t i = 0; i < classes; i++)
		total += (double)counts[i];
	if (total == 0)
		return ERR(
			E_DATA, &n->loc,
			"'class_weights' by frequency needs labels, but the training set has none that count");
	for (int64_t i = 0; i < classes; i++)
		out[i] = counts[i] ? (float)pow((double)counts[i] / total, power) : 0;
	return 0;
}

static void normalize(float *v, int64_t n)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += (double)v[i];
	for (int64_t i = 0; i < n && sum > 0; i++)
		v[i] = (float)((double)v[i] / sum);
}

int class_weights_emit(struct graph *g, struct ynode *n, bool by_sum, int64_t classes,
                       const int64_t *counts, tid *weights)
{
	struct class_weights w;
	struct shape s = shape_of(1, &classes);
	float *v = ARENA_ARRAY(g->arena, float, classes);
	TRY(read_weights(g->arena, n, &w));
	*weights = NONE;
	if (w.list.n == 0 && w.power == 0)
		return 0;
	BUG_IF(!w.list.n && !counts, "class weights by frequency without counts");
	if (w.list.n)
		TRY(from_list(n, &w.list, classes, v));
	else
		TRY(from_counts(n, w.power, counts, classes, v));
	if (by_sum)
		normalize(v, classes);
	*weights = graph_constant(g, DTYPE_F32, &s, v);
	return 0;
}
