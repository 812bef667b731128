/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A loss is one op that gives the mean over the elements that count, and their weight. For
 * `reduction: mean`, which divides by the sum of weights, and for Dice, only the ratios of class
 * weights matter; otherwise `normalize` makes the weights add up to 1. */
#include <string.h>

#include "base/err.h"
#include "model/op_attr.h"
#include "op/loss/loss.h"
#include "optim/class_weights.h"
#include "optim/loss_keys.h"
#include "optim/optim.h"

#define WEIGHTS_FIELD                                                                          \
	FIELD_NODE(struct label_loss, class_weights, NULL,                                         \
	           "none (default), a list, inverse_frequency, inverse_sqrt_frequency, or "        \
	           "{power: P} of the frequency")
#define IGNORE_FIELD                                                                           \
	FIELD(struct label_loss, ignore, FT_INT, .dflt = "null", .min = INT32_MIN,                 \
	      .max = INT32_MAX, .flags = FIELD_NULLABLE,                                           \
	      .doc = "label that does not count; default: the data's")
#define SCALE_FIELD FIELD_FLOAT(struct label_loss, scale, "1", 1e-12, 1e12, "factor on the loss")
#define CROSS_ENTROPY_FIELDS                                                                   \
	WEIGHTS_FIELD,                                                                             \
	FIELD_BOOL(struct label_loss, normalize, "false",                                          \
	           "divide the class weights by their sum"),                                       \
	IGNORE_FIELD,                                                                              \
	FIELD_ENUM(struct label_loss, reduction, "mean", loss_reduction_names,                     \
	           "mean: divide by the sum of the weights of what counts, as PyTorch does; "      \
	           "mean_pixels: by the number of elements that count; sum: do not divide"),   \
	SCALE_FIELD
#define DICE_FIELDS                                                                            \
	WEIGHTS_FIELD, IGNORE_FIELD,                                                               \
	FIELD_BOOL(struct label_loss, squared, "false",                                            \
	           "squares of the shares in the denominator, as in V-Net"),                       \
	FIELD_BOOL(struct label_loss, background, "true", "include class 0 in Dice"),\
	FIELD_BOOL(struct label_loss, per_batch, "false",                                          \
	           "compute Dice over all samples of a batch together, not the mean of each "          \
	           "sample's"),                                                                        \
	FIELD_FLOAT(struct label_loss, smooth_numerator, "1.0e-5", 0, 1e12,                        \
	            "added to the numerator"),                                                     \
	FIELD_FLOAT(struct label_loss, smooth_denominator, "1.0e-5", 1e-30, 1e12,                  \
	            "added to the denominator"),                                                   \
	SCALE_FIELD

static const struct field cross_entropy_fields[] = {
	CROSS_ENTROPY_FIELDS,
	FIELD_FLOAT(struct label_loss, label_smoothing, "0", 0, 1,
	            "share of a label that is spread over all classes, its own too"),
	FIELD_END
};
static const struct field focal_fields[] = {
	CROSS_ENTROPY_FIELDS,
	FIELD_FLOAT(struct label_loss, gamma, "2", 0, 100,
	            "power of 1 - share; 0: softmax_cross_entropy"),
	FIELD_FLOAT(struct label_loss, alpha, "1", 1e-12, 1e12,
	            "factor on the loss; for one of each class use class_weights"),
	FIELD_END
};
static const struct field dice_fields[] = { DICE_FIELDS, FIELD_END };
static const struct field dice_cross_entropy_fields[] = {
	DICE_FIELDS,
	FIELD_FLOAT(struct label_loss, dice_weight, "1", 0, 1e12, "factor on Dice"),
	FIELD_FLOAT(struct label_loss, cross_entropy_weight, "1", 0, 1e12, "factor on cross-entropy"),
	FIELD_END
};

#define VALUE_FIELDS                                                                           \
	FIELD_NODE(struct value_loss, mask, NULL,                                                  \
	           "targets that do not count: nan, or a value; default: none, and a NaN makes "   \
	           "the loss NaN"),                                                                \
	FIELD(struct value_loss, output_weights, FT_FLOATS, .min = 0, .max = 1e12,                 \
	      .doc = "weight of each channel of the output; default: all equal")

static const struct field value_fields[] = { VALUE_FIELDS, FIELD_END };
static const struct field huber_fields[] = {
	VALUE_FIELDS,
	FIELD_FLOAT(struct value_loss, delta, "1", 1e-12, 1e12, "errors beyond this count linearly"),
	FIELD_END
};
static const struct field flag_fields[] = {
	FIELD(struct flag_loss, positive_weight, FT_FLOATS, .dflt = "1", .min = 0, .max = 1e12,
	      .doc = "factor on the loss where the flag is 1: one, or a list of one for each class"),
	FIELD(struct flag_loss, ignore, FT_INT, .dflt = "null", .min = INT32_MIN, .max = INT32_MAX,
	      .flags = FIELD_NULLABLE,
	      .doc = "flag that does not count, as NaN never does; default: the data's"),
	FIELD_END
};

