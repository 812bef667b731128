/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loading. A version is found by name, its manifest verified, both files unpacked and verified
 * against it, and only then handed out: what is returned is what was saved, bit by bit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/io_reader.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/pack.h"
#include "ckpt/safetensors.h"
#include "ckpt/version_list.h"

struct ckpt_version {
	struct arena *a;
	char id[CKPT_ID];
	struct manifest manifest;
	void *image[CKPT_NFILES];
	struct ckpt_state state;
};

void ckpt_version_free(struct ckpt_version *v)
{
	if (!v)
		return;
	for (int i = 0; i < CKPT_NFILES; i++)
		if (v->image[i])
			mem_unmap(v->image[i], (size_t)v->manifest.file[i].raw_bytes);
	arena_free(v->a);
	mem_free(v);
}

/* --- one version --- */

/* How much of a version is read. */
enum extent { MANIFEST, WHOLE };

static int read_manifest(struct ckpt_version *v, const char *folder)
{
	const char *path = arena_printf(v->a, "%s/%s", folder, CKPT_MANIFEST);
	struct io_image text;
	int rc;
	if (!io_exists(path))
		return ERR(E_DATA, NULL, "'%s' is no checkpoint: it has no %s", folder, CKPT_MANIFEST);
	io_input(path);
	TRY(io_image_read(&text, path));
	rc = manifest_parse(&v->manifest, v->a, path, (const char *)text.data, text.size);
	io_image_release(&text);
	manifest_id(&v->manifest, v->id);
	return rc;
}

static int read_file(struct ckpt_version *v, const char *folder, int i, struct st_file *st)
{
	const char *path = arena_printf(v->a, "%s/%s", folder, ckpt_file_names[i]);
	io_input(path);
	TRY(unpack_file(&v->image[i], path, &v->manifest.file[i]));
	return st_parse(st, v->a, path, v->image[i], (size_t)v->manifest.file[i].raw_bytes);
}

static void fill_state(struct ckpt_version *v, const struct st_file st[CKPT_NFILES])
{
	int n = st[CKPT_WEIGHTS].n + st[CKPT_STATE].n;
	struct ckpt_tensor *t = ARENA_ARRAY(v->a, struct ckpt_tensor, n);
	v->state = (struct ckpt_state){
		.step = v->manifest.step, .epoch = v->manifest.epoch,
		.metric = v->manifest.metric, .metric_name = v->manifest.metric_name,
		.ntensors = n, .tensor = t,
		.nscalars = v->manifest.nscalars, .scalar = v->manifest.scalar,
	};
	for (int f = 0; f < CKPT_NFILES; f++)
		for (int i = 0; i < st[f].n; i++) {
			const struct st_tensor *x = &st[f].tensor[i];
			*t++ = (struct ckpt_tensor){ x->name, x->dtype, x->shape, x->data,
			                             f == CKPT_WEIGHTS };
		}
}

static int read_version(struct ckpt_version *v, const char *folder, enum extent extent)
{
	struct st_file st[CKPT_NFILES] = { { 0 } };
	TRY(read_manifest(v, folder));
	if (extent == MANIFEST) {
		fill_state(v, st);
		return 0;
	}
	for (int i = 0; i < CKPT_NFILES; i++)
		TRY(read_file(v, folder, i, &st[i]));
	fill_state(v, st);
	return 0;
}

/* id: what the version must be, or NULL for any. */
static int load(struct ckpt_version **out, const char *folder, const char *id, enum extent extent)
{
	struct ckpt_version *v = mem_calloc(1, sizeof *v);
	int rc;
	*out = NULL;
	v->a = arena_new();
	rc = read_version(v, folder, extent);
	if (rc == 0 && id && strcmp(id, v->id) != 0)
		rc = ERR(E_DATA, NULL, "'%s' holds another version: '%s'", folder, v->id);
	if (rc < 0) {
		ckpt_version_free(v);
		return err_context(rc, "while loading the checkpoint '%s'", folder);
	}
	*out = v;
	return 0;
}

/* --- the newest intact one --- */

static void warn_damaged(const char *id, const char *why)
{
	warn("checkpoint '%s' is damaged and skipped: %s", id, why);
}

/* Without its manifest a version's place in the order is unknown: it may be the newest, so that all
 * of these are named, before any other is tried. */
static int load_newest(struct ckpt_version **out, const char *dir, const struct version_list *l,
                       enum extent extent)
{
	int mark = err_count(), code = E_DATA, i;
	for (i = 0; i < l->n && l->v[i].damage; i++)
		if (extent == WHOLE)
			warn_damaged(l->v[i].id, l->v[i].damage);
	for (int first = i, k = l->n - 1; k >= first; k--) {
		char *folder = io_join(dir, l->v[k].id);
		int rc = load(out, folder, l->v[k].id, extent);
		mem_free(folder);
		if (rc == 0 || rc == E_NOMEM)
			return rc;
		if (extent == WHOLE)
			warn_damaged(l->v[k].id, err_count() > mark ? err_get(mark)->text : err_name(rc));
		err_truncate(mark);
		code = rc == E_IO ? E_IO : code;
	}
	if (l->n > 0)
		return ERR(code, NULL, "none of the %d checkpoints in '%s' is intact", l->n, dir);
	return 0;
}

