/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses, metrics and optimizers as graph: each emits nodes; nothing here runs during a step but
 * the learning-rate schedule, a pure function of the step number (schedule.h). */
#ifndef DLX_OPTIM_OPTIM_H
#define DLX_OPTIM_OPTIM_H

#include "graph/op.h"
#include "yaml/schema.h"

/* --- losses --- */

/* softmax_cross_entropy {class_weights, normalize, ignore, reduction, scale, label_smoothing},
 * focal {the same but label_smoothing, gamma, alpha}, dice {class_weights, ignore, scale, ...},
 * dice_cross_entropy, binary_cross_entropy {positive_weight, ignore}, mse {mask, output_weights},
 * l1, huber {delta, too} */
extern const struct variant loss_variants[];

struct loss_out {
	tid loss;   /* F32 scalar: the mean over what counts, or the sum over the batch */
	tid weight; /* F32 scalar: what it was taken over, so that means of batches can be combined; of
	             * a sum, the samples in the batch */
};
/* Checks what the tables of keys cannot (class_weights, mask, output_weights);
 * errors are placed. Call it once the config is read. */
int loss_check(const struct variant_value *loss);
/* What a loss compares the output (N, C, ...) with; metrics go by it too. */
enum target_kind {
	TARGET_VALUES,  /* F32 of the output's shape: quantities */
	TARGET_FLAGS,   /* F32 of the output's shape, 0 or 1: whether each of C classes, of which
	                 * several may be, is there; the output has their logits */
	TARGET_LABELS   /* I32 (N, [D,] H, W): the number of the class; the output has the logits */
};
enum target_kind loss_target(const struct variant_value *loss);
/* Whether that is TARGET_LABELS. */
bool loss_wants_labels(const struct variant_value *loss);
/* The label that does not count: the loss's own, else the data's. INT64_MIN: none. */
int64_t loss_ignore(const struct variant_value *loss, int64_t data);
/* Whether targets of a value do not count: *value, or all that are NaN if that is NaN. */
bool loss_mask(const struct variant_value *loss, double *value);
/* ignore: the data's ignore value, used where the config has none (INT64_MIN: none). class_counts:
 * of the training set, for class_weights by frequency; may be NULL if not needed
 * (loss_needs_class_counts). */
bool loss_needs_class_counts(const struct variant_value *loss);
/* Whether it is a sum over the batch rather than a mean. */
bool loss_is_sum(const struct variant_value *loss);
/* Whether it is a mean over samples rather than over elements, so that its weight counts those. */
bool loss_is_by_sample(const struct variant_value *loss);
int loss_emit(struct graph *g, const struct variant_value *loss, tid output, tid target,
              int64_t ignore, const int64_t *class_counts, struct loss_out *out);

/* --- metrics: graph nodes that count, host code that finishes --- */

struct metrics;
enum metric_form {
	METRIC_NUMBER,
	METRIC_BY_CLASS,
	METRIC_BY_OUTPUT, /* one for each channel of a field */
	METRIC_MATRIX     /* a row for each labelled class, a column for each predicted one */
};
struct metric_value {
	const char *name; /* "mean_iou" */
	enum metric_form form;
	int n;            /* numbers: of that form (metric_numbers) */
	const double *v;  /* NaN where undefined (a class that never occurs) */
	bool larger_is_better;
};
int64_t metric_numbers(enum metric_form form, int64_t classes);
#define METRICS_MOST 64          /* a config may name */
#define METRICS_OUTPUTS 8        /* metrics_emit makes no more */
#define METRIC_CONFUSION "confusion"
#define METRIC_TOP "top_"        /* followed by a number from 2 on */
/* Whether a network gets better as the metric so called rises; "loss" falls. */
bool metric_rises(const char *name);
/* Whether it is one number, by which something can be decided. */
bool metric_is_number(const char *name);
/* E_CONFIG if it is a metric of several numbers, by which
 * nothing can be decided; the error names the one to use. */
int metric_check_number(const char *name, const struct loc *loc);
/* E_CONFIG: a name that is none, or that does not go with the target or the number of classes
 * (channels of the output; 0: not known yet), or more than METRICS_MOST. */
int metrics_check(const struct strings *names, enum target_kind target, int64_t classes);
/* The metrics so named, for metrics_emit in an evaluation graph. Errors as above. */
int metrics_new(struct metrics **out, const struct strings *names, enum target_kind target,
                int64_t classes);
/* Elements of fields and flags whose target is `value` do not count; NaN: those that are NaN, which
 * of flags never do. Before metrics_emit. */
void metrics_set_mask(struct metrics *m, bool masked, double value);
void metrics_free(struct metrics *m);
/* Emits what they need: F64 outputs marked as such. ignore: the label that does not count. */
int metrics_emit(struct metrics *m, struct graph *g, tid output, tid target, int64_t ignore,
                 tid *outputs, int max_outputs, int *noutputs);
