/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A loss is one op that gives the mean over what counts and what it counted. Class weights become a
 * constant: given, or a power of each class's frequency in the training set, (count_c / count)^p
 * with p = -1 for inverse_frequency and -1/2 for inverse_sqrt_frequency. A class that never occurs
 * gets weight 0. Under `reduction: mean`, which divides by the sum of weights, only their ratios
 * matter; otherwise `normalize` does: it makes them add up to 1. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "model/op_attr.h"
#include "op/loss/loss.h"
#include "optim/optim.h"
#include "yaml/synonym.h"

struct cross_entropy {
	struct ynode *class_weights;
	bool normalize;
	int64_t ignore;
	int reduction; /* enum loss_reduction */
	double scale;
	double gamma, alpha; /* focal alone */
};
struct huber {
	double delta;
};

#define CROSS_ENTROPY_FIELDS                                                                   \
	FIELD_NODE(struct cross_entropy, class_weights, NULL,                                      \
	           "none (default), a list, inverse_frequency, inverse_sqrt_frequency, or "        \
	           "{power: P} of the frequency"),                                                 \
	FIELD_BOOL(struct cross_entropy, normalize, "false",                                       \
	           "divide the class weights by their sum"),                                       \
	FIELD(struct cross_entropy, ignore, FT_INT, .dflt = "null", .min = INT32_MIN,              \
	      .max = INT32_MAX, .flags = FIELD_NULLABLE,                                           \
	      .doc = "label that does not count; default: the data's"),                            \
	FIELD_ENUM(struct cross_entropy, reduction, "mean", loss_reduction_names,                  \
	           "mean: divide by the sum of the weights of what counts, as PyTorch does; "      \
	           "mean_pixels: by how many elements count; sum: by nothing"),                    \
	FIELD_FLOAT(struct cross_entropy, scale, "1", 1e-12, 1e12, "factor on the loss")

static const struct field cross_entropy_fields[] = { CROSS_ENTROPY_FIELDS, FIELD_END };
static const struct field focal_fields[] = {
	CROSS_ENTROPY_FIELDS,
	FIELD_FLOAT(struct cross_entropy, gamma, "2", 0, 100,
	            "power of 1 - share; 0: softmax_cross_entropy"),
	FIELD_FLOAT(struct cross_entropy, alpha, "1", 1e-12, 1e12,
	            "factor on the loss; for one of each class use class_weights"),
	FIELD_END
};
static const struct field huber_fields[] = { FIELD_FLOAT(struct huber, delta, "1", 1e-12, 1e12,
	                                                     "errors beyond this count linearly"),
	                                         FIELD_END };

/* The class weights of publications on climate data. */
static const struct preset cross_entropy_presets[] = {
	{ "sc18", "of Kurth et al. 2018: summed over pixels and samples, times 0.1",
	  "class_weights: inverse_sqrt_frequency, normalize: true, reduction: sum, scale: 0.1" },
	{ "mlperf-deepcam", "of MLPerf HPC's DeepCAM",
	  "class_weights: {power: -0.125}, reduction: mean_pixels" },
	{ 0 }
};

const struct variant loss_variants[] = {
	{ "softmax_cross_entropy",
	  "softmax over channels, then the negative logarithm of the label's share",
	  cross_entropy_fields, sizeof(struct cross_entropy), NULL, cross_entropy_presets },
	{ "focal",
	  "softmax_cross_entropy where an element counts (1 - share)^gamma times (Lin et al. 2017)",
	  focal_fields, sizeof(struct cross_entropy), NULL, NULL },
	{ "mse", "mean of squared errors", NULL, 0, NULL, NULL },
	{ "l1", "mean of absolute errors (MAE)", NULL, 0, NULL, NULL },
	{ "huber", "squared where small, linear where large", huber_fields, sizeof(struct huber),
	  NULL, NULL },
	{ 0 }
};

static bool is_loss(const struct variant_value *loss, const char *name)
{
	return strcmp(loss->v->name, name) == 0;
}

enum target_kind loss_target(const struct variant_value *loss)
{
	bool labels = is_loss(loss, "softmax_cross_entropy") || is_loss(loss, "focal");
	return labels ? TARGET_LABELS : TARGET_VALUES;
}

bool loss_wants_labels(const struct variant_value *loss)
{
	return loss_target(loss) == TARGET_LABELS;
}

int64_t loss_ignore(const struct variant_value *loss, int64_t data)
{
	const struct cross_entropy *c = loss->data;
	return loss_wants_labels(loss) && c->ignore != INT64_MIN ? c->ignore : data;
}

/* --- class weights --- */

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

int loss_check(const struct variant_value *loss)
{
	if (!loss_wants_labels(loss))
		return 0;
	const struct cross_entropy *c = loss->data;
	struct class_weights w;
	struct arena *a = arena_new();
	int rc = read_weights(a, c->class_weights, &w);
	arena_free(a);
	return rc;
}

