/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening and closing a run. Order: data headers say the shapes, plans follow from them, then
 * memory. */
#include "train/opening.h"

#include <string.h>

#include "base/err.h"
#include "base/fault.h"
#include "base/host.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "data/labels_stored.h"
#include "data/transform.h"
#include "model/model.h"
#include "plan/micro_tree.h"
#include "plan/reduction.h"
#include "plan/memory_budget.h"
#include "plan/stored_batch.h"
#include "plan/sync_reducer.h"
#include "plan/sync_group.h"
#include "plan/tile_size.h"
#include "plan/whole.h"
#include "train/account.h"
#include "train/engines.h"
#include "train/deferred_plans.h"
#include "train/ranks.h"
#include "train/trained_on.h"

/* With SESSION_NO_DATA: data that is not there is done
 * without if the config says what it would be. */
static bool plan_without_data(const struct session *s, const struct session_options *o, int rc)
{
	const struct model_common *m = s->config->model.data;
	return rc == E_NOINPUT && (o->need & SESSION_NO_DATA) && m->input.channels && m->input.size.n &&
	       m->classes;
}

/* Synthetic data takes its shape from the config alone. */
static int check_declared(const struct session *s)
{
	const struct model_common *m = s->config->model.data;
	if (m->input.channels && m->input.size.n && m->classes)
		return 0;
	return ERR(E_CONFIG, &s->config->model.loc, "'--synthetic' makes data as the config declares "
	           "it: 'model.input' with channels and size, and 'model.classes'");
}

static int open_train_set(struct session *s, const struct session_options *o)
{
	if (o->need & SESSION_SYNTHETIC)
		return check_declared(s);
	if (s->train_set)                      /* as kept with the weights */
		return 0;
	int mark = err_count(), rc = dataset_open(&s->train_set, &s->config->data.train);
	if (rc == E_NOINPUT && !(o->need & (SESSION_TRAIN | SESSION_NO_DATA))) {
		err_truncate(mark);
		note("'data.train' is not there either: no statistics are known");
		return 0;
	}
	if (!plan_without_data(s, o, rc))
		return rc;
	err_truncate(mark);
	note("planning without data, for the 'model.input' of the config");
	return 0;
}

/* Whether a set is read that is not trained on. An export reads none. */
static bool second_wanted(const struct session *s, const struct session_options *o)
{
	if (!(o->need & SESSION_NO_DATA))
		return true;
	return (o->need & SESSION_TRAIN) && s->train_set;
}

static int no_target(const struct strings *paths)
{
	return ERR(E_DATA, &paths->loc[0], "'%s' has no target: it can only be predicted from",
	           paths->v[0]);
}

static int open_data(struct session *s, const struct session_options *o)
{
	const struct data_config *d = &s->config->data;
	struct loc loc = { 0 };
	struct strings given = { .n = o->data != NULL, .v = &o->data, .loc = &loc };
	const struct strings *second = o->data ? &given : &d->validation;
	TRY(open_train_set(s, o));
	if (s->train_set && !dataset_info(s->train_set)->has_target)
		return no_target(&d->train);
	if (!second_wanted(s, o) || !second->n)
		return 0;
	TRY(dataset_open(&s->validation_set, second));
	if (dataset_info(s->validation_set)->has_target || o->need & SESSION_PREDICT)
		return 0;
	return no_target(second);
}

const struct dataset_info *session_data(const struct session *s)
{
	return dataset_info(s->train_set ? s->train_set : s->validation_set);
}

/* In tiles every rank reads all samples, one at a time and as the network gets them. */
static void read_all(struct loader_options *o)
{
	o->batch_size = o->ranks = 1;
	o->rank = 0;
	o->stored_input = false;
}