void metrics_reset(struct metrics *m);
/* Adds one batch: values[i] points to the host value (F64, plain) of outputs[i]. */
void metrics_add(struct metrics *m, const double *const *values);
/* The sums so far, as one row of *n numbers, to which the sums of other ranks may be added. */
double *metrics_sums(struct metrics *m, int64_t *n);
/* The values over everything added since the reset, pooled over the set; count in *n. Valid until
 * the next call. */
const struct metric_value *metrics_values(struct metrics *m, int *n);

/* --- optimizers --- */

extern const struct variant optimizer_variants[]; /* sgd, adam, lamb, rmsprop */

/* Parameters that are updated together: bundle k is first[k] .. first[k + 1] - 1. */
struct bundles {
	int n, nparam;
	int *first;
	tid *param, *grad;
	const tid *network;  /* the params in the order they were given in */
	int *order;          /* of param[i] the place there */
	bool *frozen;        /* whether the param stays as it is */
};
/* Sorts n parameters by when their gradients are ready, or as order says (of another graph's
 * bundles with these parameters; NULL: none), and cuts them into bundles of `most` bytes, none of
 * which parts what the optimizer (NULL: any) must see together. In the graph's arena. */
/* on a processor gradients are used while they are in the cache */
#define BUNDLE_CACHED (INT64_C(1) << 20)
#define BUNDLE_LAUNCHED (INT64_C(16) << 20)      /* on a GPU a launch is worth the while */
struct bundles *bundles_new(struct graph *g, const struct variant_value *optimizer, int n,
                            const tid *param, const tid *grad, int64_t most,
                            const int *order);
/* Nodes emitted next are of bundle k: named after its first parameter, with `what` added. */
void bundles_enter(struct graph *g, const struct bundles *b, int k, const char *what);
/* A state of param p's shape, named "P.LEAF", zero at first. */
int bundles_state(struct graph *g, tid p, const char *leaf, tid *out);
/* All of them, in the network's order, which is that of checkpoints. */
int bundles_states(struct graph *g, const struct bundles *b, int n, const char *const *leaf);
/* The sum of squares of each bundle's gradients but those of frozen parameters; *n: how many. */
int bundles_squares(struct graph *g, const struct bundles *b, tid *out, int *n);
/* Sums over micro-batches, in states; b->grad becomes the
 * sums. micro: I64 scalar, which one it is. */
int accumulate_emit(struct graph *g, struct bundles *b, tid micro);

extern const struct variant loss_scale_variants[]; /* none, static, dynamic, logmax */

struct loss_scaling {
	tid state, scale, inverse; /* the gradient of the loss; what gradients are multiplied by */
	tid step;                  /* I64 scalar: updates made, without those that overflowed */
};
bool loss_scaling_wanted(const struct variant_value *v);
/* As loss_check. */
int loss_scaling_check(const struct variant_value *v);
/* Before backward. step: I64 scalar, steps so far. */
int loss_scaling_emit(struct graph *g, const struct variant_value *v, tid step,
                      struct loss_scaling *out);
/* After it. *apply: F32 scalar, 0 if a gradient is not finite; NONE if there are none. */
int loss_scaling_update(struct graph *g, const struct variant_value *v, const struct bundles *b,
                        const struct loss_scaling *s, tid *apply);

struct optim_input {
	tid learning_rate; /* F32 scalar input */
	tid step;          /* I64 scalar input: updates done so far, counting from 0 */
	tid grad_scale;    /* F32 scalar that multiplies every gradient (clipping), or NONE */
	tid apply;         /* F32 scalar: 0 if nothing is to be updated; or NONE */
};
/* Drops those of a network's *n params that are frozen (learning_rate_factor 0), which need neither
 * gradients nor moments: checkpoints store them once. A ratio may be that of several parameters,
 * and averages are of all: with either none is dropped. E_CONFIG for a group without params. */
int optim_drop_frozen(struct graph *g, const struct variant_value *optimizer, int *n, tid *param);
/* Emits the update of every param. Moments become states named "PARAM.momentum", .... */
int optim_emit(struct graph *g, const struct variant_value *optimizer, const struct bundles *b,
               const struct optim_input *in);
/* As loss_check. */
int optim_check(const struct variant_value *optimizer);
/* The length of the start of a parameter's name that it has
 * in common with those whose updates depend on its own. */
size_t optim_prefix(const struct variant_value *optimizer, const char *name);
/* Whether it keeps moving averages of the parameters, as states "PARAM.average". */
#define AVERAGE_LEAF "average"
bool optim_averages(const struct variant_value *optimizer);
/* Whether its groups freeze the parameter. */
bool optim_freezes(const struct variant_value *optimizer, const struct tensor *param);
/* The base rate for the schedule. */
double optim_learning_rate(const struct variant_value *optimizer);
/* Emits scale * min(1, max_norm / norm) as an F32 scalar, norm that of all gradients times scale,
 * but for those of frozen parameters; scale may be NONE. Without gradients *factor is scale. */
int clip_emit(struct graph *g, double max_norm, const struct bundles *b, tid scale, tid *factor);

#endif
