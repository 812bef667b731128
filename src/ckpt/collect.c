/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Marks the chunks that manifests name, then removes packs. If only a part of a pack is still
 * needed, the needed chunks are copied to a new pack, which is durable before the old one is
 * removed. If the process is killed at any point, a chunk exists at most twice, and the next
 * collection removes one copy. */
#include "ckpt/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "ckpt/holds.h"
#include "ckpt/manifest.h"
#include "ckpt/packs.h"

struct needed {
	struct hash128 *address;           /* sorted, each once */
	bool *taken;                       /* a pack that is kept contains it */
	size_t n, cap;
};

static int compare(const void *a, const void *b)
{
	return hash128_order(*(const struct hash128 *)a, *(const struct hash128 *)b);
}

/* --- marking --- */

static void need(struct needed *s, struct hash128 address)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 1024;
		s->address = mem_realloc(s->address, s->cap * sizeof *s->address);
	}
	s->address[s->n++] = address;
}

static int need_manifest(struct needed *s, struct disk *d, const char *path)
{
	const int mark = err_count();
	struct arena *a = arena_new();
	struct manifest m;
	int rc = manifest_read(&m, a, d, path, NULL);
	for (int i = 0; rc == 0 && i < m.ntensors; i++)
		for (int64_t k = 0; k < m.tensor[i].nchunks; k++)
			need(s, m.tensor[i].chunk[k]);
	if (rc == E_NOINPUT) {             /* another process has removed the version */
		err_truncate(mark);
		rc = 0;
	}
	arena_free(a);
	return rc;
}

static void sort_needed(struct needed *s)
{
	size_t kept = 0;
	if (s->n > 1)
		qsort(s->address, s->n, sizeof *s->address, compare);
	for (size_t i = 0; i < s->n; i++)
		if (kept == 0 || !hash128_equal(s->address[i], s->address[kept - 1]))
			s->address[kept++] = s->address[i];
	s->n = kept;
	s->taken = mem_calloc(kept + 1, sizeof *s->taken);
}

static int read_needed(struct needed *s, struct disk *d, const char *root)
{
	char *folder = io_join(root, VERSIONS_FOLDER);
	struct disk_names names;
	int rc = disk_list(&names, d, folder);
	for (int i = 0; i < names.n && rc == 0; i++) {
		if (names.name[i][0] == '.' || !io_ends_in(names.name[i], MANIFEST_SUFFIX))
			continue;
		char *path = io_join(folder, names.name[i]);
		rc = need_manifest(s, d, path);
		mem_free(path);
	}
	disk_names_release(&names);
	mem_free(folder);
	if (rc == 0)
		sort_needed(s);
	return rc;
}

/* The index of an address that is needed and that no pack before has taken, or -1. */
static ptrdiff_t open_need(const struct needed *s, struct hash128 address)
{
	const struct hash128 *hit = !s->n ? NULL
	    : bsearch(&address, s->address, s->n, sizeof address, compare);
	return hit && !s->taken[hit - s->address] ? hit - s->address : -1;
}

/* --- sweeping --- */

struct sweep {
	struct collected *out;
	struct packs *packs;
	struct needed *needed;
	struct pack_writer *anew;          /* NULL before the first chunk */
	struct disk *disk;
	const char *root, *name;
	const char *run;                   /* see collect_packs_beside; NULL: none */
	bool only;
	char **old;                        /* names of packs to remove; owned */
	int nold;
};

struct use {
	uint64_t needed, all;              /* stored bytes of chunks */
};

static struct use use_of(const struct sweep *w, int pack)
{
	struct use u = { 0 };
	for (int i = 0; i < packs_at(w->packs, pack).chunks; i++) {
		const struct pack_chunk c = packs_chunk(w->packs, pack, i);
		u.all += c.stored;
		if (open_need(w->needed, c.address) >= 0)
			u.needed += c.stored;
	}
	return u;
}

static void take(struct sweep *w, int pack)
{
	for (int i = 0; i < packs_at(w->packs, pack).chunks; i++) {
		const ptrdiff_t at = open_need(w->needed, packs_chunk(w->packs, pack, i).address);
		if (at >= 0)
			w->needed->taken[at] = true;
	}
}

static int copy_needed(struct sweep *w, int pack)
{
	if (!w->anew)
		TRY(pack_begin(&w->anew, w->packs, w->name, 0));
	for (int i = 0; i < packs_at(w->packs, pack).chunks; i++)
		if (open_need(w->needed, packs_chunk(w->packs, pack, i).address) >= 0)
			TRY(pack_put_from(w->anew, pack, i));
	return 0;
}

/* A pack with a chunk that cannot be read stays as it is, for inspection. */
static int pack_anew(struct sweep *w, int pack)
{
	const int mark = err_count();
	int rc = w->only ? 0 : copy_needed(w, pack);
	take(w, pack);
	if (rc == E_DATA) {
		warn("%s; the pack stays", err_get(mark)->text);
		err_truncate(mark);
		return 0;
	}
	w->out->packed_anew += rc == 0;
	return rc < 0 ? rc : 1;
}

