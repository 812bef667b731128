/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The root of the schema tables, and the checks that span sections. */
#include "plan/config.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/shown.h"
#include "data/sources.h"
#include "data/target_transforms.h"
#include "data/transform.h"
#include "model/model.h"
#include "op/update/all_reduce.h"
#include "optim/optim.h"
#include "optim/schedule.h"
#include "plan/buckets.h"
#include "plan/micro_tree.h"
#include "plan/sync_group.h"
#include "report/progress.h"
#include "yaml/schema_where.h"

/* file systems take 255, and what is made in there has names too */
#define MAX_NAME 200

const char *const device_names[] = { "auto", "cuda", "cpu", "reference", NULL };
static const char *const precision_names[] = { "f32", "bf16", "fp16", "auto", NULL };
static const enum dtype precision_types[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
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
	          "validate after every so many epochs; 0: never by epochs"),
	FIELD_INT(struct validate_section, steps, "0", 0, 1e15,
	          "validate after every so many steps; 0: never by steps"),
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
	      .doc = "stop after so many validations in a row without one better than all before, by "
	      "checkpoint.metric; null: do not"),
	FIELD_SECTION(struct train_section, memory, memory_fields, "limits on the memory of a step"),
	FIELD_END
};

static const struct field precision_fields[] = {
	FIELD_ENUM(struct precision_section, compute, "f32", precision_names,
	           "element type of activations, their gradients and matrix products; weights, sums, "
	           "statistics, losses and updates are f32; bf16 on a GPU takes an A100 or newer; "
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

static bool listed(const char *name, const char *const *v, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(v[i], name) == 0)
			return true;
	return false;
}

static int check_metrics(const struct run_config *c)
{
	const struct model_common *m = c->model.data;
	return metrics_check(&c->metrics, loss_target(&c->loss), m ? m->classes : 0);
}

/* A metric with one value, and the limit on the side it moves to. */
static int check_target_metric(const struct target_section *t, const struct loc *loc)
{
	bool falls = !metric_rises(t->metric);
	TRY(metric_check_number(t->metric, loc));
	if (falls == isnan(t->at_most))
		return ERR(E_CONFIG, loc, "target metric '%s' %s as a network gets better; give '%s'",
		           t->metric, falls ? "falls" : "rises", falls ? "at_most" : "at_least");
	return 0;
}

static int check_target(const struct run_config *c)
{
	const struct target_section *t = &c->train.target;
	const struct loc *loc = config_place(c, "train", "target");
	bool least = !isnan(t->at_least), most = !isnan(t->at_most);
	if (!t->metric && !least && !most)
		return 0;
	if (!t->metric)
		return ERR(E_CONFIG, loc, "'target' needs 'metric'");
	if (least == most)
		return ERR(E_CONFIG, loc, "'target' needs one of 'at_least' and 'at_most'");
	if (strcmp(t->metric, "loss") == 0 || listed(t->metric, c->metrics.v, c->metrics.n))
		return check_target_metric(t, loc);
	return ERR(E_CONFIG, loc, "target metric '%s' is not among 'metrics'", t->metric);
}

/* What needs validations, and what they are compared by. */
static int check_watch(const struct run_config *c)
{
	const char *metric = c->checkpoint.metric;
	const struct validate_section *v = &c->train.validate;
	bool plateau = c->schedule.v && c->schedule.data && schedule_watches(&c->schedule);
	const char *what = c->train.patience > 0 ? "'patience' counts validations" :
		plateau ? "the schedule 'plateau' goes by validations" : NULL;
	const struct loc *loc = c->train.patience > 0 ? config_place(c, "train", "patience") :
	                        &c->schedule.loc;
	if (metric)
		TRY(metric_check_number(metric, config_place(c, "checkpoint", "metric")));
	if (metric && strcmp(metric, "loss") != 0 && !listed(metric, c->metrics.v, c->metrics.n))
		return ERR(E_CONFIG, config_place(c, "checkpoint", "metric"),
		           "metric '%s' is not among 'metrics'%s", metric,
		           strncmp(metric, "val_", 4) ? "" :
		           "; those of validations have no 'val_' in front");
	if (what && c->data.validation.n == 0)
		return ERR(E_CONFIG, loc, "%s, but 'data.validation' is not given; "
		           "dlx-convert --split sets a part of the samples aside for it", what);
	if (what && v->epochs == 0 && v->steps == 0)
		return ERR(E_CONFIG, loc, "%s, but 'train.validate' asks for none", what);
	return 0;
}

/* What the config.yaml of a run without staging has. */
static bool stage_is_default(const struct staging_config *s)
{
	return s->copy == 0 && s->limit == INT64_MIN;
}

/* A word in the place of a folder, and keys without one. */
static int check_stage(const struct run_config *c)
{
	const struct ypair *p = ytree_pair(c->tree, "data");
	const struct ypair *q = p && p->value->kind == Y_MAP ? ytree_pair(p->value, "stage") : NULL;
	const struct ynode *stage = q ? q->value : NULL;
	if (stage && stage->kind == Y_MAP && stage->n > 0 && !ytree_pair(stage, "dir") &&
	    !stage_is_default(&c->data.stage))
		return ERR(E_CONFIG, &stage->loc, "'stage' needs 'dir', a folder on each host's own disk, "
		           "such as $TMPDIR");
	if (c->data.stage.dir && strcmp(c->data.stage.dir, "true") == 0)
		return ERR(E_CONFIG, config_place(c, "data", "stage"), "'stage' is false or says where: "
		           "{dir: $TMPDIR}");
	return 0;
}

/* The name is one folder below runs/: nothing in it may lead elsewhere or hide. */
static int check_name(const struct run_config *c)
{
	const char *name = c->run.name;
	const struct loc *loc = config_place(c, "run", "name");
	if (!*name)
		return ERR(E_CONFIG, loc, "the run's name is empty");
	if (*name == '.' || strchr(name, '/'))
		return ERR(E_CONFIG, loc, "'%s' cannot be the name of a run: it is a folder below 'runs', "
		           "without '/' and with no '.' in front; 'run.dir' takes any path", name);
	if (shown(name) != name)
		return ERR(E_CONFIG, loc, "'%s' cannot be the name of a run: it has "
		           "characters that are not visible", name);
	if (strlen(name) > MAX_NAME)
		return ERR(E_CONFIG, loc, "the run's name has %zu bytes; expected at most %d", strlen(name),
		           MAX_NAME);
	return 0;
}

/* The mistakes that the table does not see. */
static int check_train_data(const struct run_config *c)
{
	enum data_shuffle shuffle;
	TRY(sources_check(&c->data.train));
	TRY(shuffle_parse(c->data.shuffle, &shuffle));
	if (shuffle == SHUFFLE_WITHIN_HOST && c->parallel.reproducible)
		return ERR(E_CONFIG, &c->data.shuffle->loc, "with 'parallel.reproducible' the order of "
		           "samples is the same on any number of hosts; 'shuffle: {within: host}' depends "
		           "on it");
	const struct ypair *data = ytree_pair(c->tree, "data");
	const struct ypair *train = data && data->value->kind == Y_MAP ?
	                            ytree_pair(data->value, "train") : NULL;
	if (!train || train->value->kind != Y_SEQ || train->value->n > 0)
		return 0;
	return ERR(E_CONFIG, &train->value->loc, "'train' is empty; expected at least one file");
}

static int check_schedule(const struct run_config *c)
{
	TRY(schedule_check(&c->schedule));
	return schedule_check_over(&c->schedule, 0, config_place(c, "schedule", "over"));
}

static int check_batch(const struct run_config *c)
{
	if (c->parallel.reproducible)
		return micro_tree_check(c);
	if (c->train.batch_size <= 0 || c->train.global_batch_size <= 0)
		return 0;
	return ERR(E_CONFIG, config_place(c, "train", "global_batch_size"),
	           "'batch_size' of one rank and 'global_batch_size' of all of them: give one");
}

static int check_guard(const struct run_config *c)
{
	const bool outliers = config_skips_outliers(c);
	if (!c->parallel.gradient_lag || (!outliers && c->train.on_nonfinite != NONFINITE_SKIP))
		return 0;
	return ERR(E_CONFIG, config_place(c, "train", outliers ? "skip_outliers" : "on_nonfinite"),
	           "'%s' leaves out steps by their own loss and gradient, and with "
	           "'parallel.gradient_lag' the gradient is that of the step before; choose one",
	           outliers ? "skip_outliers" : "on_nonfinite: skip");
}

/* What is planned without data must fit it. */
static int check_channels(const struct run_config *c, const struct ynode *list)
{
	const struct model_common *m = c->model.data;
	struct loc loc;
	int64_t kept = transform_channels(c->arena, list, &loc);
	if (kept == 0 || m->input.channels == 0 || m->input.channels == kept)
		return 0;
	return ERR(E_CONFIG, &loc, "the transforms leave %lld channels, but 'model.input' has %lld",
	           (long long)kept, (long long)m->input.channels);
}

/* The loss would look for a stored value among scaled ones. */
static int check_target_mask(const struct run_config *c)
{
	double value;
	if (!loss_mask(&c->loss, &value) || isnan(value))
		return 0;
	return ERR(E_CONFIG, &c->data.target_transforms->loc, "'data.target_transforms' scale the "
	           "value %g that loss.mask leaves out, too; convert the data with --fill nan and "
	           "set 'mask: nan'", value);
}

/* Labels and flags are no quantities. */
static int check_target_transforms(const struct run_config *c)
{
	int n;
	TRY(target_transforms_check(c->arena, c->data.target_transforms, &n));
	if (n == 0 || !c->loss.v || !c->loss.data)
		return 0;
	if (loss_target(&c->loss) == TARGET_VALUES)
		return check_target_mask(c);
	return ERR(E_CONFIG, &c->data.target_transforms->loc, "'data.target_transforms' scale targets "
	           "that are quantities, but the loss '%s' compares with classes", c->loss.v->name);
}

static int check_statistics(const struct run_config *c)
{
	const struct model_common *m = c->model.data;
	const int of = c->data.statistics;
	if (of != STATISTICS_INIT_FROM && of != STATISTICS_INIT_FROM_INPUTS)
		return 0;
	if (m->init_from.file)
		return 0;
	return ERR(E_CONFIG, config_place(c, "data", "statistics"), "'data.statistics' are those of "
	           "'model.init_from', which names no file");
}

static void keep_first(int *rc, int one)
{
	if (*rc == 0)
		*rc = one;
}

/* Checks every part that was read without a mistake, so that all mistakes are reported at once. */
static int check(const struct run_config *c)
{
	int rc = check_target(c);
	keep_first(&rc, check_watch(c));
	keep_first(&rc, check_stage(c));
	const struct data_config *d = &c->data;
	int transforms = transform_check(c->arena, d->transforms, "transforms", false);
	keep_first(&transforms, transform_check(c->arena, d->validation_transforms,
	                                        "validation_transforms", true));
	if (c->run.name)
		keep_first(&rc, check_name(c));
	keep_first(&rc, transforms);
	keep_first(&rc, check_target_transforms(c));
	if (c->model.v && c->model.data) {
		keep_first(&rc, model_check(c->arena, &c->model));
		keep_first(&rc, transforms == 0 ? check_channels(c, d->transforms) : 0);
		keep_first(&rc, transforms == 0 ? check_channels(c, d->validation_transforms) : 0);
		keep_first(&rc, check_statistics(c));
	}
	if (c->loss.v && c->loss.data) {
		keep_first(&rc, loss_check(&c->loss));
		keep_first(&rc, check_metrics(c));
	}
	if (c->optimizer.v && c->optimizer.data)
		keep_first(&rc, optim_check(&c->optimizer));
	if (c->schedule.v && c->schedule.data)
		keep_first(&rc, check_schedule(c));
	if (c->precision.loss_scale.v && c->precision.loss_scale.data)
		keep_first(&rc, loss_scaling_check(&c->precision.loss_scale));
	struct grouping unused;
	if (c->parallel.grouping)
		keep_first(&rc, grouping_parse(c->parallel.grouping,
		                               config_place(c, "parallel", "grouping"), &unused));
	int group;
	if (c->parallel.sync_batch_norm)
		keep_first(&rc, sync_group_parse(c->parallel.sync_batch_norm, &group));
	keep_first(&rc, check_train_data(c));
	keep_first(&rc, check_batch(c));
	keep_first(&rc, check_guard(c));
	return rc;
}

void config_set_objective(struct run_config *c)
{
	struct objective *o = ARENA_NEW(c->arena, struct objective);
	*o = (struct objective){ .name = "train", .times = 1, .loss = &c->loss,
		.optimizer = &c->optimizer, .schedule = &c->schedule, .metrics = &c->metrics };
	c->objectives = (struct objectives){ o, 1 };
}

int config_load(struct run_config **out, const char *path, int nset, const char *const *set)
{
	struct arena *a = arena_new();
	struct run_config *c = ARENA_NEW(a, struct run_config);
	c->arena = a;
	c->file = str_intern(path);
	int rc = ytree_load(a, path, &c->tree);
	if (rc == 0 && nset == 0 && c->tree->kind == Y_NULL) {
		rc = ERR(E_CONFIG, &c->tree->loc, "the config is empty; 'dlx-train --help-config' lists "
		         "what it takes");
		config_free(c);
		return rc;
	}
	for (int i = 0; i < nset && c->tree; i++)
		keep_first(&rc, ytree_set(a, c->tree, set[i]));
	schema_where_root(config_fields);
	if (c->tree) {
		keep_first(&rc, schema_read(a, c->tree, config_fields, "the config", &c->tree->loc, c));
		keep_first(&rc, check(c));
	}
	if (rc < 0) {
		config_free(c);
		return rc;
	}
	if (c->train.global_batch_size < 0)
		c->train.global_batch_size = 0;
	if (c->train.batch_size < 0)
		c->train.batch_size = 1;
	if (!c->run.dir)
		c->run.dir = arena_printf(a, "runs/%s", c->run.name);
	config_set_objective(c);
	const struct model_common *m = c->model.data;
	io_input(path);
	if (m->init_from.file)
		io_input(m->init_from.file);
	*out = c;
	return 0;
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

struct ynode *config_effective(const struct run_config *c, struct arena *a)
{
	struct run_config written = *c;
	if (c->train.global_batch_size && !c->parallel.reproducible)
		written.train.batch_size = INT64_MIN;
	if (!c->train.global_batch_size)
		written.train.global_batch_size = INT64_MIN;
	return schema_write(a, config_fields, &written);
}
