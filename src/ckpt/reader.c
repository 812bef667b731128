/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loading. A version is found by its name or its place in the order. Every byte of it is verified
 * against its manifest before it is returned, so the result is bitwise what was saved. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/round.h"
#include "ckpt/packs.h"
#include "ckpt/run_claim.h"
#include "ckpt/run_store.h"
#include "ckpt/version_id.h"
#include "ckpt/version_list.h"
#include "ckpt/version_log.h"

struct ckpt_version {
	struct arena *a;
	char id[CKPT_ID];
	struct manifest manifest;
	char *image;                   /* the tensors */
	size_t bytes;
	struct ckpt_state state;
};

void ckpt_version_free(struct ckpt_version *v)
{
	if (!v)
		return;
	if (v->image)
		mem_unmap(v->image, v->bytes);
	arena_free(v->a);
	mem_free(v);
}

/* The part of a version that is read. */
enum extent { MANIFEST, WHOLE };

/* Where versions are looked for. */
struct store {
	struct disk *disk;
	const char *dir;               /* RUN/checkpoints, or a store */
	struct arena *a;
	struct run_link link;
	struct version_list list;
	enum extent extent;
	bool before;                   /* the parent of the named version is meant */
	const struct ckpt_helper *helper;  /* or NULL */
};

/* --- one version --- */

#define ALIGN ((size_t)64)

static size_t padded(const struct manifest_tensor *t)
{
	return round_up(manifest_bytes(t), ALIGN);
}

/* The chunks of all tensors, in order, at their places in the image. */
static struct ckpt_chunk *list_chunks(struct ckpt_version *v, int64_t *n)
{
	const struct manifest *m = &v->manifest;
	char *at = v->image;
	*n = 0;
	for (int i = 0; i < m->ntensors; i++)
		*n += m->tensor[i].nchunks;
	struct ckpt_chunk *chunk = ARENA_ARRAY(v->a, struct ckpt_chunk, *n), *c = chunk;
	for (int i = 0; i < m->ntensors; i++) {
		const struct manifest_tensor *t = &m->tensor[i];
		for (int64_t k = 0; k < t->nchunks; k++)
			*c++ = (struct ckpt_chunk){ t->chunk[k], manifest_chunk_bytes(t, k),
				at + (size_t)k * CHUNK_RAW, false };
		at += padded(t);
	}
	return chunk;
}

/* *chunk: its first, then that of the next tensor. */
static int read_tensor(struct packs *p, const struct manifest_tensor *t, struct ckpt_chunk **chunk)
{
	for (int64_t i = 0; i < t->nchunks; i++) {
		const struct ckpt_chunk *c = (*chunk)++;
		if (!c->read)
			TRYC(packs_read_moved(p, c->address, c->to, c->n), "in tensor '%s', chunk %" PRId64,
			     t->name, i);
	}
	return 0;
}

/* An output must not be one of the packs that are read. */
static void note_inputs(struct arena *a, const struct packs *p, const char *root)
{
	for (int i = 0; i < packs_count(p); i++)
		io_input(arena_printf(a, "%s/" PACKS_FOLDER "/%s", root, packs_at(p, i).name));
}

static int read_tensors(struct ckpt_version *v, struct packs *p, const char *root,
                        const struct ckpt_helper *helper)
{
	const struct manifest *m = &v->manifest;
	struct ckpt_tensor *out = ARENA_ARRAY(v->a, struct ckpt_tensor, m->ntensors);
	size_t at = 0;
	int64_t n;
	for (int i = 0; i < m->ntensors; i++)
		v->bytes += padded(&m->tensor[i]);
	v->bytes += !v->bytes;
	v->image = mem_map(v->bytes);
	if (!v->image)
		return ERR(E_NOMEM, NULL, "no memory for the %zu bytes of a checkpoint", v->bytes);
	struct ckpt_chunk *chunk = list_chunks(v, &n);
	if (helper)
		helper->read(helper->arg, root, chunk, n);
	for (int i = 0; i < m->ntensors; i++) {
		const struct manifest_tensor *t = &m->tensor[i];
		TRY(read_tensor(p, t, &chunk));
		out[i] = (struct ckpt_tensor){ t->name, t->dtype, t->shape, v->image + at, t->weight };
		at += padded(t);
	}
	v->state.tensor = out;
	v->state.ntensors = m->ntensors;
	return 0;
}