/* The class weights of publications on climate data. */
static const struct preset cross_entropy_presets[] = {
	{ "sc18", "of Kurth et al. 2018: summed over pixels and samples, times 0.1",
	  "class_weights: inverse_sqrt_frequency, normalize: true, reduction: sum, scale: 0.1" },
	{ "mlperf-deepcam", "of MLPerf HPC's DeepCAM",
	  "class_weights: {power: -0.125}, reduction: mean_pixels" },
	{ 0 }
};

#define LABEL_LOSS(fields, presets) fields, sizeof(struct label_loss), NULL, presets, NULL
#define VALUE_LOSS(fields)          fields, sizeof(struct value_loss), NULL, NULL, NULL

const struct variant loss_variants[] = {
	{ "softmax_cross_entropy",
	  "softmax over channels, then the negative logarithm of the label's share",
	  LABEL_LOSS(cross_entropy_fields, cross_entropy_presets) },
	{ "focal",
	  "softmax_cross_entropy where an element counts (1 - share)^gamma times (Lin et al. 2017)",
	  LABEL_LOSS(focal_fields, NULL) },
	{ "dice",
	  "1 - Dice of the shares (softmax over channels) and the labels, the mean over classes and "
	  "samples", LABEL_LOSS(dice_fields, NULL) },
	{ "dice_cross_entropy", "the sum of dice and of the cross-entropy of each sample",
	  LABEL_LOSS(dice_cross_entropy_fields, NULL) },
	{ "binary_cross_entropy", "of several classes that may be there at once: for each the logistic "
	  "loss of its logit and a flag, 0 or 1", flag_fields, sizeof(struct flag_loss), NULL, NULL,
	  NULL },
	{ "mse", "mean of squared errors", VALUE_LOSS(value_fields) },
	{ "l1", "mean of absolute errors (MAE)", VALUE_LOSS(value_fields) },
	{ "huber", "squared where small, linear where large", VALUE_LOSS(huber_fields) },
	{ 0 }
};

static bool is_loss(const struct variant_value *loss, const char *name)
{
	return strcmp(loss->v->name, name) == 0;
}

static bool is_dice(const struct variant_value *loss)
{
	return is_loss(loss, "dice") || is_loss(loss, "dice_cross_entropy");
}

enum target_kind loss_target(const struct variant_value *loss)
{
	if (is_loss(loss, "binary_cross_entropy"))
		return TARGET_FLAGS;
	bool labels = is_loss(loss, "softmax_cross_entropy") || is_loss(loss, "focal");
	return labels || is_dice(loss) ? TARGET_LABELS : TARGET_VALUES;
}

bool loss_wants_labels(const struct variant_value *loss)
{
	return loss_target(loss) == TARGET_LABELS;
}

int64_t loss_ignore(const struct variant_value *loss, int64_t data)
{
	const enum target_kind kind = loss_target(loss);
	int64_t own = INT64_MIN;
	if (kind == TARGET_LABELS)
		own = ((const struct label_loss *)loss->data)->ignore;
	else if (kind == TARGET_FLAGS)
		own = ((const struct flag_loss *)loss->data)->ignore;
	return own != INT64_MIN ? own : data;
}

bool loss_is_sum(const struct variant_value *loss)
{
	return loss_wants_labels(loss) &&
	       ((const struct label_loss *)loss->data)->reduction == LOSS_SUM;
}

bool loss_is_by_sample(const struct variant_value *loss)
{
	return is_dice(loss);
}

bool loss_needs_class_counts(const struct variant_value *loss)
{
	return loss_wants_labels(loss) &&
	       class_weights_need_counts(((const struct label_loss *)loss->data)->class_weights);
}

static int check_labels(const struct variant_value *loss)
{
	const struct label_loss *c = loss->data;
	if (is_loss(loss, "dice_cross_entropy") && c->dice_weight == 0 && c->cross_entropy_weight == 0)
		return ERR(E_CONFIG, &loss->loc, "'dice_weight' and 'cross_entropy_weight' are both 0, so "
		           "nothing would count");
	return class_weights_check(c->class_weights);
}

int loss_check(const struct variant_value *loss)
{
	switch (loss_target(loss)) {
	case TARGET_LABELS:
		return check_labels(loss);
	case TARGET_VALUES:
		return value_loss_check(loss);
	case TARGET_FLAGS:
		break;
	}
	return 0;
}

/* --- emission --- */

static int emit_cross_entropy(struct graph *g, const struct variant_value *loss, tid output,
                              tid target, int64_t ignore, const int64_t *counts,
                              struct loss_out *out)
{
	const struct label_loss *c = loss->data;
	struct op_attr t = op_attr_new(g->arena, "softmax_cross_entropy");
	tid in[3] = { output, target, NONE }, made[3];
	bool focal = is_loss(loss, "focal");
	op_attr_int(&t, "ignore", loss_ignore(loss, ignore));
	op_attr_int(&t, "reduction", c->reduction);
	op_attr_float(&t, "scale", focal ? c->scale * c->alpha : c->scale);
	op_attr_float(&t, "gamma", focal ? c->gamma : 0);
	op_attr_float(&t, "smoothing", c->label_smoothing);
	TRY(class_weights_emit(g, c->class_weights, c->normalize, graph_t(g, output)->shape.d[1],
	                       counts, &in[2]));
	TRY(graph_emit(g, "softmax_cross_entropy", t.data, in[2] == NONE ? 2 : 3, in, 2, made));
	*out = (struct loss_out){ made[0], made[1] };
	return 0;
}

