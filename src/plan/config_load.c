/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading a config, and the checks that span sections. */
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
#include "plan/sums/buckets.h"
#include "plan/sums/micro_tree.h"
#include "plan/physics/physics.h"
#include "plan/spatial/spatial.h"
#include "plan/sums/sync_group.h"
#include "report/progress.h"
#include "yaml/schema_where.h"

/* file systems take 255, and what is made in there has names too */
#define MAX_NAME 200

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

static int check_compare(const struct run_config *c)
{
	const struct ynode *compare = c->data.compare;
	if (!compare)
		return 0;
	if (!c->objective)
		return ERR(E_CONFIG, &compare->loc, "'compare' is for the networks of 'objective'; others "
		           "are compared with the targets of 'validation'");
	if (compare->kind != Y_MAP || compare->n == 0)
		return ERR(E_CONFIG, &compare->loc, "'compare' must be a map of networks to arrays of "
		           "'validation', such as {decoder: image}");
	if (c->data.validation.n == 0)
		return ERR(E_CONFIG, &compare->loc, "'compare' is with arrays of 'data.validation', which "
		           "is not given");
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

/* In float64 there is no other type. */
static int check_wire(const struct run_config *c)
{
	const int wire = c->precision.wire;
	if (wire == 0 || config_computes_auto(c) || config_compute(c) != DTYPE_F64)
		return 0;
	return ERR(E_CONFIG, config_place(c, "precision", "wire"), "'wire: %s' with 'compute: f64', "
	           "where gradients are sent and summed in f64; choose one", all_reduce_wires[wire]);
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
		keep_first(&rc, c->objective ? physics_check_metrics(c) : check_metrics(c));
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
	keep_first(&rc, spatial_check(c));
	keep_first(&rc, check_train_data(c));
	keep_first(&rc, check_compare(c));
	keep_first(&rc, check_batch(c));
	keep_first(&rc, check_guard(c));
	keep_first(&rc, check_wire(c));
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
	return config_load_with(out, path, nset, set, NULL, 0);
}

int config_load_with(struct run_config **out, const char *path, int nset, const char *const *set,
                     const struct config_setting *more, int n)
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
	for (int i = 0; i < n && c->tree; i++)
		keep_first(&rc, ytree_put(a, c->tree, more[i].key, &more[i].loc, more[i].value));
	schema_where_root(config_fields);
	if (c->tree) {
		keep_first(&rc, schema_read(a, c->tree, physics_fields(a, c->tree), "the config",
		                            &c->tree->loc, c));
		keep_first(&rc, check(c));
		if (rc == 0 && (c->objective || strcmp(c->model.v->name, "networks") == 0))
			rc = physics_read(c);
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
	if (!c->objective)
		config_set_objective(c);
	const struct model_common *m = c->model.data;
	io_input(path);
	if (m->init_from.file)
		io_input(m->init_from.file);
	for (int i = 0; c->physics && i < c->physics->net.n; i++)
		if (c->physics->net.v[i].c.init_from.from.file)
			io_input(c->physics->net.v[i].c.init_from.from.file);
	*out = c;
	return 0;
}

struct ynode *config_effective(const struct run_config *c, struct arena *a)
{
	struct run_config written = *c;
	if (c->train.global_batch_size && !c->parallel.reproducible)
		written.train.batch_size = INT64_MIN;
	if (!c->train.global_batch_size)
		written.train.global_batch_size = INT64_MIN;
	struct ynode *tree = schema_write(a, config_fields, &written);
	if (c->physics)
		physics_leave_out(tree);
	return tree;
}