static void fill_state(struct ckpt_version *v)
{
	const struct manifest *m = &v->manifest;
	v->state = (struct ckpt_state){ .step = m->step, .epoch = m->epoch,
		.age = { m->time, m->serial }, .metric = m->metric,
		.metric_name = m->metric_name, .nmetrics = m->nmetrics, .metrics = m->metrics,
		.config = m->config, .program = m->program, .data = m->data, .nscalars = m->nscalars,
		.scalar = m->scalar };
}

/* root: of the store that the manifest is in. */
static int read_version(struct ckpt_version *v, const struct store *s, const char *path,
                        const char *root)
{
	struct disk *d = s->disk;
	struct packs *p;
	if (d == disk_system())
		io_input(path);
	TRY(manifest_read(&v->manifest, v->a, d, path, NULL));
	manifest_id(&v->manifest, v->id);
	fill_state(v);
	if (s->extent == MANIFEST)
		return 0;
	TRY(packs_open(&p, d, root));
	if (d == disk_system())
		note_inputs(v->a, p, root);
	int rc = read_tensors(v, p, root, s->helper);
	packs_close(p);
	return rc;
}

/* root: of the store. id: what the version must be, or NULL for any. */
static int load(struct ckpt_version **out, const struct store *s, const char *path,
                const char *root, const char *id)
{
	struct ckpt_version *v = mem_calloc(1, sizeof *v);
	*out = NULL;
	v->a = arena_new();
	int rc = read_version(v, s, path, root);
	if (rc == 0 && id && strcmp(id, v->id) != 0)
		rc = ERR(E_DATA, NULL, "'%s' holds another version: '%s'", path, v->id);
	if (rc < 0) {
		ckpt_version_free(v);
		return err_context(rc, "while loading the checkpoint '%s'", path);
	}
	*out = v;
	return 0;
}

static int load_at(struct ckpt_version **out, const struct store *s, int i)
{
	const struct version *v = &s->list.v[i];
	return load(out, s, v->path, s->link.store, v->id);
}

/* A path that a user gives: STORE/versions/ID.json. */
static int load_path(struct ckpt_version **out, const struct store *s, const char *path)
{
	struct disk_stat st;
	if (s->disk->stat(s->disk, path, &st) != 0)
		return ERR(E_NOINPUT, NULL, "there is no checkpoint '%s'", path);
	if (st.folder)
		return ERR(E_DATA, NULL, "'%s' is a folder; the path of a checkpoint is that of its "
		           "manifest, STORE/versions/ID.json", path);
	const char *slash = strrchr(path, '/');
	const int folder = slash ? (int)(slash - path) : 0;
	const char *root = slash ? arena_printf(s->a, "%.*s/..", folder, path) : "..";
	return load(out, s, path, root, NULL);
}

/* --- the newest intact one --- */

static void warn_damaged(const struct store *s, const char *id, int rc, const char *why)
{
	if (s->extent == WHOLE)
		warn("checkpoint '%s' is %s and skipped: %s", id,
		     rc == E_IO ? "not readable" : "damaged", why);
}

/* Tries version i; E_DATA and E_IO are a warning and leave *out NULL. */
static int try_version(struct ckpt_version **out, const struct store *s, int i, int *code)
{
	const int mark = err_count();
	int rc = load_at(out, s, i);
	if (rc == 0 || rc == E_NOMEM)
		return rc;
	warn_damaged(s, s->list.v[i].id, rc, err_count() > mark ? err_get(mark)->text : err_name(rc));
	err_truncate(mark);
	*code = rc == E_IO ? E_IO : *code;
	return 0;
}

/* The index of what version i comes from, if it is there, else of the one before. */
static int parent_of(const struct version_list *l, int i)
{
	for (int k = l->first; k < i; k++)
		if (strcmp(l->v[k].id, l->v[i].parent) == 0)
			return k;
	return i - 1;
}

/* Skips versions from which several processes continued without success, unless there is no older
 * version. */
