/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists, orders, expires and removes versions. They are ordered by the serial number in the
 * manifest: if a run went back to an older step and continued from there, its latest save is the
 * newest version, not the one with the highest step. */
#include "ckpt/version_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/holds.h"
#include "ckpt/packs.h"
#include "ckpt/plain.h"
#include "ckpt/version_id.h"
#include "ckpt/version_walk.h"

static struct version *append(struct version_list *l, const char *id, const char *path)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 16;
		l->v = mem_realloc(l->v, (size_t)l->cap * sizeof *l->v);
	}
	struct version *v = &l->v[l->n++];
	*v = (struct version){ .path = mem_strdup(path), .own = true };
	snprintf(v->id, sizeof v->id, "%s", id);
	return v;
}

static void describe(struct version *v, const struct manifest *m)
{
	v->serial = m->serial;
	v->step = m->step;
	v->time = m->time;
	v->metric = m->metric;
	v->metric_key = m->metric_name ? hash_name(m->metric_name) : 0;
	if (m->nparents)
		snprintf(v->parent, sizeof v->parent, "%s", m->parent[0]);
}

void version_list_add(struct version_list *l, const char *id, const char *path,
                      const struct manifest *m)
{
	describe(append(l, id, path), m);
}

struct reading {
	struct version_list *l;
	const struct run_link *link;
};

/* A version without a readable manifest stays in the list, with the reason. */
static void add_seen(void *arg, const struct version_seen *seen)
{
	const struct reading *r = arg;
	struct version *v = append(r->l, seen->id, seen->path);
	if (!seen->m) {
		v->serial = -1;
		v->damage = mem_strdup(seen->damage);
		return;
	}
	v->own = !r->link->run[0] || strcmp(seen->m->run, r->link->run) == 0;
	describe(v, seen->m);
}

static int by_age(const void *a, const void *b)
{
	const struct version *x = a, *y = b;
	if (x->own != y->own)
		return x->own ? 1 : -1;
	if (x->serial != y->serial)
		return x->serial < y->serial ? -1 : 1;
	return strcmp(x->id, y->id);
}

int version_list_read(struct version_list *out, struct disk *d, const struct run_link *link)
{
	*out = (struct version_list){ 0 };
	const int rc = version_walk(d, link->store, add_seen, &(struct reading){ out, link });
	if (rc < 0) {
		version_list_release(out);
		return rc;
	}
	if (out->n > 1)
		qsort(out->v, (size_t)out->n, sizeof *out->v, by_age);
	while (out->first < out->n && (!out->v[out->first].own || out->v[out->first].damage))
		out->first++;
	return 0;
}

static void version_release(struct version *v)
{
	mem_free(v->path);
	mem_free(v->damage);
}

void version_list_release(struct version_list *l)
{
	for (int i = 0; i < l->n; i++)
		version_release(&l->v[i]);
	mem_free(l->v);
	*l = (struct version_list){ 0 };
}

bool version_list_any(const struct version_list *l)
{
	return l->n && l->v[l->n - 1].own;
}

void version_list_remove(struct version_list *l, int i)
{
	version_release(&l->v[i]);
	memmove(&l->v[i], &l->v[i + 1], (size_t)(l->n - i - 1) * sizeof *l->v);
	l->n--;
	l->first -= i < l->first;
}

/* --- the keep policy --- */

/* How many versions have a better metric than version i; of equal ones the older is better. */
static int64_t rank_of(const struct version_list *l, int i)
{
	int64_t better = 0;
	for (int j = l->first; j < l->n; j++)
		if (l->v[j].metric_key == l->v[i].metric_key &&
		    (l->v[j].metric > l->v[i].metric || (l->v[j].metric == l->v[i].metric && j < i)))
			better++;
	return better;
}

/* The metric by which versions are compared: that of the newest version that has one. */
static uint64_t metric_in_use(const struct version_list *l)
{
	for (int i = l->n - 1; i >= l->first; i--)
		if (l->v[i].metric_key)
			return l->v[i].metric_key;
	return 0;
}

int version_list_expired(const struct version_list *l, const struct ckpt_keep *keep,
                         const struct refs *refs)
{
	const uint64_t key = metric_in_use(l);
	for (int i = l->first; i < l->n; i++) {
		const struct version *v = &l->v[i];
		const bool last = l->n - i <= keep->last;
		const bool best = key && v->metric_key == key && rank_of(l, i) < keep->best;
		const bool nth = keep->every && v->step % keep->every == 0;
		if (!last && !best && !nth && !refs_keep(refs, v->id))
			return i;
	}
	return -1;
}

int version_list_best(const struct version_list *l)
{
	const uint64_t key = metric_in_use(l);
	for (int i = l->first; i < l->n; i++)
		if (key && l->v[i].metric_key == key && rank_of(l, i) == 0)
			return i;
	return -1;
}

/* --- deleting --- */

int version_remove(struct disk *d, const struct version *v)
{
	const int rc = disk_remove(d, v->path);
	io_crash_point("ckpt_removed");
	return rc;
}

/* Temporary files of tags, pins and claims are removed only at HOLD_AGE, because any process of a
 * user may be writing one. */
static int clean_store(struct disk *d, const char *root, int64_t age)
{
	const struct {
		const char *name;
		int64_t age;
	} folders[] = { { VERSIONS_FOLDER, age }, { PACKS_FOLDER, age }, { TAGS_FOLDER, HOLD_AGE },
		{ PINS_FOLDER, HOLD_AGE }, { RUNS_FOLDER, HOLD_AGE } };
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < sizeof folders / sizeof *folders; i++) {
		char *folder = io_join(root, folders[i].name);
		rc = disk_clean(d, folder, folders[i].age);
		mem_free(folder);
		io_crash_point("ckpt_cleaned");
	}
	return rc;
}

int version_clean(struct disk *d, const struct run_link *link, const char *dir, int64_t age)
{
	struct disk_names names;
	TRY(clean_store(d, link->store, age));
	TRY(disk_list(&names, d, dir));
	int rc = 0;
	for (int i = 0; rc == 0 && i < names.n; i++) {
		struct disk_stat st;
		if (strncmp(names.name[i], DISK_TMP, strlen(DISK_TMP)) != 0 &&
		    strncmp(names.name[i], PLAIN_TMP, strlen(PLAIN_TMP)) != 0)
			continue;
		char *path = io_join(dir, names.name[i]);
		if (d->stat(d, path, &st) == 0)
			rc = st.folder ? io_remove_tree(path) : disk_unlink(d, path);
		io_crash_point("ckpt_cleaned");
		mem_free(path);
	}
	disk_names_release(&names);
	return rc;
}
