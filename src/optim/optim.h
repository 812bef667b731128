/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses, metrics and optimizers as nodes of the graph: the functions here emit nodes. Nothing here
 * runs during a step except the learning-rate schedule, a pure function of the step number
 * (schedule.h). */
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
	tid loss;   /* F32 scalar: the mean over the elements that count, or the sum over the batch */
	tid weight; /* F32 scalar: the total weight of that mean, so that means of batches can be
	             * combined; for a sum, the number of samples in the batch */
};
/* Checks what the tables of keys cannot (class_weights, mask, output_weights); errors have a
 * location. Call it after the config is read. */
int loss_check(const struct variant_value *loss);
/* The kind of target that a loss compares the output (N, C, ...) with; metrics depend on it too. */
enum target_kind {
	TARGET_VALUES,  /* quantities: F32 with the output's shape */
	TARGET_FLAGS,   /* multi-label classification: F32 with the output's shape, 1 if the class is
	                 * present, else 0; the output is the logits */
	TARGET_LABELS   /* I32 (N, [D,] H, W): the number of the class; the output is the logits */
};
enum target_kind loss_target(const struct variant_value *loss);
/* Whether loss_target is TARGET_LABELS. */
bool loss_wants_labels(const struct variant_value *loss);
/* The label that does not count: the loss's own, or else the data's. INT64_MIN: none. */
int64_t loss_ignore(const struct variant_value *loss, int64_t data);
/* Whether targets with a certain value do not count: *value, which may be NaN (for all NaN
 * targets). */
bool loss_mask(const struct variant_value *loss, double *value);
/* loss_emit emits the loss. ignore: the data's ignore value, used if the config has none
 * (INT64_MIN: none). class_counts: of the training set, for class_weights by frequency; may be NULL
 * if not needed (loss_needs_class_counts). */
bool loss_needs_class_counts(const struct variant_value *loss);
/* Whether the loss is a sum over the batch, not a mean. */
bool loss_is_sum(const struct variant_value *loss);
/* Whether the loss is a mean over samples, not over elements, so that its weight counts samples. */
bool loss_is_by_sample(const struct variant_value *loss);
int loss_emit(struct graph *g, const struct variant_value *loss, tid output, tid target,
              int64_t ignore, const int64_t *class_counts, struct loss_out *out);

/* --- metrics: graph nodes that count, host code that finishes --- */

struct metrics;
enum metric_form {
	METRIC_NUMBER,
	METRIC_BY_CLASS,
	METRIC_BY_OUTPUT, /* a number for each channel of a field */
	METRIC_MATRIX     /* a row for each labelled class, a column for each predicted one */
};
struct metric_value {
	const char *name; /* "mean_iou" */
	enum metric_form form;
	int n;            /* count of numbers, given by the form (metric_numbers) */
	const double *v;  /* NaN where undefined (a class that never occurs) */
	bool larger_is_better;
};
int64_t metric_numbers(enum metric_form form, int64_t classes);
#define METRICS_MOST 64          /* most metrics of a config */
#define METRICS_OUTPUTS 8        /* most outputs of metrics_emit */
#define METRIC_CONFUSION "confusion"
#define METRIC_TOP "top_"        /* followed by a number from 2 on */
/* Whether larger values of this metric are better; false for "loss". */
bool metric_rises(const char *name);
/* Whether the metric is a single number, so that decisions can be based on it. */
bool metric_is_number(const char *name);
/* E_CONFIG if the metric has several numbers, so that no decision can be based on it; the error
 * names the metric to use instead. */
int metric_check_number(const char *name, const struct loc *loc);
/* E_CONFIG if a name is unknown, does not fit the target or the number of classes (channels of the
 * output; 0: not known yet), or if there are more than METRICS_MOST. */
int metrics_check(const struct strings *names, enum target_kind target, int64_t classes);
/* Makes the metrics with these names, for metrics_emit in an evaluation graph. Errors as above. */
int metrics_new(struct metrics **out, const struct strings *names, enum target_kind target,
                int64_t classes);
/* masked: elements of fields and flags whose target equals `value` do not count; value NaN: those
 * that are NaN (flags never are). Call it before metrics_emit. */
void metrics_set_mask(struct metrics *m, bool masked, double value);
void metrics_free(struct metrics *m);
/* Emits the nodes that count: F64 outputs of the graph. ignore: the label that does not count. */
int metrics_emit(struct metrics *m, struct graph *g, tid output, tid target, int64_t ignore,
                 tid *outputs, int max_outputs, int *noutputs);
void metrics_reset(struct metrics *m);
/* Adds one batch: values[i] points to the host value (F64, plain) of outputs[i]. */
void metrics_add(struct metrics *m, const double *const *values);
/* The sums so far, as one array of *n numbers, to which the sums of other ranks may be added. */
double *metrics_sums(struct metrics *m, int64_t *n);
/* The metrics, *n of them, over everything added since the reset. Valid until the next call. */
const struct metric_value *metrics_values(struct metrics *m, int *n);