static int before_failing(const struct store *s, int i)
{
	const struct version_list *l = &s->list;
	for (int parent; i > l->first; i = parent) {
		if (version_log_failures(s->disk, s->dir, l->v[i].id) < RESUMES_MOST)
			break;
		parent = parent_of(l, i);
		if (s->extent == WHOLE)
			warn("%d runs went on from checkpoint '%s' and ended before they saved another; "
			     "this one goes on from '%s' (--resume=%s takes that one again)", RESUMES_MOST,
			     l->v[i].id, l->v[parent].id, l->v[i].id);
	}
	return i;
}

/* Loads the newest intact version. Without a manifest a version's place in the order is unknown. It
 * may be the newest, so all such versions are named in warnings before any other is tried. */
static int load_newest(struct ckpt_version **out, const struct store *s, bool guarded)
{
	const struct version_list *l = &s->list;
	int code = E_DATA, own = 0;
	for (int i = 0; i < l->first; i++)
		if (l->v[i].own) {
			warn_damaged(s, l->v[i].id, E_DATA, l->v[i].damage);
			own++;
		}
	own += l->n - l->first;
	int i = l->n - 1;
	if (guarded && i >= l->first)
		i = before_failing(s, i);
	for (; i >= l->first && !*out; i--)
		TRY(try_version(out, s, i, &code));
	if (!*out && own > 0)
		return ERR(code, NULL, "none of the %d checkpoints in '%s' %s", own, s->link.store,
		           code == E_IO ? "can be read" : "is intact");
	return 0;
}

/* --- the one named --- */

/* 1: *out is the index of the version that word names. */
static int find(const struct version_list *l, const char *word, int *out)
{
	struct version_search search = { .names = BUF_INIT };
	for (int i = 0; i < l->n; i++)
		version_match(&search, word, i, l->v[i].id, l->v[i].own);
	*out = search.hit;
	return version_search_end(&search, word);
}

/* The id that a tag of the store stands for, or the word itself. */
static int resolve_tag(const struct store *s, const char **word)
{
	struct refs refs;
	if (!refs_valid_tag(*word))
		return 0;
	TRY(refs_read(&refs, s->disk, s->link.store));
	const char *id = refs_find(&refs, *word);
	*word = id ? arena_strdup(s->a, id) : *word;
	refs_release(&refs);
	return 0;
}

static int load_named(struct ckpt_version **out, const struct store *s, const char *word)
{
	int i;
	if (strchr(word, '/'))
		return load_path(out, s, word);
	TRY(resolve_tag(s, &word));
	const int found = find(&s->list, word, &i);
	if (found)
		return found < 0 ? found : load_at(out, s, i);
	if (word[0] && disk_exists(s->disk, word))
		return load_path(out, s, word);
	return ERR(E_NOINPUT, NULL, "there is no checkpoint '%s' in '%s'; 'dlx-ckpt %s log' lists "
	           "those that are there", word, s->dir, run_folder_of(s->a, s->dir));
}

/* Loads the best intact version. Versions that were tried are removed from the list. */
static int load_best(struct ckpt_version **out, struct store *s)
{
	int code = 0, i;
	while ((i = version_list_best(&s->list)) >= 0) {
		code = E_DATA;
		TRY(try_version(out, s, i, &code));
		if (*out)
			return 0;
		version_list_remove(&s->list, i);
	}
	if (code)
		return ERR(code, NULL, "no checkpoint with a validation in '%s' %s", s->link.store,
		           code == E_IO ? "can be read" : "is intact");
	return ERR(E_NOINPUT, NULL, "no checkpoint in '%s' has a validation, so that none is best",
	           s->dir);
}

/* *out: NULL if there is none before it. */
static int load_before(struct ckpt_version **out, const struct store *s, const char *id)
{
	int i;
	const int found = find(&s->list, id, &i);
	if (found < 1 || i <= s->list.first)
		return found < 0 ? found : 0;
	return load_at(out, s, parent_of(&s->list, i));
}

static int load_which(struct ckpt_version **out, struct store *s, const char *which)
{
	if (s->before)
		return load_before(out, s, which);
	if (strcmp(which, "auto") == 0)
		return load_newest(out, s, true);
	if (strcmp(which, "last") == 0) {
		TRY(load_newest(out, s, false));
		return *out ? 0 : ERR(E_NOINPUT, NULL, "there is no checkpoint in '%s'", s->dir);
	}
	if (strcmp(which, "best") == 0)
		return load_best(out, s);
	return load_named(out, s, which);
}