static int open_loader(struct session *s, struct loader **out, struct dataset *set, bool training,
                       bool predict, bool tiled)
{
	/* A prediction does not need the target. */
	bool labels = loss_wants_labels(&s->config->loss) &&
	              !(predict && dtype_is_float(dataset_info(set)->target_dtype));
	const struct model_common *m = s->config->model.data;
	const struct dataset_info *known = session_data(s);
	/* A dump is of what the network reads. */
	bool stored = stored_batch_wanted(s->dev) && !(s->need & SESSION_DUMP);
	struct loader_options o = { .config = &s->config->data, .training = training,
		.stored_input = stored,
		.stored_target = stored && !predict,
		.seed = (uint64_t)s->config->run.seed,
		.batch_size = predict ? s->config->train.batch_size : config_rank_batch(s->config),
		.rank = micro_tree_place(s->config, s->dev, s->comm), .ranks = comm_count(s->comm),
		.leaf = s->config->leaves.all && !predict ? s->config->train.batch_size : 0,
		.like = !training && s->data.input.nd ? &s->data.input : NULL,
		.processors = host_processors(), .statistics = s->train_set, .no_statistics = !s->train_set,
		.target_dtype = labels ? DTYPE_I32 : DTYPE_F32,
		.classes = !labels || predict ? 0 : m->classes ? m->classes : known->nclasses,
		.ignore = loss_ignore(&s->config->loss, known->target_ignore) };
	if (tiled)
		read_all(&o);
	return loader_new(out, set, &o);
}

static void take_shapes(struct session *s, const struct loader *l)
{
	s->data.input = *loader_input_shape(l);
	s->data.target = *loader_target_shape(l);
}

/* The shapes of a training sample, also where there is none. */
static int learn_shapes(struct session *s)
{
	const struct transform_options o = { .data = s->train_set, .list = s->config->data.transforms,
		.training = true,
		.target_dtype = loss_wants_labels(&s->config->loss) ? DTYPE_I32 : DTYPE_F32 };
	struct transform_chain *chain;

	if (s->train) {
		take_shapes(s, s->train);
	} else if (s->train_set) {
		TRY(transform_chain_new(&chain, &o));
		s->data.input = *transform_input_shape(chain);
		s->data.target = *transform_target_shape(chain);
		transform_chain_free(chain);
	}
	return 0;
}

/* Samples of another size are seen whole (plan/whole.h), but they are otherwise alike. */
static bool alike(const struct shape *a, const struct shape *b)
{
	return a->nd < 2 ? shape_equal(a, b) : a->nd == b->nd && a->d[0] == b->d[0];
}

static int check_second_set(const struct session *s, const struct session_options *o)
{
	char have[2][SHAPE_TEXT], want[2][SHAPE_TEXT];
	const struct shape *x = loader_input_shape(s->validation),
	                   *y = loader_target_shape(s->validation);
	const struct shape *train_x = &s->data.input, *train_y = &s->data.target;
	if (alike(x, train_x) &&
	    (o->need & SESSION_PREDICT ||
	     (shape_equal(x, train_x) ? shape_equal(y, train_y) : y->nd == train_y->nd)))
		return 0;
	return ERR(E_DATA, o->data ? NULL : &s->config->data.validation.loc[0],
	           "'%s' does not fit the training data: after the transforms its inputs are %s and "
	           "its targets %s, not %s and %s", o->data ? o->data : s->config->data.validation.v[0],
	           shape_text(x, have[0]), shape_text(y, have[1]), shape_text(train_x, want[0]),
	           shape_text(train_y, want[1]));
}

/* `model.input`, where given, must say what the data says. */
static int check_input(const struct session *s)
{
	const struct model_common *m = s->config->model.data;
	const struct shape *x = &s->data.input;
	char text[SHAPE_TEXT];
	bool fits = m->input.channels == 0 || m->input.channels == x->d[0];
	if (m->input.size.n) {
		fits = fits && m->input.size.n == x->nd - 1;
		for (int i = 0; fits && i < m->input.size.n; i++)
			fits = m->input.size.v[i] == x->d[i + 1];
	}
	if (fits)
		return 0;
	return ERR(E_SHAPE, &s->config->model.loc, "'model.input' does not fit the data, whose samples "
	           "are %s after the transforms", shape_text(x, text));
}