bool loss_needs_class_counts(const struct variant_value *loss)
{
	if (!loss_wants_labels(loss))
		return false;
	const struct cross_entropy *c = loss->data;
	struct class_weights w;
	struct arena *a = arena_new();
	int mark = err_count(), rc = read_weights(a, c->class_weights, &w);
	err_truncate(mark); /* loss_check and loss_emit report it */
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

/* *weights: F32 (classes), or NONE. */
static int emit_weights(struct graph *g, const struct cross_entropy *c, int64_t classes,
                        const int64_t *counts, tid *weights)
{
	struct ynode *n = c->class_weights;
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
	if (c->normalize)
		normalize(v, classes);
	*weights = graph_constant(g, DTYPE_F32, &s, v);
	return 0;
}

/* --- emission --- */

static int emit_cross_entropy(struct graph *g, const struct variant_value *loss, tid output,
                              tid target, int64_t ignore, const int64_t *counts,
                              struct loss_out *out)
{
	const struct cross_entropy *c = loss->data;
	struct op_attr t = op_attr_new(g->arena, "softmax_cross_entropy");
	tid in[3] = { output, target, NONE }, made[3];
	bool focal = is_loss(loss, "focal");
	op_attr_int(&t, "ignore", loss_ignore(loss, ignore));
	op_attr_int(&t, "reduction", c->reduction);
	op_attr_float(&t, "scale", focal ? c->scale * c->alpha : c->scale);
	op_attr_float(&t, "gamma", focal ? c->gamma : 0);
	TRY(emit_weights(g, c, graph_t(g, output)->shape.d[1], counts, &in[2]));
	TRY(graph_emit(g, "softmax_cross_entropy", t.data, in[2] == NONE ? 2 : 3, in, 2, made));
	*out = (struct loss_out){ made[0], made[1] };
	return 0;
}

static int emit_error(struct graph *g, const struct variant_value *loss, tid output, tid target,
                      struct loss_out *out)
{
	static const char *const ops[][2] = { { "mse", "mse_loss" },
		                                  { "l1", "l1_loss" },
		                                  { "huber", "huber_loss" } };
	tid in[2] = { output, target }, made[2];
	int i = 0;
	while (!is_loss(loss, ops[i][0]))
		i++;
	struct op_attr t = op_attr_new(g->arena, ops[i][1]);
	if (is_loss(loss, "huber"))
		op_attr_float(&t, "delta", ((const struct huber *)loss->data)->delta);
	TRY(graph_emit(g, ops[i][1], t.data, 2, in, 2, made));
	*out = (struct loss_out){ made[0], made[1] };
	return 0;
}

bool loss_is_sum(const struct variant_value *loss)
{
	return loss_wants_labels(loss) &&
	       ((const struct cross_entropy *)loss->data)->reduction == LOSS_SUM;
}

/* What to change where the shapes of output (N, C, ...) and target do not go together. */
static const char *misfit(const struct shape *y, const struct shape *t, bool labels)
{
	int points = y->nd - 2, wanted = t->nd - (labels ? 1 : 2);

	if (points > 0 && wanted == 0)
		return ": the data has one target a sample, the network an output at each point; end it "
		       "with global_average, or with flatten and dense";
	if (points == 0 && wanted > 0)
		return ": the data has a target at each point, the network one output a sample; it has to "
		       "keep the axes behind the channels";
	if (labels && wanted == points + 1)
		return ": the labels have an axis too many; class numbers instead of an axis of channels "
		       "(one-hot) are made by argmax over it, before dlx-convert";
	if (!labels && y->nd == t->nd && y->d[1] != t->d[1])
		return ": the last layer has as many filters or units as the target has channels";
	if (points == wanted)
		return ": both have as many points only if the network ends at the "
		       "resolution of the targets";
	return "";
}

int loss_emit(struct graph *g, const struct variant_value *loss, tid output, tid target,
              int64_t ignore, const int64_t *class_counts, struct loss_out *out)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	g->cur_name = "loss";
	g->cur_loc = loss->loc;
	int rc = loss_wants_labels(loss)
	             ? emit_cross_entropy(g, loss, output, target, ignore, class_counts, out)
	             : emit_error(g, loss, output, target, out);
	graph_leave(g, saved);
	if (rc < 0)
		return err_context(rc, "loss '%s' of the model's output %s and the target %s%s",
		                   loss->v->name, shape_text(&graph_t(g, output)->shape, a),
		                   shape_text(&graph_t(g, target)->shape, b),
		                   misfit(&graph_t(g, output)->shape, &graph_t(g, target)->shape,
		                          loss_wants_labels(loss)));
	return 0;
}
