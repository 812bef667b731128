/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The headers of the record files contain the shapes. Loaders are created after a check that these
 * fit each other, the network and the loss. */
#include "train/run/open_data.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/host.h"
#include "base/io.h"
#include "base/log.h"
#include "base/trace.h"
#include "data/labels_stored.h"
#include "data/sources.h"
#include "data/transform.h"
#include "model/model.h"
#include "plan/extent/tile_size.h"
#include "plan/extent/whole.h"
#include "plan/memory/memory_budget.h"
#include "plan/sums/micro_tree.h"
#include "plan/sums/reduction.h"
#include "plan/batch/scaled_target.h"
#include "plan/batch/stored_batch.h"
#include "train/run/equations.h"
#include "train/predict/predict_input.h"
#include "train/run/rounded_batch.h"
#include "train/diagnose/trained_on.h"

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

int session_open_train_set(struct session *s, const struct session_options *o)
{
	if (s->config->physics)
		return equations_open(s, o);
	if (o->need & SESSION_SYNTHETIC)
		return check_declared(s);
	if (s->train_set)                      /* as kept with the weights */
		return 0;
	int mark = err_count(), rc = dataset_open_sources(&s->train_set, &s->config->data.train);
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

/* Whether a set is read that is not trained on. Neither synthetic data nor an export has one. */
static bool second_wanted(const struct session *s, const struct session_options *o)
{
	if (o->need & SESSION_SYNTHETIC)
		return false;
	if (!(o->need & SESSION_NO_DATA))
		return true;
	return (o->need & SESSION_TRAIN) && s->train_set;
}

static int no_target(const struct strings *paths)
{
	return ERR(E_DATA, paths->loc ? &paths->loc[0] : NULL,
	           "'%s' has no target: it can only be predicted from", paths->v[0]);
}

/* Of several sessions over one set the first opens it. */
static int open_predicted(struct session *s, const struct session_options *o)
{
	const struct strings given = { .n = o->records->n, .v = o->records->v };
	int rc = *o->set ? 0 : dataset_open(o->set, &given);
	if (rc == E_DATA && given.n > 1)
		err_context(rc, "where files differ in more than the size of samples, predict each by "
		            "itself");
	s->validation_set = *o->set;
	s->set_borrowed = true;
	return rc;
}

/* With what the network was, or is, trained on. */
static int check_agreement(const struct session *s, const struct session_options *o)
{
	const struct dataset_use use = { .target = !(o->need & SESSION_PREDICT),
		.converted = o->data && predict_converts(o->data),
		.notes = comm_first(s->comm) && !o->size };
	int rc;
	if (!s->train_set)
		return 0;
	rc = dataset_agree(s->validation_set, s->train_set, use);
	return rc < 0 && !o->data ? err_locate(rc, &s->config->data.validation.loc[0]) : rc;
}

int session_open_data(struct session *s, const struct session_options *o)
{
	const struct data_config *d = &s->config->data;
	if (s->config->physics)
		return 0;
	if (s->train_set && !dataset_info(s->train_set)->has_target)
		return no_target(&((const struct data_source *)d->train.v)->files);
	if (!second_wanted(s, o))
		return 0;
	if (o->data) {
		TRY(open_predicted(s, o));
		return check_agreement(s, o);
	}
	if (!d->validation.n)
		return 0;
	TRY(dataset_open(&s->validation_set, &d->validation));
	if (!dataset_info(s->validation_set)->has_target)
		return no_target(&d->validation);
	return check_agreement(s, o);
}

/* For prediction in tiles every rank reads all samples, one at a time; the loader, not the
 * device, converts them. */
static void read_all(struct loader_options *o)
{
	o->batch_size = o->ranks = 1;
	o->rank = 0;
	o->stored_input = false;
}

static int make_loader(struct session *s, struct loader **out, struct dataset *set,
                       struct loader_options *o)
{
	o->rounded = DTYPE_F32;
	o->rounded = rounded_batch_type(s, set, o);
	return loader_new(out, set, o);
}

/* Whole samples of several sizes: *out reads those of the first. */
static int open_sizes(struct session *s, struct loader **out, struct dataset *set,
                      struct loader_options *o)
{
	int n = dataset_sizes(set);
	if (n > 1 + SESSION_MOST_SIZES)
		return ERR(E_DATA, &s->config->data.validation.loc[0], "the validation set has samples of "
		           "%d sizes, each of which needs a plan of its own; the limit is %d; '- crop: "
		           "{size: ..., validation: centre}' validates windows", n, 1 + SESSION_MOST_SIZES);
	s->size = ARENA_ARRAY(s->config->arena, struct session_size, n);
	o->only_size = 1;
	TRY(make_loader(s, out, set, o));
	for (int k = 1; k < n; k++) {
		o->only_size = k + 1;
		TRY(make_loader(s, &s->size[k - 1].loader, set, o));
		s->nsize = k;
	}
	return 0;
}

/* Predictions of samples of several sizes: those of one of them. */
static int open_one_size(struct session *s, struct loader_options *l,
                         const struct session_options *o)
{
	if (o->tile)
		return ERR(E_DATA, NULL, "the samples to predict from have several sizes, and '--tile' "
		           "writes one array, of samples of one size; '-o FOLDER' without '--tile' draws "
		           "samples of all sizes");
	*o->sizes = dataset_sizes(s->validation_set);
	s->only_size = l->only_size = o->size + 1;
	return make_loader(s, &s->validation, s->validation_set, l);
}

/* Ranks are counted host by host, so that each host's have neighbouring places of a batch. */
static int apart_by_host(const struct session *s, struct loader_options *o)
{
	const struct ynode *n = s->config->data.shuffle;
	const struct comm *c = s->comm;
	enum data_shuffle shuffle;
	TRY(shuffle_parse(n, &shuffle));
	if (shuffle != SHUFFLE_WITHIN_HOST || !c || c->hosts < 2)
		return 0;
	if (c->local_size * c->hosts != c->size)
		return ERR(E_CONFIG, &n->loc, "'shuffle: {within: host}' needs as many ranks on each host: "
		           "this one has %d of %d ranks on %d hosts", c->local_size, c->size, c->hosts);
	o->host = c->host;
	o->hosts = c->hosts;
	o->rank = c->host * c->local_size + c->local_rank;
	return 0;
}

static void *alloc_pinned(const void *device, size_t bytes)
{
	const struct device *d = device;
	return d->driver->alloc_host(d, bytes);
}

static void free_pinned(const void *device, void *p, size_t bytes)
{
	const struct device *d = device;
	d->driver->free_host(d, p, bytes);
}

/* Whether a device copies batches from where loaders have put them. */
static bool is_pinned(const struct session *s)
{
	return s->dev->driver && !(s->need & SESSION_PREDICT);
}

static struct batch_memory memory_of(const struct session *s)
{
	if (!is_pinned(s) || !(s->need & SESSION_RUN))
		return (struct batch_memory){ 0 };
	return (struct batch_memory){ alloc_pinned, free_pinned, s->dev };
}

static int open_loader(struct session *s, struct loader **out, struct dataset *set, bool training,
                       const struct session_options *options)
{
	const bool predict = !training && options->need & SESSION_PREDICT;
	/* A prediction does not need the target. */
	bool labels = loss_wants_labels(&s->config->loss) &&
	              !(predict && dtype_is_float(dataset_info(set)->target_dtype));
	const struct model_common *m = s->config->model.data;
	const struct dataset_info *known = session_data(s);
	/* A dump is of what the network reads. */
	bool stored = (stored_batch_wanted(s->dev) || s->need & SESSION_STORED) &&
	              !(s->need & SESSION_DUMP);
	const struct strings further = objectives_arrays(&s->config->objectives, s->config->arena);
	struct loader_options o = { .config = &s->config->data, .training = training,
		.further = predict ? NULL : &further, .memory = memory_of(s),
		.stored_input = stored, .stored_target = stored && !predict,
		.seed = (uint64_t)s->config->run.seed, .ranks = s->nteams, .windows = s->parts > 1,
		.step_batches = training ? config_step_batches(s->config) : 1,
		.batch_size = predict ? s->config->train.batch_size : config_rank_batch(s->config),
		.rank = s->parts > 1 ? s->team : micro_tree_place(s->config, s->dev, s->comm),
		.micro = s->config->micros.all && !predict ? s->config->train.batch_size : 0,
		.like = !training && s->data.input.nd ? &s->data.input : NULL,
		.processors = host_processors(), .statistics = s->train_set, .no_statistics = !s->train_set,
		.target_dtype = labels ? DTYPE_I32 : DTYPE_F32,
		.classes = !labels || predict ? 0 : m->classes ? m->classes : known->nclasses,
		.ignore = loss_ignore(&s->config->loss, known->target_ignore) };
	if (predict && options->tile)
		read_all(&o);
	if (training)
		TRY(apart_by_host(s, &o));
	bool several = false;
	if (!training)
		TRY(loader_sizes_differ(set, &o, &several));
	if (predict && options->sizes)
		*options->sizes = 1;
	if (!several)
		return make_loader(s, out, set, &o);
	if (predict)
		return open_one_size(s, &o, options);
	return open_sizes(s, out, set, &o);
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

/* Samples of another size are read whole (plan/extent/whole.h); all else must be equal. */
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
	const char *name = o->data ? o->data->v[0] : s->config->data.validation.v[0];
	if (alike(x, train_x) &&
	    (o->need & SESSION_PREDICT ||
	     (shape_equal(x, train_x) ? shape_equal(y, train_y) : y->nd == train_y->nd)))
		return 0;
	return ERR(E_DATA, o->data ? NULL : &s->config->data.validation.loc[0],
	           "'%s' does not fit the training data: after the transforms its inputs are %s and "
	           "its targets %s, not %s and %s", name, shape_text(x, have[0]),
	           shape_text(y, have[1]), shape_text(train_x, want[0]), shape_text(train_y, want[1]));
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

/* A grid of integers without an axis of channels is labels; next to flags a single integer, too. */
static int refuse_labels(const struct session *s, const struct dataset *set, const struct loc *loc)
{
	const bool flags = loss_target(&s->config->loss) == TARGET_FLAGS;
	const struct dataset_info *i = dataset_info(set);
	char text[SHAPE_TEXT];
	bool grid = i->target.nd > 0 && i->target.nd == i->input.nd - 1;
	for (int k = 0; k < i->target.nd && grid; k++)
		grid = i->target.d[k] == i->input.d[k + 1];
	if (!(grid || (flags && i->target.nd == 0)) || dtype_is_float(i->target_dtype))
		return 0;
	return ERR(E_DATA, loc, "targets are class labels (%s %s), but the loss '%s' needs fields with "
	           "an axis of channels%s; for labels it is softmax_cross_entropy; a field of "
	           "integers becomes one of floats before it is converted", dtype_name(i->target_dtype),
	           shape_text(&i->target, text), s->config->loss.v->name,
	           flags ? ", 0 or 1 for each class" : "");
}

/* A field's value that is not finite makes the loss so, unless it is a NaN that the loss leaves
 * out. */
static int check_missing(const struct session *s, const struct dataset *set, const struct loc *loc)
{
	const struct variant_value *loss = &s->config->loss;
	const char *file;
	double value;
	if (loss_target(loss) != TARGET_VALUES || (loss_mask(loss, &value) && isnan(value)))
		return 0;
	const int64_t n = dataset_missing_targets(set, &file);
	if (n == 0)
		return 0;
	return ERR(E_DATA, loc, "'%s' has targets that are missing (NaN or infinite; %lld in all), and "
	           "the loss would count them; 'loss: {type: %s, mask: nan}' leaves NaN out", file,
	           (long long)n, loss->v->name);
}

static int check_fields(const struct session *s, const struct session_options *o)
{
	const struct data_config *d = &s->config->data;
	TRY(refuse_labels(s, s->train_set, &d->train.loc[0]));
	if (o->need & SESSION_TRAIN)
		TRY(check_missing(s, s->train_set, &d->train.loc[0]));
	if (o->need & SESSION_PREDICT || !s->validation_set)
		return 0;
	return check_missing(s, s->validation_set, &d->validation.loc[0]);
}

static int check_targets(const struct session *s, const struct session_options *o)
{
	const struct data_config *d = &s->config->data;
	if (!s->train_set)
		return 0;
	if (!loss_wants_labels(&s->config->loss))
		return check_fields(s, o);
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
		rounded_batch_imagine(s);
		return scaled_target_settle(s);
	}
	const struct run_config *c = s->config;
	const struct dataset_info *info = session_data(s);
	const struct loader *second = s->validation ? s->validation : s->train;
	s->data.pinned = is_pinned(s);
	s->data.rest[PLAN_TRAIN] = s->train ? loader_rest(s->train) : NULL;
	s->data.rest[PLAN_EVALUATE] = s->data.rest[PLAN_PREDICT] = second ? loader_rest(second) : NULL;
	s->data.ignore = info->target_ignore;
	s->data.classes = session_classes(s, &s->data.target);
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
	return scaled_target_settle(s);
}

/* Where outputs depend on a part of the input alone, they are the same to the last bit in tiles
 * of any size: Winograd's products, whose rounding depends on the neighbours, are not used. */
static int settle_prediction(struct session *s, const struct session_options *o)
{
	struct receptive_field r;
	const struct shape seen = whole_differs(s) ? field_padded(&s->data.field) : s->data.input;
	TRY(whole_receptive_field(s, &seen, NULL, &r));
	s->tiles_agree = r.finite;
	if (!o->tile)
		return 0;
	s->tiles = ARENA_NEW(s->config->arena, struct tile_plan);
	TRY(tile_settle(s, o->tile, s->tiles));
	s->data.field = (struct plan_field){ .input = s->tiles->tile, .whole = &s->tiles->whole };
	return 0;
}

/* Training samples of several sizes: what cannot be trained on them is refused. */
static int settle_train_sizes(struct session *s)
{
	static const char crop[] = "training samples have several sizes, '- crop: {size: ...}' takes "
	                           "windows of one size";
	const struct run_config *c = s->config;
	int n = s->train ? loader_sizes(s->train) : 1;
	if (n == 1)
		return 0;
	if (n > 1 + SESSION_MOST_SIZES)
		return ERR(E_DATA, &c->data.train.loc[0], "training samples have %d sizes, each of which "
		           "needs a plan of its own; the limit is %d; '- crop: {size: ...}' takes windows "
		           "of one size", n, 1 + SESSION_MOST_SIZES);
	if (c->micros.all)
		return ERR(E_CONFIG, config_place(c, "parallel", "reproducible"),
		           "'reproducible' is not possible with samples of several sizes: %s", crop);
	if (c->parallel.gradient_lag)
		return ERR(E_CONFIG, config_place(c, "parallel", "gradient_lag"),
		           "'gradient_lag' is not possible with samples of several sizes: %s", crop);
	if (c->model.data && ((const struct model_common *)c->model.data)->input.size.n)
		return ERR(E_SHAPE, &c->model.loc, "'model.input' names one size: leave 'size' out; %s",
		           crop);
	s->ntrain_size = n - 1;
	return 0;
}

/* What a loader says without a place is of its batches. */
static int locate_batch(const struct session *s, int rc)
{
	return rc == E_NOMEM || rc == E_CONFIG ?
	       err_locate(rc, config_place(s->config, "train", "batch_size")) : rc;
}

/* What the validation loader says without a place is of the files that the config names for it,
 * where these have a mistake. */
static int locate_set(const struct session *s, const struct session_options *o, int rc)
{
	return rc == E_DATA && !o->data ? err_locate(rc, &s->config->data.validation.loc[0]) :
	                                  locate_batch(s, rc);
}

int session_describe_data(struct session *s, const struct session_options *o)
{
	if (s->train_set && o->need & SESSION_TRAIN)
		TRY(locate_batch(s, open_loader(s, &s->train, s->train_set, true, o)));
	TRY(settle_train_sizes(s));
	TRY(learn_shapes(s));
	if (s->validation_set)
		TRY(locate_set(s, o, open_loader(s, &s->validation, s->validation_set, false, o)));
	if (s->validation && !s->data.input.nd)
		take_shapes(s, s->validation);
	if (s->validation_set)
		TRY(check_second_set(s, o));
	TRY(learn_data(s));
	TRY(whole_settle(s));
	TRY(whole_check_training(s));
	if (o->need & SESSION_PREDICT)
		TRY(settle_prediction(s, o));
	return check_targets(s, o);
}