static int64_t count_classes(const struct session *s)
{
	const struct model_common *m = s->config->model.data;
	const struct dataset_info *info = session_data(s);
	if (m->classes)
		return m->classes;
	if (loss_wants_labels(&s->config->loss))
		return info->nclasses;
	return s->data.target.nd ? s->data.target.d[0] : 1;
}

/* Describes the data by the config alone. */
static void imagine_data(struct session *s)
{
	const struct model_common *m = s->config->model.data;
	s->data.input.nd = 1 + m->input.size.n;
	s->data.input.d[0] = m->input.channels;
	for (int i = 0; i < m->input.size.n; i++)
		s->data.input.d[i + 1] = m->input.size.v[i];
	s->data.target_unknown = true;
	s->data.classes = m->classes;
	s->data.ignore = INT64_MIN;
	int64_t *counts = ARENA_ARRAY(s->config->arena, int64_t, m->classes);
	for (int64_t i = 0; i < m->classes; i++)
		counts[i] = 1;
	s->data.class_counts = counts;
}

/* Labels that are no class are found when a batch has them;
 * what the headers say is found before training. */
static int check_labels(const struct session *s, const struct dataset *set, const struct loc *loc)
{
	int64_t ignore = loss_ignore(&s->config->loss, s->data.ignore), label;
	const char *file;
	if (set && ignore != INT64_MIN && (ignore < INT32_MIN || ignore > INT32_MAX))
		return ERR(E_DATA, loc, "the ignored value %lld of this data does not fit 32 bits",
		           (long long)ignore);
	int64_t n = set ? dataset_foreign_labels(set, s->data.classes, ignore, &label, &file) : 0;
	if (set && n == 0 && !(s->need & SESSION_RUN))
		TRY(labels_stored_check_all(&(struct label_rule){ s->data.classes, ignore }, set));
	if (set && dataset_counted_labels(set, s->data.classes, ignore) == 0)
		return ERR(E_DATA, loc,
		           "nothing counts: all labels of this data have the ignored value %lld",
		           (long long)ignore);
	if (n == 0)
		return 0;
	return ERR(E_DATA, loc, "'%s' has the label %lld, but the network's classes are 0..%lld; "
	           "targets with such labels: %lld; 'model.classes' says how many there are, "
	           "'loss.ignore: %lld' leaves out a label that means none", file, (long long)label,
	           (long long)s->data.classes - 1, (long long)n, (long long)label);
}

/* A grid of integers without an axis of channels is labels. */
static int refuse_labels(const struct session *s, const struct dataset *set, const struct loc *loc)
{
	const struct dataset_info *i = dataset_info(set);
	char text[SHAPE_TEXT];
	bool grid = i->target.nd > 0 && i->target.nd == i->input.nd - 1;
	for (int k = 0; k < i->target.nd && grid; k++)
		grid = i->target.d[k] == i->input.d[k + 1];
	if (!grid || dtype_is_float(i->target_dtype))
		return 0;
	return ERR(E_DATA, loc, "targets are class labels (%s %s), but the loss '%s' needs fields with "
	           "an axis of channels; for labels it is softmax_cross_entropy; a field of "
	           "integers becomes one of floats before it is converted", dtype_name(i->target_dtype),
	           shape_text(&i->target, text), s->config->loss.v->name);
}

static int check_targets(const struct session *s, const struct session_options *o)
{
	const struct data_config *d = &s->config->data;
	if (!s->train_set)
		return 0;
	if (!loss_wants_labels(&s->config->loss))
		return refuse_labels(s, s->train_set, &d->train.loc[0]);
	if (o->need & SESSION_TRAIN)
		TRY(check_labels(s, s->train_set, &d->train.loc[0]));
	if (o->need & SESSION_PREDICT || !s->validation_set)
		return 0;
	return check_labels(s, s->validation_set, &d->validation.loc[0]);
}