static int open_store(struct store *s)
{
	const int mark = err_count();
	TRY(run_link_read(&s->link, s->a, s->disk, s->dir));
	TRY(run_store_read(version_list_read(&s->list, s->disk, &s->link), mark, s->disk,
	                   &s->link, s->dir));
	return run_store_check(s->disk, &s->link, s->dir, version_list_any(&s->list));
}

static int open_and_load(struct ckpt_version **out, struct store s, const char *which)
{
	s.a = arena_new();
	*out = NULL;
	int rc = open_store(&s);
	if (rc == 0)
		rc = load_which(out, &s, which);
	version_list_release(&s.list);
	arena_free(s.a);
	return rc;
}

int ckpt_present(const char *dir, bool saved)
{
	struct store s = { .disk = disk_system(), .dir = dir, .a = arena_new() };
	int rc = open_store(&s);
	if (rc == 0 && saved && !version_list_any(&s.list))
		rc = run_store_gone(s.disk, &s.link, dir);
	version_list_release(&s.list);
	arena_free(s.a);
	return rc;
}

int ckpt_load_on(struct ckpt_version **out, struct disk *disk, const char *dir, const char *which)
{
	return open_and_load(out, (struct store){ .disk = disk, .dir = dir, .extent = WHOLE }, which);
}

int ckpt_load(struct ckpt_version **out, const char *dir, const char *which)
{
	return ckpt_load_on(out, disk_system(), dir, which);
}

void ckpt_note_copy(const char *dir)
{
	const int mark = err_count();
	struct store s = { .disk = disk_system(), .dir = dir, .a = arena_new() };
	const struct version_list *l = &s.list;
	if (open_store(&s) == 0)
		run_claim_look(&s.link, s.disk, dir, l->n > l->first ? l->v[l->n - 1].id : NULL);
	err_truncate(mark);
	version_list_release(&s.list);
	arena_free(s.a);
}

int ckpt_look(struct ckpt_version **out, const char *dir, const char *which)
{
	return open_and_load(out, (struct store){ .disk = disk_system(), .dir = dir }, which);
}

int ckpt_look_before(struct ckpt_version **out, const char *dir, const char *id)
{
	const struct store s = { .disk = disk_system(), .dir = dir, .before = true };
	return open_and_load(out, s, id);
}

int ckpt_load_helped(struct ckpt_version **out, const char *dir, const char *which,
                     const struct ckpt_helper *helper)
{
	const struct store s = { .disk = disk_system(), .dir = dir, .extent = WHOLE,
		.helper = helper };
	return open_and_load(out, s, which);
}

void ckpt_read_chunks(const char *root, struct ckpt_chunk *const *chunk, int64_t n)
{
	const int mark = err_count();
	struct packs *p;
	if (n > 0 && packs_open(&p, disk_system(), root) == 0) {
		for (int64_t i = 0; i < n; i++)
			chunk[i]->read = packs_read_moved(p, chunk[i]->address, chunk[i]->to,
			                                  chunk[i]->n) == 0;
		packs_close(p);
	}
	err_truncate(mark);
}

/* --- access --- */

const char *ckpt_version_id(const struct ckpt_version *v)
{
	return v->id;
}

const char *ckpt_version_parent(const struct ckpt_version *v)
{
	return v->manifest.nparents ? v->manifest.parent[0] : NULL;
}

const struct ckpt_state *ckpt_version_state(const struct ckpt_version *v)
{
	return &v->state;
}

/* Weights come first. */
const struct ckpt_tensor *ckpt_version_find(const struct ckpt_version *v, const char *name)
{
	for (int weight = 1; weight >= 0; weight--)
		for (int i = 0; i < v->state.ntensors; i++)
			if (v->state.tensor[i].weight == weight && strcmp(v->state.tensor[i].name, name) == 0)
				return &v->state.tensor[i];
	return NULL;
}

const char *ckpt_version_scalar(const struct ckpt_version *v, const char *name)
{
	for (int i = 0; i < v->state.nscalars; i++)
		if (strcmp(v->state.scalar[i].name, name) == 0)
			return v->state.scalar[i].value;
	return NULL;
}
