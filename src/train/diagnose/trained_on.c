/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 reads the texts and broadcasts the description, so the other ranks need no access to the
 * run's folder. */
#include "train/diagnose/trained_on.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/io_reader.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/ckpt.h"
#include "ckpt/safetensors.h"
#include "ckpt/version_id.h"
#include "data/record.h"
#include "data/target_transforms.h"
#include "data/transform.h"
#include "model/model.h"
#include "plan/session.h"
#include "train/run/ranks.h"

static const char *transforms_text(const struct ynode *list, struct arena *a)
{
	struct buf b = BUF_INIT;
	const char *text;
	if (!list || list->kind != Y_SEQ)
		return "[]";
	ytree_write_json(&b, list);
	text = arena_strdup(a, b.data);
	buf_release(&b);
	return text;
}

/* The list that a prediction goes by. */
static const struct ynode *prediction_list(const struct data_config *d)
{
	struct transform_options o = { .training = false };
	transform_choose_list(&o, d);
	return o.list;
}

struct trained_on trained_on_write(const struct session *s, struct arena *a)
{
	struct trained_on t = { 0 };
	const struct data_config *d = &s->config->data;
	struct buf b = BUF_INIT;
	if (!s->train_set)
		return t;
	dataset_describe(s->train_set, &b);
	t.set = arena_strdup(a, b.data);
	t.transforms = transforms_text(prediction_list(d), a);
	t.target_transforms = transforms_text(d->target_transforms, a);
	if (s->data.scaling) {
		buf_clear(&b);
		target_scaling_inverse_json(s->data.scaling, &b);
		t.unscaling = arena_strdup(a, b.data);
	}
	buf_release(&b);
	return t;
}

int trained_on_meta(const struct session *s, struct arena *a, const char *meta[TRAINED_ON_META])
{
	const struct trained_on t = trained_on_write(s, a);
	const char *const text[TRAINING_TEXTS][2] = {
		{ TRAINING_SET, t.set },
		{ TRAINING_TRANSFORMS, t.transforms },
		{ TRAINING_TARGET_TRANSFORMS, t.unscaling ? t.target_transforms : NULL },
		{ TRAINING_UNSCALING, t.unscaling },
	};
	int n = 0;
	meta[n++] = "format";
	meta[n++] = "pt";
	for (int i = 0; i < TRAINING_TEXTS; i++)
		if (text[i][1]) {
			meta[n++] = text[i][0];
			meta[n++] = text[i][1];
		}
	return n / 2;
}

/* --- looking it up, on rank 0 --- */

/* Where the weights come from, and what is kept there. */
struct source {
	struct arena *a;
	const char *name;              /* "checkpoint 000000000040-9f3c2a51"; NULL: no weights yet */
	struct trained_on t;
};

static const char *copy(struct arena *a, const char *text)
{
	return text ? arena_strdup(a, text) : NULL;
}

static int look_in_run(const struct session *s, const char *which, struct source *out)
{
	char *dir = io_join(s->config->run.dir, "checkpoints");
	struct ckpt_version *v = NULL;
	int rc = ckpt_look(&v, dir, which);
	mem_free(dir);
	if (rc < 0 || !v)
		return rc;
	out->name = arena_printf(out->a, "checkpoint %s", version_bare_id(ckpt_version_id(v)));
	out->t.set = copy(out->a, ckpt_version_scalar(v, TRAINING_SET));
	out->t.transforms = copy(out->a, ckpt_version_scalar(v, TRAINING_TRANSFORMS));
	out->t.target_transforms = copy(out->a, ckpt_version_scalar(v, TRAINING_TARGET_TRANSFORMS));
	ckpt_version_free(v);
	return 0;
}

static const char *meta(struct arena *a, const struct st_file *f, const char *key)
{
	for (int i = 0; i < f->nmeta; i++)
		if (strcmp(f->meta[2 * i], key) == 0)
			return arena_strdup(a, f->meta[2 * i + 1]);
	return NULL;
}

static bool same_statistics(const struct channel_stats *x, const struct channel_stats *y, int64_t n)
{
	for (int64_t c = 0; c < n; c++)
		if (x[c].count && (x[c].mean != y[c].mean || x[c].std != y[c].std ||
		                   x[c].min != y[c].min || x[c].max != y[c].max))
			return false;
	return true;
}

/* Whether inputs have the same channels with the same statistics. */
static bool same_inputs(const struct dataset *a, const struct dataset *b)
{
	const int64_t n = dataset_info(a)->input.d[0];
	return n == dataset_info(b)->input.d[0] &&
	       same_statistics(dataset_statistics(a), dataset_statistics(b), n);
}

static bool same_targets(const struct dataset *a, const struct dataset *b)
{
	const struct record_array *x = dataset_target(a), *y = dataset_target(b);
	return x->nstats == y->nstats && same_statistics(x->stats, y->stats, x->nstats);
}

static int look_in_file(const char *file, struct source *out)
{
	struct io_image image;
	struct st_file f;
	int rc;
	TRY(io_image_read(&image, file));
	rc = st_parse(&f, out->a, file, image.data, image.size);
	if (rc == 0) {
		out->name = arena_printf(out->a, "'%s'", file);
		out->t.set = meta(out->a, &f, TRAINING_SET);
		out->t.transforms = meta(out->a, &f, TRAINING_TRANSFORMS);
		out->t.target_transforms = meta(out->a, &f, TRAINING_TARGET_TRANSFORMS);
	}
	io_image_release(&image);
	return rc;
}

