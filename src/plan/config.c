/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The root of the schema tables, and values derived from the keys. */
#include "plan/config.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "data/transform.h"
#include "model/model.h"
#include "op/update/all_reduce.h"
#include "optim/optim.h"
#include "optim/schedule.h"
#include "plan/sums/buckets.h"
#include "plan/sums/micro_tree.h"
#include "plan/physics/physics.h"
#include "plan/physics/physics_objectives.h"
#include "plan/physics/physics_variables.h"
#include "report/progress.h"

const char *const device_names[] = { "auto", "cuda", "cpu", "reference", NULL };
static const char *const precision_names[] = { "f32", "bf16", "fp16", "f64", "auto", NULL };
static const enum dtype precision_types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_F64 };
#define PRECISION_AUTO ((int)(sizeof precision_types / sizeof *precision_types))

static const struct field run_fields[] = {
	FIELD_STRING(struct run_section, name, "run",
	             "name of the run: one folder, with no '/' and no '.' in front"),
	FIELD_PATH(struct run_section, dir, NULL, "folder of the run's results; default: runs/NAME"),
	FIELD_INT(struct run_section, seed, "1", 0, 9007199254740991.0,
	          "seed of everything random: initial weights, order of samples, transforms, dropout"),
	FIELD_END
};

static const struct field target_fields[] = {
	FIELD_STRING(struct target_section, metric, NULL, "metric to watch; one of 'metrics', or loss"),
	FIELD(struct target_section, at_least, FT_FLOAT, .dflt = "null", .min = -INFINITY,
	      .max = INFINITY,
	      .flags = FIELD_NULLABLE, .doc = "stop when the metric has reached this value"),
	FIELD(struct target_section, at_most, FT_FLOAT, .dflt = "null", .min = -INFINITY,
	      .max = INFINITY,
	      .flags = FIELD_NULLABLE, .doc = "stop when the metric has come down to this value"),
	FIELD_END
};

static const struct field validate_fields[] = {
	FIELD_INT(struct validate_section, epochs, "1", 0, 1e9,
	          "validate after this many epochs; 0: never by epochs"),
	FIELD_INT(struct validate_section, steps, "0", 0, 1e15,
	          "validate after this many steps; 0: never by steps"),
	FIELD_INT(struct validate_section, realizations, "1000", 2, 1e9,
	          "realizations of networks of noise, to compare with those of 'data.validation'"),
	FIELD_END
};

static const struct field memory_fields[] = {
	FIELD(struct memory_section, limit, FT_BYTES, .dflt = "null", .min = 1, .max = 0x1p62,
	      .flags = FIELD_NULLABLE,
	      .doc = "memory limit of a step, parameters and optimizer included; activations are "
	      "recomputed to respect it; "
	             "null: what the machine has; see MEMORY"),
	FIELD(struct memory_section, aside, FT_BYTES, .dflt = "null", .min = 0, .max = 0x1p62,
	      .flags = FIELD_NULLABLE,
	      .doc = "GPU memory in reserve for the GPU's libraries and other programs; null: "
	      "256MiB, with several ranks 1GiB"),
	FIELD_END
};

static const char *const nonfinite_names[] = { "stop", "skip", NULL };

static const struct field outliers_fields[] = {
	FIELD(struct outliers_section, loss, FT_FLOAT, .dflt = "null", .min = 1e-3, .max = 1e6,
	      .flags = FIELD_NULLABLE,
	      .doc = "largest z-score of the loss that a step is made with; null: any"),
	FIELD(struct outliers_section, gradient, FT_FLOAT, .dflt = "null", .min = 1e-3, .max = 1e6,
	      .flags = FIELD_NULLABLE,
	      .doc = "the same of the norm of all gradients together, before clip_norm"),
	FIELD_INT(struct outliers_section, window, "128", 2, 65536,
	          "accepted steps whose mean and standard deviation the z-score is taken by"),
	FIELD_END
};