static int learn_data(struct session *s)
{
	if (!s->train_set && !s->validation_set) {
		imagine_data(s);
		return 0;
	}
	const struct run_config *c = s->config;
	const struct dataset_info *info = session_data(s);
	const struct loader *second = s->validation ? s->validation : s->train;
	s->data.rest[PLAN_TRAIN] = s->train ? loader_rest(s->train) : NULL;
	s->data.rest[PLAN_EVALUATE] = s->data.rest[PLAN_PREDICT] = second ? loader_rest(second) : NULL;
	s->data.ignore = info->target_ignore;
	s->data.classes = count_classes(s);
	TRY(check_input(s));
	if (s->data.classes < 1)
		return ERR(E_CONFIG, &c->model.loc,
		           "the data does not say how many classes it has; give 'model.classes'");
	if (loss_needs_class_counts(&c->loss) && s->need & (SESSION_TRAIN | SESSION_EVALUATE)) {
		int64_t *counts = ARENA_ARRAY(c->arena, int64_t, s->data.classes);
		if (!s->train_set)
			return ERR(E_CONFIG, &c->loss.loc, "class weights by frequency need the training set, "
			           "of which nothing is known here; give 'class_weights' as numbers");
		TRY(dataset_class_counts(s->train_set, (int)s->data.classes, counts));
		s->data.class_counts = counts;
	}
	return 0;
}

static int compare(const struct session *s, const struct plan *p)
{
	return ranks_compare(s->comm, s->config, s->dev,
	                     s->train_set ? dataset_fingerprint(s->train_set) : 0, p);
}

/* Opening the reducer is collective. */
static int open_reduction(struct session *s, const struct plan *p)
{
	if (p->mode != PLAN_TRAIN || !s->reduction.comm)
		return 0;
	if (s->reduction.sums.gradients)
		return sync_reducer_open(&s->sync, &s->reduction, p, s->ranks.sync_group);
	TRY(ranks_agree(s->comm, 0, "planning"));
	if (comm_many(s->comm))
		TRY(compare(s, p));
	TRY(reduction_open(&s->reduction, s->store, p));
	return sync_reducer_open(&s->sync, &s->reduction, p, s->ranks.sync_group);
}

static struct plan_request request(const struct session *s, enum plan_mode mode, int64_t batch)
{
	struct plan_request r = session_request(s, mode, batch);
	r.sweep = s->need & SESSION_SWEEP;
	r.keep_results = s->need & SESSION_DUMP;
	r.dump = s->dump;
	r.dump_dot = s->dump_dot;
	return r;
}

static int check_room(const struct session *s, const struct plan *p)
{
	int rc = memory_budget_check(s, p);
	if (rc == E_TOO_LARGE && p->mode == PLAN_PREDICT && !s->tiles)
		err_context(rc, "- '--tile auto' predicts in tiles that fit");
	return rc;
}

int session_plan_batch(struct session *s, struct plan **out, enum plan_mode mode, int64_t batch)
{
	struct plan_request r = request(s, mode, batch);
	r.direct = mode == PLAN_PREDICT && s->alike;
	double start = io_seconds();
	engines_await(s->engines, s->comm);
	size_t before = s->dev->memory->used;
	int rc = plan_new(out, &r), shared = engines_share(s->engines, s->comm, s->wisdom);
	TRY(rc);
	TRY(shared);
	s->table_bytes += s->dev->memory->used - before;
	trace_mark(TRACE_RUN, "plan", start);
	if (!s->ranks.given && (*out)->buckets)
		s->ranks.given = buckets_copy(s->config->arena, (*out)->buckets);
	if ((s->need & SESSION_RUN) && !(s->need & SESSION_NO_DATA))
		TRY(check_room(s, *out));
	/* Fixes the layouts of params and states for the plans that follow. */
	if (s->need & SESSION_RUN) {
		TRY(open_reduction(s, *out));
		start = io_seconds();
		TRY(store_add(s->store, (*out)->g));
		trace_mark(TRACE_RUN, "initial values", start);
	}
	size_t bytes = exec_arena_bytes((*out)->exec);
	if (bytes > s->arena_bytes)
		s->arena_bytes = bytes;
	return 0;
}

/* Several ranks always begin with a full batch's training plan, so that all have its buckets of
 * gradients and its layouts: shares of fewer samples differ. */