static int look(const struct session *s, const char *which, struct source *out)
{
	const struct model_common *m = s->config->model.data;
	TRY(look_in_run(s, which, out));
	if (!out->name && m->init_from.file)
		TRY(look_in_file(m->init_from.file, out));
	if (out->name || s->need & SESSION_NO_DATA)
		return 0;
	return ERR(E_NOINPUT, NULL, "no checkpoint in '%s/checkpoints'; train first",
	           s->config->run.dir);
}

static void compare(const struct source *from, const char *key, const char *then,
                    const struct ynode *list)
{
	const char *now = transforms_text(list, from->a);
	if (then && strcmp(then, now) != 0)
		note("%s was trained with other '%s': %s there, %s here", from->name, key, then, now);
}

static void tell(const struct session *s, const struct source *from)
{
	const struct data_config *d = &s->config->data;
	const struct trained_on *t = &from->t;
	if (from->name && !from->t.set)
		note("%s does not say what it was trained on; the statistics are those of "
		     "'data.train' as it is now", from->name);
	compare(from, d->validation_transforms ? "data.validation_transforms" : "data.transforms",
	        t->transforms, prediction_list(d));
	compare(from, "data.target_transforms",
	        t->transforms && !t->target_transforms ? "[]" : t->target_transforms,
	        d->target_transforms);
}

/* --- on all ranks --- */

/* text: of rank 0, NULL for none; the others get theirs in a. */
static const char *share(struct comm *c, struct arena *a, const char *text)
{
	static const char what[] = "the description of the training set";
	uint64_t n = text ? strlen(text) + 1 : 0;
	char *mine;
	if (!comm_many(c))
		return text;
	comm_broadcast(c, &n, sizeof n, 0, what);
	if (n == 0)
		return NULL;
	mine = arena_alloc(a, n);
	if (comm_first(c))
		memcpy(mine, text, n);
	comm_broadcast(c, mine, n, 0, what);
	return mine;
}

int trained_on_find(struct session *s, const char *which)
{
	struct source from = { .a = arena_new() };
	int rc = comm_first(s->comm) ? look(s, which, &from) : 0;
	const char *text;
	if (s->config->physics)          /* which knows no training set */
		from.t = (struct trained_on){ 0 };
	rc = ranks_agree(s->comm, rc, "looking at the weights");
	if (rc == 0) {
		if (comm_first(s->comm) && !s->config->physics)
			tell(s, &from);
		text = share(s->comm, from.a, from.t.set);
		if (text)
			rc = dataset_from_description(&s->train_set, from.name ? from.name : "the weights",
			                              text);
		rc = ranks_agree(s->comm, rc, "the description of the training set");
	}
	arena_free(from.a);
	return rc;
}

/* --- for a training --- */

static bool adopts(const struct session *s)
{
	const int of = s->config->data.statistics;
	return s->train_set && (of == STATISTICS_INIT_FROM || of == STATISTICS_INIT_FROM_INPUTS);
}

void trained_on_compare(const struct session *s, const char *name, const struct st_file *f)
{
	struct arena *a = arena_new();
	const struct source from = { .a = a, .name = arena_printf(a, "'%s'", name) };
	const char *text = meta(a, f, TRAINING_SET);
	const char *targets = meta(a, f, TRAINING_TARGET_TRANSFORMS);
	struct dataset *was;
	int mark = err_count();
	if (text && s->train_set && dataset_from_description(&was, name, text) == 0) {
		if (!same_inputs(was, s->train_set))
			note("'%s' was trained with other statistics; this run's are those of 'data.train' "
			     "('data.statistics: init_from' takes the file's)", name);
		if (s->data.scaling && !same_targets(was, s->train_set))
			note("'%s' was trained with other statistics of the target; this run's are those of "
			     "'data.train'", name);
		dataset_free(was);
	}
	err_truncate(mark);
	if (text && !adopts(s))
		compare(&from, "data.target_transforms", targets ? targets : "[]",
		        s->config->data.target_transforms);
	arena_free(a);
}

static int look_for_training(const struct session *s, const char *resume, struct source *out)
{
	const struct model_common *m = s->config->model.data;
	if (resume)
		TRY(look_in_run(s, resume, out));
	if (!out->name)
		TRY(look_in_file(m->init_from.file, out));
	if (out->t.set)
		return 0;
	return ERR(E_DATA, config_place(s->config, "data", "statistics"), "%s does not say what it was "
	           "trained on; 'data.statistics: model' takes the statistics of 'data.train'",
	           out->name);
}

static int take(struct session *s, const char *name, const char *text)
{
	const bool targets = s->config->data.statistics == STATISTICS_INIT_FROM;
	const struct ynode *list = s->config->data.target_transforms;
	struct dataset *was;
	int rc;
	TRY(dataset_from_description(&was, name, text));
	rc = dataset_take_statistics(s->train_set, was, name, targets && list && list->n);
	dataset_free(was);
	if (rc == 0)
		return 0;
	err_locate(rc, config_place(s->config, "data", "statistics"));
	return err_context(rc, targets ? "'init_from_inputs' takes those of inputs alone" :
	                   "in 'data.statistics'");
}

int trained_on_adopt(struct session *s, const char *resume)
{
	struct source from = { .name = NULL };
	const char *text;
	int rc = 0;
	if (!adopts(s))
		return 0;
	from.a = arena_new();
	if (comm_first(s->comm))
		rc = look_for_training(s, resume, &from);
	rc = ranks_agree(s->comm, rc, "looking at the weights");
	if (rc == 0) {
		if (comm_first(s->comm)) {
			note("the statistics are those that %s was trained with", from.name);
			tell(s, &from);
		}
		text = share(s->comm, from.a, from.t.set);
		rc = ranks_agree(s->comm, take(s, from.name ? from.name : "the weights", text),
		                 "the statistics");
	}
	arena_free(from.a);
	return rc;
}
