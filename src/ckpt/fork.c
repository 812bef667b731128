/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A new run is made in this order: run.json, the chunks of its version, the manifest. If that is
 * interrupted, a run without a version is left, which the same command completes. No process
 * removes chunks while a hold is taken, so the chunks of a version whose manifest existed under the
 * hold stay until the new manifest names them. */
#include "ckpt/fork.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "ckpt/holds.h"
#include "ckpt/packs.h"
#include "ckpt/run_claim.h"
#include "ckpt/version_log.h"

static const char *manifest_path(struct arena *a, const char *root, const char *id)
{
	return arena_printf(a, "%s/" VERSIONS_FOLDER "/%s" MANIFEST_SUFFIX, root, id);
}

/* --- the run --- */

/* Whether the run has a version in the store. */
static int has_version(struct disk *d, const char *root, const char *run, bool *has)
{
	struct arena *a = arena_new();
	struct disk_names names;
	int rc = disk_list(&names, d, arena_printf(a, "%s/" VERSIONS_FOLDER, root));
	*has = false;
	for (int i = 0; rc == 0 && i < names.n && !*has; i++) {
		struct manifest m;
		int mark = err_count();
		const char *path = arena_printf(a, "%s/" VERSIONS_FOLDER "/%s", root, names.name[i]);
		if (names.name[i][0] != '.' && manifest_read(&m, a, d, path, NULL) == 0)
			*has = strcmp(m.run, run) == 0;
		err_truncate(mark);
	}
	if (rc == 0)
		disk_names_release(&names);
	arena_free(a);
	return rc;
}

/* The run of dir, made if there is none. */
static int begin_run(struct new_version *out, struct arena *a, struct disk *d, const char *root,
                     const char *dir)
{
	struct run_link link;
	bool has = false;
	const bool there = disk_exists(d, arena_printf(a, "%s/" RUN_LINK_FILE, dir));
	TRY(there ? run_link_read(&link, a, d, dir) : run_link_new(&link, a, d, dir, root));
	if (there)
		TRY(has_version(d, link.store, link.run, &has));
	if (has || strcmp(link.store, root) != 0)
		return ERR(E_USAGE, NULL, "'%s' is the folder of a run already; expected one that is new",
		           dir);
	snprintf(out->run, sizeof out->run, "%s", link.run);
	return run_claim_new(&link, d, dir);
}

/* Publishes the manifest as the run's first version and adds it to the log of its folder. */
static int publish(struct new_version *out, struct disk *d, const char *root, struct manifest *m,
                   const char *dir)
{
	uint64_t bytes;
	char *path;
	m->run = out->run;
	m->time = d->clock(d);
	m->serial = 0;
	TRY(manifest_publish(m, d, root, out->id, &path, &bytes));
	mem_free(path);
	return version_log_add(d, dir, VERSION_LOG_SAVED, out->id);
}

/* --- forks --- */

static int fork_held(struct new_version *out, struct arena *a, struct disk *d, const char *root,
                     const char *id, const char *dir, struct hold *h)
{
	const char *const parent[] = { id };
	struct manifest m;
	bool alone;
	TRY(hold_alone(h, &alone));
	if (!alone)
		return ERR(E_UNAVAILABLE, NULL, "another process removes old chunks from '%s'; try again "
		           "when it is done", root);
	TRY(manifest_read(&m, a, d, manifest_path(a, root, id), id));
	m.nparents = 1;
	m.parent = parent;
	m.fork = true;
	return publish(out, d, root, &m, dir);
}

int fork_version(struct new_version *out, struct disk *d, const char *root, const char *id,
                 const char *dir)
{
	struct arena *a = arena_new();
	struct manifest m;
	struct hold *h = NULL;
	int rc = manifest_read(&m, a, d, manifest_path(a, root, id), id);
	if (rc == 0)
		rc = begin_run(out, a, d, root, dir);
	if (rc == 0)
		rc = hold_take(&h, d, root, HOLD_SAVE, out->run);
	if (rc == 0)
		rc = fork_held(out, a, d, root, id, dir, h);
	hold_drop(h);
	arena_free(a);
	return rc < 0 ? err_context(rc, "while forking version '%s' into '%s'", id, dir) : 0;
}

/* --- from elsewhere --- */

/* p: packs of which chunks may be used that are there, or NULL. */
static int put_tensor(struct pack_writer *w, const struct packs *p, struct arena *a,
                      struct manifest_tensor *x, const char *data)
{
	struct hash128 *chunk;
	x->nchunks = manifest_chunks(x);
	x->chunk = chunk = ARENA_ARRAY(a, struct hash128, x->nchunks);
	for (int64_t k = 0; k < x->nchunks; k++) {
		const char *raw = data + (size_t)k * CHUNK_RAW;
		const size_t n = manifest_chunk_bytes(x, k);
		chunk[k] = hash128_bytes(raw, n);
		if (!p || !packs_has(p, chunk[k], n))
			TRY(pack_put(w, chunk[k], raw, n, (int)dtype_size(x->dtype)));
	}
	return 0;
}

static int put_tensors(struct arena *a, struct disk *d, const char *root, const char *name,
                       struct hold *h, struct manifest *m, const void *const *data, int level)
{
	struct manifest_tensor *x = arena_copy(a, m->tensor, sizeof *x * (size_t)m->ntensors);
	struct pack_writer *w;
	struct packs *p;
	uint64_t bytes;
	bool alone;
	int rc;
	m->tensor = x;
	TRY(hold_alone(h, &alone));
	TRY(packs_open(&p, d, root));
	rc = pack_begin(&w, p, name, level);
	for (int i = 0; i < m->ntensors && rc == 0; i++) {
		rc = put_tensor(w, alone ? p : NULL, a, &x[i], data[i]);
		if (rc < 0)
			pack_discard(w);
	}
	if (rc == 0)
		rc = pack_finish(w, &bytes);
	packs_close(p);
	return rc;
}

int graft_version(struct new_version *out, struct disk *d, const char *root, struct manifest *m,
                  const void *const *data, int level, const char *dir)
{
	struct arena *a = arena_new();
	struct hold *h = NULL;
	int rc = disk_mkdirs(d, root);
	if (rc == 0)
		rc = begin_run(out, a, d, root, dir);
	if (rc == 0)
		rc = hold_take(&h, d, root, HOLD_SAVE, out->run);
	if (rc == 0)
		rc = put_tensors(a, d, root, out->run, h, m, data, level);
	if (rc == 0)
		rc = publish(out, d, root, m, dir);
	hold_drop(h);
	m->tensor = NULL;
	arena_free(a);
	return rc < 0 ? err_context(rc, "while making a version in '%s'", dir) : 0;
}