static void remove_later(struct sweep *w, int pack)
{
	const struct pack_stat k = packs_at(w->packs, pack);
	w->old[w->nold++] = mem_strdup(k.name);
	w->out->bytes += k.bytes;
}

#define YOUNG ((int64_t)600)           /* seconds; an older pack without a manifest is not part of a
                                        * running save */

/* Whether the pack may be of a save under way whose hold is gone already, as that of a rank above
 * rank 0 is. */
static bool under_way(const struct sweep *w, const char *name)
{
	struct disk_stat st;
	if (!w->run || strstr(name, w->run))
		return false;
	char *folder = io_join(w->root, PACKS_FOLDER), *path = io_join(folder, name);
	const bool young = w->disk->stat(w->disk, path, &st) == 0 &&
	                   w->disk->clock(w->disk) - st.changed < YOUNG;
	mem_free(folder);
	mem_free(path);
	return young;
}

/* Packs that are kept as a whole claim their chunks first, so that no chunk is copied which they
 * contain. */
static void keep_whole(struct sweep *w, bool *whole)
{
	for (int i = 0; i < packs_count(w->packs); i++) {
		const struct use u = use_of(w, i);
		whole[i] = (u.needed > 0 && u.needed * 2 >= u.all) ||
		           under_way(w, packs_at(w->packs, i).name);
		if (whole[i])
			take(w, i);
	}
}

static int sort_out(struct sweep *w, const bool *whole)
{
	for (int i = 0; i < packs_count(w->packs); i++) {
		if (whole[i])
			continue;
		int rc = 1;
		if (use_of(w, i).needed > 0)
			rc = pack_anew(w, i);
		else
			w->out->packs++;
		if (rc < 0)
			return rc;
		if (rc > 0)
			remove_later(w, i);
	}
	return 0;
}

static int finish_anew(struct sweep *w, int rc)
{
	uint64_t bytes = 0;
	if (!w->anew)
		return rc;
	if (rc < 0)
		pack_discard(w->anew);
	else
		rc = pack_finish(w->anew, &bytes);
	w->out->bytes -= bytes < w->out->bytes ? bytes : w->out->bytes;
	return rc;
}

/* A version whose removal is not durable may be back after a crash, and would miss its chunks. */
static int settle_versions(const struct sweep *w)
{
	char *folder = io_join(w->root, VERSIONS_FOLDER);
	int rc = disk_exists(w->disk, folder) ? disk_sync_folder(w->disk, folder) : 0;
	mem_free(folder);
	return rc;
}

static int sweep(struct sweep *w)
{
	const size_t n = (size_t)packs_count(w->packs) + 1;
	bool *whole = mem_calloc(n, sizeof *whole);
	w->old = mem_calloc(n, sizeof *w->old);
	keep_whole(w, whole);
	int rc = finish_anew(w, sort_out(w, whole));
	if (rc == 0 && !w->only && w->nold)
		rc = settle_versions(w);
	for (int i = 0; i < w->nold; i++) {
		if (rc == 0 && !w->only) {
			rc = pack_remove(w->packs, w->old[i]);
			io_crash_point("ckpt_collected");
		}
		mem_free(w->old[i]);
	}
	mem_free(w->old);
	mem_free(whole);
	return rc;
}

static int collect(struct sweep *w, struct hold *h)
{
	struct needed needed = { 0 };
	bool alone;
	TRY(hold_alone(h, &alone));        /* after the listing of the packs: see holds.h */
	w->out->busy = !alone;
	w->only = w->only || !alone;
	w->needed = &needed;
	int rc = read_needed(&needed, w->disk, w->root);
	if (rc == 0)
		rc = sweep(w);
	mem_free(needed.address);
	mem_free(needed.taken);
	return rc < 0 ? err_context(rc, "while looking for what no checkpoint in '%s' needs", w->root)
	              : 0;
}

static int collect_held(struct sweep *w)
{
	struct hold *h;
	*w->out = (struct collected){ 0 };
	TRY(hold_take(&h, w->disk, w->root, HOLD_GC, w->name));
	int rc = packs_open(&w->packs, w->disk, w->root);
	if (rc == 0)
		rc = collect(w, h);
	packs_close(w->packs);
	hold_drop(h);
	return rc;
}

int collect_packs(struct collected *out, struct disk *d, const char *root, const char *name,
                  bool only)
{
	return collect_held(&(struct sweep){ .out = out, .disk = d, .root = root, .name = name,
		.only = only });
}

int collect_packs_beside(struct collected *out, struct disk *d, const char *root, const char *name,
                         const char *run)
{
	return collect_held(&(struct sweep){ .out = out, .disk = d, .root = root, .name = name,
		.run = run });
}