static const struct field train_fields[] = {
	FIELD_INT(struct train_section, epochs, "0", 0, 1e9,
	          "passes over the training data; this or 'steps' is needed to train"),
	FIELD_INT(struct train_section, steps, "0", 0, 1e15,
	          "updates to make; with 'epochs' too, whichever ends first"),
	FIELD(struct train_section, batch_size, FT_INT, .dflt = "null", .min = 1, .max = 1 << 24,
	      .flags = FIELD_NULLABLE,
	      .doc = "samples in a (micro-)batch of one rank, as many of any size; null: 1, or this "
	      "rank's share of global_batch_size"),
	FIELD(struct train_section, global_batch_size, FT_INT, .dflt = "null", .min = 1,
	      .max = (double)(1LL << 40), .flags = FIELD_NULLABLE,
	      .doc = "instead of batch_size: samples in a (micro-)batch of all ranks together, a "
	      "multiple of the number of ranks"),
	FIELD_INT(struct train_section, accumulate, "1", 1, 1 << 24,
	          "micro-batches whose gradients are averaged for one update"),
	FIELD(struct train_section, clip_norm, FT_FLOAT, .dflt = "null", .min = 1e-30, .max = 1e30,
	      .flags = FIELD_NULLABLE,
	      .doc = "largest Euclidean norm of all gradients together; larger "
	      "ones are scaled down to it"),
	FIELD_ENUM(struct train_section, on_nonfinite, "stop", nonfinite_names,
	           "a loss or gradient that is not finite: stop, and say where it comes from; or skip, "
	           "go on without that step; see STEPS THAT ARE LEFT OUT"),
	FIELD_SECTION(struct train_section, skip_outliers, outliers_fields,
	              "leave out steps whose loss or gradient is far above the last ones'"),
	FIELD_SECTION(struct train_section, validate, validate_fields,
	              "when to evaluate on data.validation"),
	FIELD_SECTION(struct train_section, target, target_fields,
	              "stop early when a validation metric is good enough"),
	FIELD(struct train_section, patience, FT_INT, .dflt = "null", .min = 1, .max = 1e9,
	      .flags = FIELD_NULLABLE,
	      .doc = "stop after this many validations in a row without one better than all before, by "
	      "checkpoint.metric; null: do not"),
	FIELD_SECTION(struct train_section, memory, memory_fields, "limits on the memory of a step"),
	FIELD_END
};

static const struct field precision_fields[] = {
	FIELD_ENUM(struct precision_section, compute, "f32", precision_names,
	           "element type of activations, their gradients and matrix products; weights, sums, "
	           "statistics, losses and updates are f32; bf16 on a GPU takes an A100 or newer; "
	           "f64: all of these in float64, on a CPU, for dense networks; "
	           "auto: the faster one of f32 and bf16; see PRECISION"),
	FIELD_BOOL(struct precision_section, allow_emulation, "false",
	           "also compute in a type that the CPU has no instructions for: slower "
	           "than f32, for comparisons"),
	FIELD_BOOL(struct precision_section, winograd, "true",
	           "use Winograd convolution for 3x3 and 5x5 kernels where it is estimated to "
	           "be faster; see PRECISION"),
	FIELD_BOOL(struct precision_section, tf32, "false",
	           "let a GPU round the operands of f32 products to TF32, 10 bits of "
	           "fraction: several times faster"),
	FIELD_BOOL(struct precision_section, deterministic, "true",
	           "use only engines of a GPU's libraries that give the same bits "
	           "each time; CPUs always do"),
	FIELD_VARIANT(struct precision_section, loss_scale, "none", loss_scale_variants,
	              "loss scaling, which keeps small gradients from vanishing in 16 bits; a step "
	              "that overflows is skipped"),
	FIELD_ENUM(struct precision_section, wire, "f32", all_reduce_wires,
	           "element type in which gradients are sent between ranks; they "
	           "are summed and kept in f32"),
	FIELD_END
};

static const struct field parallel_fields[] = {
	FIELD_STRING(struct parallel_section, grouping, "auto",
	             "buckets in which gradients are all-reduced: auto: computed from when each "
	             "gradient is ready and what "
	             "messages cost; none: each gradient alone; size:BYTES as in size:25MiB; count:N "
	             "buckets of about one size"),
	FIELD_INT(struct parallel_section, gradient_lag, "0", 0, 1,
	          "1: updates use the gradients of the step before, so their all-reduce may "
	          "take a whole step; see RANKS"),
	FIELD(struct parallel_section, timeout, FT_SECONDS, .dflt = "10m", .min = 0.1, .max = 1e7,
	      .doc = "how long a rank waits for others before the run is ended with a report"),
	FIELD_BOOL(struct parallel_section, average_statistics, "false",
	           "use the mean of all ranks' running statistics of batch normalisation in "
	           "validations and checkpoints (one more, as that of a run that is stopped, "
	           "changes their last bits); false: rank 0's"),
	FIELD_NODE(struct parallel_section, sync_batch_norm, "false",
	           "ranks whose batches batch normalisation computes its statistics over: false: each "
	           "rank its own; true: all "
	           "ranks; N: each N neighbouring ranks; see RANKS"),
	FIELD(struct parallel_section, spatial, FT_NODE, .dflt = "null", .flags = FIELD_NULLABLE,
	      .doc = "subdomains along each spatial axis into which each sample is cut, as in "
	             "[4, 1, 1]; each is computed by a rank of its own; auto: the smallest cut that "
	             "fits in memory; null: each rank has whole samples; see dlx-train(1), SPATIAL "
	             "PARTITION"),
	FIELD_BOOL(struct parallel_section, reproducible, "false",
	           "the same bits for one global batch on 1, 2, 4, ... ranks; see REPRODUCIBLE RUNS"),
	FIELD_END
};