int session_plan_set(struct session *s, struct plan *plans[2], enum plan_mode mode,
                     const struct loader *l)
{
	bool leaves = s->config->leaves.all && mode != PLAN_PREDICT;
	int64_t batch = l && mode != PLAN_TRAIN ? loader_batch_size(l) : s->config->train.batch_size;
	int64_t rest = l ? loader_short_batch(l) : 0;
	bool whole = !l || loader_samples(l) >= batch * comm_count(s->comm);
	bool full = whole || leaves || (mode == PLAN_TRAIN && comm_many(s->comm));
	rest = leaves ? rest % batch : rest;
	if (full)
		TRY(session_plan_batch(s, &plans[0], mode, batch));
	if (rest == 0 || (full && (rest == batch || !(s->need & SESSION_RUN))) ||
	    (whole && mode == PLAN_TRAIN && deferred_wanted(s)))
		return 0;
	return session_plan_batch(s, &plans[full], mode, rest);
}

#define HOST_RANKS 8             /* GPUs of most hosts that have some */

/* Hosts of ranks that are only planned for: without a number, as many as are full. */
static int hosts_of(const struct session_options *o)
{
	return o->hosts ? o->hosts : (o->ranks + HOST_RANKS - 1) / HOST_RANKS;
}

/* Ranks that share this host's processors. Those that are not there have hosts like it. */
static int sharing(struct comm *c, const struct session_options *o)
{
	int hosts = hosts_of(o);
	return comm_many(c) || o->ranks < 2 ? ranks_sharing(c) : (o->ranks + hosts - 1) / hosts;
}

/* The step of a dump is the one its batch is of. */
static int plan_ranks(struct session *s, const struct session_options *o)
{
	if (comm_many(s->comm))
		rank_grid_learn(&s->grid, s->config->arena, s->comm);
	else
		rank_grid_assume(&s->grid, s->config->arena, hosts_of(o), o->ranks);
	TRY(reduction_plan(&s->ranks, &s->link, s->config, &s->reduction, &s->grid));
	if (o->need & SESSION_TRAIN)
		TRY(sync_group_size(s->config, s->ranks.ranks, &s->ranks.sync_group));
	if (o->need & SESSION_DUMP)
		s->ranks.lag = 0;
	return 0;
}

static int check_samples(const struct session *s)
{
	const struct data_config *d = &s->config->data;
	int64_t n = s->train ? loader_samples(s->train) : INT64_MAX,
	        batch = config_rank_batch(s->config) * comm_count(s->comm);
	if (n == 0 || (!d->keep_short_batch && n < batch))
		return ERR(E_CONFIG, &d->train.loc[0],
		           "%lld training samples are less than one batch of %lld", (long long)n,
		           (long long)batch);
	if (n < batch && s->need & SESSION_TRAIN && comm_first(s->comm))
		warn("a batch of %lld samples is more than the %lld that an epoch of training has: each "
		     "step has %lld; 'data.keep_short_batch: false' refuses that", (long long)batch,
		     (long long)n, (long long)n);
	return 0;
}

static int plan_training(struct session *s)
{
	if (!(s->need & SESSION_TRAIN))
		return 0;
	return ranks_agree(s->comm, session_plan_set(s, s->train_plan, PLAN_TRAIN, s->train),
	                   "planning");
}

/* Finds errors of evaluations now, even if their plans are deferred. */
static int plan_evaluation(struct session *s)
{
	int64_t batch = s->validation ? loader_batch_size(s->validation) : s->config->train.batch_size;
	struct plan_request r = request(s, PLAN_EVALUATE, batch);
	return deferred_wanted(s) ? plan_check(&r) : session_plan_set(s, s->evaluate_plan,
	                                                              PLAN_EVALUATE, s->validation);
}

/* An export needs the store's entries, and runs nothing. */
static bool weights_alone(const struct session_options *o)
{
	return o->need & SESSION_PREDICT && o->need & SESSION_NO_DATA;
}