/* Weights (or NONE) of classes after the background that are all 0 leave nothing of Dice. */
static int check_foreground(const struct graph *g, const struct variant_value *loss, tid weights)
{
	if (weights == NONE)
		return 0;
	const struct tensor *t = graph_t(g, weights);
	for (int64_t i = 1; i < t->shape.d[0]; i++)
		if (((const float *)t->value)[i] != 0)
			return 0;
	return ERR(E_CONFIG, &loss->loc, "without the background no class has a weight above 0 in "
	           "'class_weights', so nothing would count in Dice");
}

static int emit_dice(struct graph *g, const struct variant_value *loss, tid output, tid target,
                     int64_t ignore, const int64_t *counts, struct loss_out *out)
{
	const struct label_loss *c = loss->data;
	struct op_attr t = op_attr_new(g->arena, "dice_loss");
	tid in[3] = { output, target, NONE }, made[3];
	bool both = is_loss(loss, "dice_cross_entropy");
	op_attr_int(&t, "ignore", loss_ignore(loss, ignore));
	op_attr_int(&t, "squared", c->squared);
	op_attr_int(&t, "background", c->background);
	op_attr_int(&t, "per_batch", c->per_batch);
	op_attr_float(&t, "smooth_numerator", c->smooth_numerator);
	op_attr_float(&t, "smooth_denominator", c->smooth_denominator);
	op_attr_float(&t, "dice", c->scale * (both ? c->dice_weight : 1));
	op_attr_float(&t, "cross_entropy", both ? c->scale * c->cross_entropy_weight : 0);
	TRY(class_weights_emit(g, c->class_weights, false, graph_t(g, output)->shape.d[1], counts,
	                       &in[2]));
	if (!c->background)
		TRY(check_foreground(g, loss, in[2]));
	TRY(graph_emit(g, "dice_loss", t.data, in[2] == NONE ? 2 : 3, in, 2, made));
	*out = (struct loss_out){ made[0], made[1] };
	return 0;
}

/* Whether the axes after those of samples and channels are of one size. */
static bool same_points(const struct shape *y, const struct shape *t, bool labels)
{
	const int points = y->nd - 2, first = labels ? 1 : 2;
	for (int i = 0; i < points; i++)
		if (y->d[2 + i] != t->d[first + i])
			return false;
	return true;
}

/* What to change where the shapes of output (N, C, ...) and target do not go together. */
static const char *misfit(const struct shape *y, const struct shape *t, enum target_kind kind)
{
	bool labels = kind == TARGET_LABELS;
	int points = y->nd - 2, wanted = t->nd - (labels ? 1 : 2);
	if (kind == TARGET_FLAGS && t->nd == y->nd - 1)
		return ": the data has class numbers, of one class each, for which the loss is "
		       "softmax_cross_entropy; flags have an axis of channels, with 0 or 1 for each class";
	if (points > 0 && wanted == 0)
		return ": the data has one target a sample, the network an output at each point; end it "
		       "with global_average, or with flatten and dense";
	if (points == 0 && wanted > 0)
		return ": the data has a target at each point, the network one output a sample; it has to "
		       "keep the axes after the channels";
	if (labels && wanted == points + 1)
		return ": the labels have an axis too many; class numbers instead of an axis of channels "
		       "(one-hot) are made by argmax over it, before dlx-convert; where several classes "
		       "may be there at once the loss is binary_cross_entropy";
	if (!labels && y->nd == t->nd && y->d[1] != t->d[1])
		return ": the last layer has as many filters or units as the target has channels";
	if (points == wanted && !same_points(y, t, labels))
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
	int rc = is_dice(loss)
	             ? emit_dice(g, loss, output, target, ignore, class_counts, out)
	         : loss_wants_labels(loss)
	             ? emit_cross_entropy(g, loss, output, target, ignore, class_counts, out)
	         : loss_target(loss) == TARGET_FLAGS
	             ? flag_loss_emit(g, loss, output, target, loss_ignore(loss, ignore), out)
	             : value_loss_emit(g, loss, output, target, out);
	graph_leave(g, saved);
	if (rc < 0)
		return err_context(rc, "loss '%s' of the model's output %s and the target %s%s",
		                   loss->v->name, shape_text(&graph_t(g, output)->shape, a),
		                   shape_text(&graph_t(g, target)->shape, b),
		                   misfit(&graph_t(g, output)->shape, &graph_t(g, target)->shape,
		                          loss_target(loss)));
	return 0;
}
