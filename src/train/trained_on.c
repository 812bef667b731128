/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 looks the texts up and broadcasts the description, so that a run's folder need not be seen
 * by the other ranks. */
#include "train/trained_on.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/io_reader.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/ckpt.h"
#include "ckpt/safetensors.h"
#include "data/record.h"
#include "data/transform.h"
#include "model/model.h"
#include "plan/session.h"
#include "train/ranks.h"

/* Of what a prediction sees. */
static const char *transforms_text(const struct session *s, struct arena *a)
{
	struct transform_options o = { .training = false };
	const struct ynode *list;
	struct buf b = BUF_INIT;
	const char *text;

	transform_choose_list(&o, &s->config->data);
	list = o.list;
	if (!list || list->kind != Y_SEQ)
		return "[]";
	ytree_write_json(&b, list);
	text = arena_strdup(a, b.data);
	buf_release(&b);
	return text;
}

struct trained_on trained_on_write(const struct session *s, struct arena *a)
{
	struct trained_on t = { NULL, NULL };
	struct buf b = BUF_INIT;

	if (!s->train_set)
		return t;
	dataset_describe(s->train_set, &b);
	t.set = arena_strdup(a, b.data);
	t.transforms = transforms_text(s, a);
	buf_release(&b);
	return t;
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
	out->name = arena_printf(out->a, "checkpoint %s", ckpt_version_id(v));
	out->t.set = copy(out->a, ckpt_version_scalar(v, TRAINED_ON_SET));
	out->t.transforms = copy(out->a, ckpt_version_scalar(v, TRAINED_ON_TRANSFORMS));
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

/* Whether inputs have the same channels with the same statistics. */
static bool same_statistics(const struct dataset *a, const struct dataset *b)
{
	const int64_t n = dataset_info(a)->input.d[0];
	const struct channel_stats *x = dataset_statistics(a), *y = dataset_statistics(b);

	if (n != dataset_info(b)->input.d[0])
		return false;
	for (int64_t c = 0; c < n; c++)
		if (x[c].count && (x[c].mean != y[c].mean || x[c].std != y[c].std ||
		                   x[c].min != y[c].min || x[c].max != y[c].max))
			return false;
	return true;
}

void trained_on_compare(const struct session *s, const char *name, const struct st_file *f)
{
	struct arena *a = arena_new();
	const char *text = meta(a, f, TRAINED_ON_SET);
	struct dataset *was;
	int mark = err_count();

	if (text && s->train_set && dataset_from_description(&was, name, text) == 0) {
		if (!same_statistics(was, s->train_set))
			note("'%s' was trained with other statistics; this run's are those of 'data.train'",
			     name);
		dataset_free(was);
	}
	err_truncate(mark);
	arena_free(a);
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
		out->t.set = meta(out->a, &f, TRAINED_ON_SET);
		out->t.transforms = meta(out->a, &f, TRAINED_ON_TRANSFORMS);
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

static void tell(const struct session *s, const struct source *from)
{
	const char *now = transforms_text(s, from->a);

	if (from->name && !from->t.set)
		note("%s does not say what it was trained on; the statistics are those of "
		     "'data.train' as it is now", from->name);
	if (from->t.transforms && strcmp(from->t.transforms, now) != 0)
		note("%s was trained with other '%s': %s there, %s here", from->name,
		     s->config->data.validation_transforms ? "data.validation_transforms"
		                                           : "data.transforms", from->t.transforms, now);
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

	rc = ranks_agree(s->comm, rc, "looking at the weights");
	if (rc == 0) {
		if (comm_first(s->comm))
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