/* --- the one named --- */

enum fit { FIT_NONE, FIT_PREFIX, FIT_STEP, FIT_ID };

/* How well the user's word fits an id: in full, as its step number, or as its beginning. Its zeros
 * in front may be left out; but 40 is step 40 then, never the beginning of 400. */
static enum fit fit(const char *id, const char *word)
{
	size_t n = strlen(word);
	const char *bare = strchr(word, '-') ? id + strspn(id, "0") : id;
	if (strcmp(id, word) == 0 || strcmp(bare, word) == 0)
		return FIT_ID;
	if (n && !word[strspn(word, "0123456789")] &&
	    strtoull(word, NULL, 10) == strtoull(id, NULL, 10))
		return FIT_STEP;
	if (n && (strncmp(id, word, n) == 0 || strncmp(bare, word, n) == 0))
		return FIT_PREFIX;
	return FIT_NONE;
}

static int ambiguous(const struct version_list *l, const char *word, enum fit best)
{
	struct buf names = BUF_INIT;
	int rc;
	for (int i = 0; i < l->n; i++)
		if (fit(l->v[i].id, word) == best)
			buf_printf(&names, "%s'%s'", names.len ? ", " : "", l->v[i].id);
	rc = ERR(E_USAGE, NULL, "'%s' fits several checkpoints: %s", word, names.data);
	buf_release(&names);
	return rc;
}

/* The index of the version that word names, -1 if there is none, or an error in *rc. */
static int find(const struct version_list *l, const char *word, int *rc)
{
	enum fit best = FIT_NONE;
	int hit = -1, hits = 0;
	for (int i = 0; i < l->n; i++) {
		enum fit f = fit(l->v[i].id, word);
		if (f > best) {
			best = f;
			hits = 0;
		}
		if (f == best && f != FIT_NONE) {
			hit = i;
			hits++;
		}
	}
	*rc = hits > 1 ? ambiguous(l, word, best) : 0;
	return hit;
}

static int load_named(struct ckpt_version **out, const char *dir, const struct version_list *l,
                      const char *word, enum extent extent)
{
	char *folder;
	int i, rc;
	if (strchr(word, '/')) {
		if (!io_exists(word))
			return ERR(E_NOINPUT, NULL, "there is no checkpoint '%s'", word);
		return load(out, word, NULL, extent);
	}
	i = find(l, word, &rc);
	if (rc < 0)
		return rc;
	if (i < 0 && io_exists(word))
		return load(out, word, NULL, extent);
	if (i < 0)
		return ERR(E_NOINPUT, NULL, "there is no checkpoint '%s' in '%s'", word, dir);
	folder = io_join(dir, l->v[i].id);
	rc = load(out, folder, l->v[i].id, extent);
	mem_free(folder);
	return rc;
}

/* The best one that is intact. l is used up. */
static int load_best(struct ckpt_version **out, const char *dir, struct version_list *l,
                     enum extent extent)
{
	int mark = err_count(), code = 0, i;
	while ((i = version_list_best(l)) >= 0) {
		char *folder = io_join(dir, l->v[i].id);
		int rc = load(out, folder, l->v[i].id, extent);
		mem_free(folder);
		if (rc == 0 || rc == E_NOMEM)
			return rc;
		if (extent == WHOLE)
			warn_damaged(l->v[i].id, err_count() > mark ? err_get(mark)->text : err_name(rc));
		err_truncate(mark);
		version_list_remove(l, i);
		code = rc;
	}
	if (code)
		return ERR(code, NULL, "no checkpoint with a validation in '%s' is intact", dir);
	return ERR(E_NOINPUT, NULL, "no checkpoint in '%s' has a validation, so that none is best",
	           dir);
}

static int load_which(struct ckpt_version **out, const char *dir, const char *which,
                      enum extent extent)
{
	struct version_list l;
	int rc;
	*out = NULL;
	TRY(version_list_read(&l, dir));
	if (strcmp(which, "last") == 0 && l.n == 0)
		rc = ERR(E_NOINPUT, NULL, "there is no checkpoint in '%s'", dir);
	else if (strcmp(which, "auto") == 0 || strcmp(which, "last") == 0)
		rc = load_newest(out, dir, &l, extent);
	else if (strcmp(which, "best") == 0)
		rc = load_best(out, dir, &l, extent);
	else
		rc = load_named(out, dir, &l, which, extent);
	version_list_release(&l);
	return rc;
}

int ckpt_load(struct ckpt_version **out, const char *dir, const char *which)
{
	return load_which(out, dir, which, WHOLE);
}

int ckpt_look(struct ckpt_version **out, const char *dir, const char *which)
{
	return load_which(out, dir, which, MANIFEST);
}

/* --- access --- */

const char *ckpt_version_id(const struct ckpt_version *v)
{
	return v->id;
}

const char *ckpt_version_parent(const struct ckpt_version *v)
{
	return v->manifest.parent;
}

const struct ckpt_state *ckpt_version_state(const struct ckpt_version *v)
{
	return &v->state;
}

const struct ckpt_tensor *ckpt_version_find(const struct ckpt_version *v, const char *name)
{
	for (int i = 0; i < v->state.ntensors; i++)
		if (strcmp(v->state.tensor[i].name, name) == 0)
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