/* Where nothing is run, an evaluation is planned without its data too. */
static int plan_the_rest(struct session *s, const struct session_options *o)
{
	bool validation = s->validation || (!(s->need & SESSION_RUN) && s->config->data.validation.n);
	int rc = validation && s->need & SESSION_EVALUATE ? plan_evaluation(s) : 0;
	if (rc < 0 && whole_differs(s))
		return err_context(rc, "in validation, which sees whole samples; '- crop: {size: ..., "
		                   "validation: centre}' validates on windows");
	TRY(rc);
	if (weights_alone(o) || s->tiles)
		return session_plan_batch(s, &s->predict_plan[0], PLAN_PREDICT, 1);
	if (s->validation && s->need & SESSION_PREDICT)
		TRY(session_plan_set(s, s->predict_plan, PLAN_PREDICT, s->validation));
	return 0;
}

static void free_arena(struct session *s)
{
	if (s->arena)
		device_free(s->dev, s->arena, s->bound_bytes + EXEC_ARENA_SLACK);
	s->arena = NULL;
	if (s->dev)
		s->dev->memory->scratch_bytes = 0;
}

int session_bind(struct session *s)
{
	struct plan *all[] = { s->train_plan[0], s->train_plan[1], s->evaluate_plan[0],
		s->evaluate_plan[1], s->predict_plan[0], s->predict_plan[1] };
	double start = io_seconds();
	free_arena(s);
	memory_budget_warn(s);
	s->bound_bytes = s->arena_bytes + (fault_hits("arena", ++s->arenas) ? 4096 : 0);
	s->arena = device_alloc(s->dev, s->bound_bytes + EXEC_ARENA_SLACK);
	if (!s->arena)
		return ERR(E_NOMEM, NULL, "no memory for the step: %zu bytes of activations and "
		           "workspace; make 'train.batch_size' smaller (with 'train.accumulate' larger)",
		           s->arena_bytes);
	s->dev->memory->scratch = s->arena;
	s->dev->memory->scratch_bytes = s->bound_bytes;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i])
			TRY(exec_bind(all[i]->exec, s->store, s->arena, &s->reduction.sums));
	trace_mark(TRACE_RUN, "code", start);
	start = io_seconds();
	device_populate(s->dev, s->arena, s->arena_bytes);
	trace_mark(TRACE_RUN, "memory", start);
	return account_check(s);
}

static int open_device(struct session *s, const struct session_options *o)
{
	const struct run_config *c = s->config;
	TRY(o->gpu ? device_open_described(&s->dev, o->gpu) :
	    device_open_rank(&s->dev, o->device ? o->device : device_names[c->device],
	                     s->comm ? s->comm->local_rank : 0));
	s->reduction = (struct reduction){ .dev = s->dev,
		.comm = reduction_wanted(s->comm) ? s->comm : NULL };
	s->wisdom = comm_first(s->comm) ? o->wisdom : NULL;
	TRY(engines_open(&s->engines, s->comm, o->wisdom));
	TRY(micro_tree_check_ranks(c, s->dev, s->reduction.comm));
	s->store = store_new(s->dev, (uint64_t)c->run.seed);
	const struct plan_env env = plan_env_of(c, s->engines);
	int rc = plan_env_check(&env, s->dev, c->precision.allow_emulation);
	return rc < 0 ? err_locate(rc, config_place(c, "precision", "compute")) : 0;
}

/* Where outputs depend on a part of the input alone, they are the same to the last bit in tiles
 * of any size: Winograd's products, whose rounding depends on the neighbours, are not used. */
static int settle_prediction(struct session *s, const struct session_options *o)
{
	struct receptive_field r;
	const struct shape seen = whole_differs(s) ? field_padded(&s->data.field) : s->data.input;
	TRY(whole_receptive_field(s, &seen, &r));
	s->alike = r.finite;
	if (!o->tile)
		return 0;
	s->tiles = ARENA_NEW(s->config->arena, struct tile_plan);
	TRY(tile_settle(s, o->tile, s->tiles));
	s->data.field = (struct plan_field){ .input = s->tiles->tile };
	return 0;
}