static const struct field report_fields[] = {
	FIELD_ENUM(struct report_section, progress, "auto", progress_names,
	           "bar: one live line; lines: a line now and then, for batch logs; none; auto: bar "
	           "on a terminal, else lines"),
	FIELD_INT(struct report_section, every, "10", 1, 1e9,
	          "steps between 'step' lines in metrics.jsonl"),
	FIELD_BOOL(struct report_section, tensorboard, "true", "also write a TensorBoard event file"),
	FIELD_FLOAT(struct report_section, one_rank, "0", 0, 1e15,
	            "samples/s of one rank alone with this batch_size, as --bench prints it: the base "
	            "of efficiency; 0: the ranks' own work"),
	FIELD_END
};

const struct field config_fields[] = {
	FIELD_SECTION(struct run_config, run, run_fields, "the run and where its results go"),
	FIELD_ENUM(struct run_config, device, "auto", device_names,
	           "where to compute; cuda never falls back"),
	FIELD_VARIANT(struct run_config, model, "", model_variants, "the network"),
	FIELD_SECTION(struct run_config, data, data_fields,
	              "record files and what happens to samples on the way"),
	FIELD_VARIANT(struct run_config, loss, "", loss_variants, "what training minimises"),
	FIELD_STRINGS(struct run_config, metrics, NULL,
	              "what validation reports: accuracy, top_K, iou, precision, recall, f1, dice, "
	              "mean_iou, mean_precision, mean_recall, mean_f1, mean_dice, mean_iou_per_sample, "
	              "confusion of classes; mae, mse, rmse, r2, mae_by_output, rmse_by_output, "
	              "r2_by_output of fields; see METRICS"),
	FIELD_NAMED(struct run_config, points, NULL, points_fields,
	            "named sets of points on which equations hold; see dlx-physics(7)"),
	FIELD_NAMED(struct run_config, variables, NULL, variable_fields,
	            "unknown numbers of equations; see dlx-physics(7)"),
	FIELD_NAMED(struct run_config, objective, NULL, objective_fields,
	            "what networks of equations minimise, in place of 'loss' and 'data.train'; see "
	            "dlx-physics(7)"),
	FIELD_VARIANT(struct run_config, optimizer, "sgd", optimizer_variants,
	              "how gradients change the weights"),
	FIELD_VARIANT(struct run_config, schedule, "constant", schedule_variants,
	              "the learning rate as a function of the step"),
	FIELD_SECTION(struct run_config, precision, precision_fields, "number formats"),
	FIELD_SECTION(struct run_config, parallel, parallel_fields, "training on several ranks"),
	FIELD_SECTION(struct run_config, train, train_fields, "the training loop"),
	FIELD_SECTION(struct run_config, checkpoint, ckpt_fields, "when and what to save"),
	FIELD_SECTION(struct run_config, report, report_fields, "progress, metrics and pictures"),
	FIELD_END
};

enum dtype config_compute(const struct run_config *c)
{
	return config_computes_auto(c) ? c->chosen.type : precision_types[c->precision.compute];
}

bool config_computes_auto(const struct run_config *c)
{
	return c->precision.compute == PRECISION_AUTO;
}

int config_compute_index(enum dtype t)
{
	int i = 0;
	while (precision_types[i] != t)
		i++;
	return i;
}

const struct loc *config_place(const struct run_config *c, const char *section, const char *key)
{
	const struct ypair *p = ytree_pair(c->tree, section);
	if (!p)
		return &c->tree->loc;
	const struct ypair *q = key && p->value->kind == Y_MAP ? ytree_pair(p->value, key) : NULL;
	return q ? &q->value->loc : &p->key_loc;
}

int config_share_batch(struct run_config *c, int ranks)
{
	int64_t all = c->train.global_batch_size, next = all + ranks - all % ranks;
	if (c->parallel.reproducible)
		return micro_tree_share(c, ranks);
	if (all == 0)
		return 0;
	if (all % ranks)
		return ERR(E_CONFIG, config_place(c, "train", "global_batch_size"),
		           "a global batch of %lld samples cannot be shared evenly by %d ranks; the next "
		           "larger one that can has %lld", (long long)all, ranks, (long long)next);
	if (all / ranks > 1 << 24)
		return ERR(E_CONFIG, config_place(c, "train", "global_batch_size"),
		           "each of %d ranks would have a batch of %lld samples; expected at most %d",
		           ranks, (long long)(all / ranks), 1 << 24);
	c->train.batch_size = all / ranks;
	return 0;
}

int64_t config_rank_batch(const struct run_config *c)
{
	return c->micros.all ? c->train.batch_size * c->micros.each : c->train.batch_size;
}

int64_t config_step_batches(const struct run_config *c)
{
	return c->micros.all ? 1 : c->train.accumulate;
}

bool config_skips_outliers(const struct run_config *c)
{
	return !isnan(c->train.skip_outliers.loss) || !isnan(c->train.skip_outliers.gradient);
}

int config_check_length(const struct run_config *c)
{
	if (c->train.epochs || c->train.steps)
		return 0;
	return ERR(E_CONFIG, config_place(c, "train", NULL),
	           "nothing says how long to train; give 'train.epochs' or 'train.steps'");
}

void config_free(struct run_config *c)
{
	if (c)
		arena_free(c->arena);
}