/* --- optimizers --- */

extern const struct variant optimizer_variants[]; /* sgd, adam, lamb, rmsprop */

/* Parameters that are updated together: bundle k is first[k] .. first[k + 1] - 1. */
struct bundles {
	int n, nparam;
	int *first;
	tid *param, *grad;
	const tid *network;  /* the params in their original order */
	int *order;          /* index of param[i] in `network` */
	bool *frozen;        /* whether the param stays as it is */
};
/* Sorts n parameters by the time when their gradients are ready, or in the given order (that of
 * another graph's bundles with these parameters; NULL: none), and divides them into bundles of at
 * most `most` bytes. Parameters that the optimizer (NULL: any) must see together are never
 * separated. Allocated in the graph's arena. */
/* bytes of a bundle on a CPU: gradients are still in the cache when they are used */
#define BUNDLE_CACHED (INT64_C(1) << 20)
#define BUNDLE_LAUNCHED (INT64_C(16) << 20)      /* bytes of a bundle on a GPU, enough to amortise a
                                                  * kernel launch */
struct bundles *bundles_new(struct graph *g, const struct variant_value *optimizer, int n,
                            const tid *param, const tid *grad, int64_t most,
                            const int *order);
/* Sets the name of the nodes emitted next, for bundle k: that of its first parameter, with `what`
 * appended. */
void bundles_enter(struct graph *g, const struct bundles *b, int k, const char *what);
/* A state of param p's shape, named "P.LEAF", zero at first. */
int bundles_state(struct graph *g, tid p, const char *leaf, tid *out);
/* All of them, in the network's order, which is that of checkpoints. */
int bundles_states(struct graph *g, const struct bundles *b, int n, const char *const *leaf);
/* The sum of squares of each bundle's gradients, except those of frozen parameters; *n: the number
 * of sums. */
int bundles_squares(struct graph *g, const struct bundles *b, tid *out, int *n);
/* Gradient accumulation: emits sums over micro-batches, kept in states; b->grad becomes these sums.
 * micro: I64 scalar, the index of the micro-batch. */
int accumulate_emit(struct graph *g, struct bundles *b, tid micro);

extern const struct variant loss_scale_variants[]; /* none, static, dynamic, logmax */

struct loss_scaling {
	tid state, scale, inverse; /* scale: the gradient of the loss, which starts backward; inverse:
	                            * the factor that gradients are multiplied by afterwards */
	tid step;                  /* I64 scalar: number of updates, without those that overflowed */
};
bool loss_scaling_wanted(const struct variant_value *v);
/* As loss_check. */
int loss_scaling_check(const struct variant_value *v);
/* Emits the scale, before backward. step: I64 scalar, number of steps so far. */
int loss_scaling_emit(struct graph *g, const struct variant_value *v, tid step,
                      struct loss_scaling *out);
/* Emits the update of the scale, after backward. *apply: F32 scalar, 0 if a gradient is not finite;
 * NONE if gradients are not checked. */
int loss_scaling_update(struct graph *g, const struct variant_value *v, const struct bundles *b,
                        const struct loss_scaling *s, tid *apply);

struct optim_input {
	tid learning_rate; /* F32 scalar input */
	tid step;          /* I64 scalar input: updates done so far, counting from 0 */
	tid grad_scale;    /* F32 scalar that multiplies every gradient (clipping), or NONE */
	tid apply;         /* F32 scalar: 0 if this update must be skipped; or NONE */
};
/* Removes from a network's *n params those that are frozen (learning_rate_factor 0): they need
 * neither gradients nor moments, and checkpoints store them once. If a trust ratio spans several
 * parameters, or averages are kept, none is removed. E_CONFIG for a group that matches no param. */
int optim_drop_frozen(struct graph *g, const struct variant_value *optimizer, int *n, tid *param);
/* Emits the update of every param. Moments become states named "PARAM.momentum" and so on. */
int optim_emit(struct graph *g, const struct variant_value *optimizer, const struct bundles *b,
               const struct optim_input *in);
/* As loss_check. */
int optim_check(const struct variant_value *optimizer);
/* The length of the prefix of a parameter's name that is common to all parameters whose updates
 * depend on one another (by a shared trust ratio). */
size_t optim_prefix(const struct variant_value *optimizer, const char *name);
/* Whether the optimizer keeps moving averages of the parameters, as states "PARAM.average". */
#define AVERAGE_LEAF "average"
bool optim_averages(const struct variant_value *optimizer);
/* Whether the optimizer's groups freeze the parameter. */
bool optim_freezes(const struct variant_value *optimizer, const struct tensor *param);
/* The base rate for the schedule. */
double optim_learning_rate(const struct variant_value *optimizer);
/* Emits the factor scale * min(1, max_norm / norm) as an F32 scalar. norm is that of all gradients
 * times scale, except those of frozen parameters. scale may be NONE. Without gradients *factor is
 * scale. */
int clip_emit(struct graph *g, double max_norm, const struct bundles *b, tid scale, tid *factor);

#endif