static int open_loaders(struct session *s, const struct session_options *o)
{
	if (s->config->data.statistics == STATISTICS_DATA)
		note("'data.statistics' is data: the transforms use each set's own statistics, not the "
		     "training set's");
	if (s->train_set && o->need & SESSION_TRAIN)
		TRY(open_loader(s, &s->train, s->train_set, true, false, false));
	TRY(learn_shapes(s));
	if (s->validation_set)
		TRY(open_loader(s, &s->validation, s->validation_set, false, o->need & SESSION_PREDICT,
		                o->tile));
	if (s->validation && !s->data.input.nd)
		take_shapes(s, s->validation);
	if (s->validation_set)
		TRY(check_second_set(s, o));
	TRY(learn_data(s));
	TRY(whole_settle(s));
	if (o->need & SESSION_PREDICT)
		TRY(settle_prediction(s, o));
	TRY(check_targets(s, o));
	return check_samples(s);
}

/* Every phase ends in an agreement: a rank that continued
 * alone would wait for the others in vain. */
static int open_all(struct session *s, const struct session_options *o)
{
	struct comm *c = s->comm;
	TRY(ranks_agree(c, config_share_batch(s->config, micro_tree_ranks(s->config, c, o->ranks)),
	                "sharing the batch"));
	double start = io_seconds();
	if (o->weights)
		TRY(trained_on_find(s, o->weights));
	TRY(ranks_agree(c, open_data(s, o), "opening the data"));
	trace_mark(TRACE_RUN, "data", start);
	host_share(sharing(c, o));
	TRY(ranks_agree(c, open_device(s, o), "opening the device"));
	if (o->need & SESSION_TRAIN)
		TRY(ranks_agree(c, reduction_meet(&s->reduction), "connecting the GPUs"));
	TRY(ranks_agree(c, open_loaders(s, o), "starting to read the data"));
	TRY(ranks_agree(c, plan_ranks(s, o), "the times of sums"));
	TRY(plan_training(s));
	TRY(ranks_agree(c, plan_the_rest(s, o), "planning"));
	if (!(o->need & SESSION_TRAIN))
		TRY(compare(s, NULL));
	bool runs = o->need & SESSION_RUN && !weights_alone(o);
	return ranks_agree(c, runs ? session_bind(s) : 0, "memory");
}

int session_open(struct session **out, struct run_config *config, const struct session_options *o)
{
	struct session *s = mem_calloc(1, sizeof *s);
	s->config = config;
	s->comm = o->comm;
	s->need = o->need;
	s->dump = o->dump;
	s->dump_dot = o->dump_dot;
	int rc = open_all(s, o);
	if (rc < 0) {
		session_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

/* Whether this rank failed alone: then the other ranks will not reach the collective close. */
static bool failed_alone(const struct session *s)
{
	return comm_many(s->comm) && err_count() > 0 && ranks_failure() == RANKS_ALONE;
}

void session_close(struct session *s)
{
	if (!s)
		return;
	for (int i = 0; i < 2; i++) {
		plan_free(s->train_plan[i]);
		plan_free(s->evaluate_plan[i]);
		plan_free(s->predict_plan[i]);
	}
	loader_free(s->train);
	loader_free(s->validation);
	dataset_free(s->train_set);
	dataset_free(s->validation_set);
	store_free(s->store);
	if (s->dev && !failed_alone(s)) {
		sync_reducer_close(s->sync, &s->reduction);
		reduction_close(&s->reduction);
	}
	free_arena(s);
	engines_close(s->engines, s->wisdom);
	device_close(s->dev);
	config_free(s->config);
	mem_free(s);
}

struct plan *session_plan(struct plan *const plans[2], int64_t n)
{
	for (int i = 0; i < 2; i++)
		if (plans[i] && plans[i]->batch == n)
			return plans[i];
	BUG("no plan for a batch of %lld", (long long)n);
}

bool session_overlaps(const struct session *s)
{
	return s->dev->driver && !s->dev->each && !trace_on() && !comm_many(s->comm);
}
