/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Listing, ordering, expiring and deleting versions. What counts as a version is its name alone;
 * its order comes from the serial number in its manifest, so that a run which went back to an older
 * step and trained on from there is the newest, not the one that had come further. */
#include "ckpt/version_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/io_reader.h"
#include "base/mem.h"

/* Twelve or more digits, a hyphen, eight lower-case hexadecimal digits. */
static bool valid_name(const char *name)
{
	size_t digits = strspn(name, "0123456789");
	return digits >= 12 && digits < 20 && name[digits] == '-' &&
	       strspn(name + digits + 1, "0123456789abcdef") == 8 && !name[digits + 9];
}

static struct version *append(struct version_list *l, const char *id)
{
	struct version *v;
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 16;
		l->v = mem_realloc(l->v, (size_t)l->cap * sizeof *l->v);
	}
	v = &l->v[l->n++];
	memset(v, 0, sizeof *v);
	snprintf(v->id, sizeof v->id, "%s", id);
	return v;
}

static void describe(struct version *v, const struct manifest *m)
{
	v->serial = m->serial;
	v->step = m->step;
	v->metric = m->metric;
	v->metric_key = m->metric_name ? hash_name(m->metric_name) : 0;
}

void version_list_add(struct version_list *l, const char *id, const struct manifest *m)
{
	describe(append(l, id), m);
}

/* Fills v from the manifest in its folder. */
static int read_manifest(struct version *v, struct arena *a, const char *path)
{
	struct io_image text;
	struct manifest m;
	char id[CKPT_ID];
	int rc = io_image_read(&text, path);
	if (rc == 0)
		rc = manifest_parse(&m, a, path, (const char *)text.data, text.size);
	io_image_release(&text);
	if (rc < 0)
		return rc;
	manifest_id(&m, id);
	if (strcmp(id, v->id) != 0)
		return ERR(E_DATA, NULL, "'%s' belongs to version '%s'", path, id);
	describe(v, &m);
	return 0;
}

/* A version without a readable manifest stays in the list, with the reason. */
static void read_version(struct version_list *l, const char *dir, const char *name)
{
	struct version *v = append(l, name);
	struct arena *a = arena_new();
	int mark = err_count();
	if (read_manifest(v, a, arena_printf(a, "%s/%s/%s", dir, name, CKPT_MANIFEST)) < 0) {
		v->serial = -1;
		v->damage = mem_strdup(err_count() > mark ? err_get(mark)->text : "unreadable");
		err_truncate(mark);
	}
	arena_free(a);
}

static int by_age(const void *a, const void *b)
{
	const struct version *x = a, *y = b;
	if (x->serial != y->serial)
		return x->serial < y->serial ? -1 : 1;
	return strcmp(x->id, y->id);
}

int version_list_read(struct version_list *out, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	memset(out, 0, sizeof *out);
	if (!d && errno == ENOENT)
		return 0;
	if (!d)
		return io_fail(E_IO, "read folder", dir);
	while ((e = readdir(d)))
		if (valid_name(e->d_name))
			read_version(out, dir, e->d_name);
	closedir(d);
	if (out->n > 1)
		qsort(out->v, (size_t)out->n, sizeof *out->v, by_age);
	return 0;
}

void version_list_release(struct version_list *l)
{
	for (int i = 0; i < l->n; i++)
		mem_free(l->v[i].damage);
	mem_free(l->v);
	memset(l, 0, sizeof *l);
}

void version_list_remove(struct version_list *l, int i)
{
	mem_free(l->v[i].damage);
	memmove(&l->v[i], &l->v[i + 1], (size_t)(l->n - i - 1) * sizeof *l->v);
	l->n--;
}

/* --- the keep policy --- */

/* How many versions have a better metric than version i; of equal ones the older is better. */
static int64_t rank_of(const struct version_list *l, int i)
{
	int64_t better = 0;
	for (int j = 0; j < l->n; j++)
		if (l->v[j].metric_key == l->v[i].metric_key && !l->v[j].damage &&
		    (l->v[j].metric > l->v[i].metric || (l->v[j].metric == l->v[i].metric && j < i)))
			better++;
	return better;
}

/* The metric that versions are compared by: that of the newest one that has any. */
static uint64_t metric_in_use(const struct version_list *l)
{
	for (int i = l->n - 1; i >= 0; i--)
		if (l->v[i].metric_key)
			return l->v[i].metric_key;
	return 0;
}

int version_list_expired(const struct version_list *l, const struct ckpt_keep *keep)
{
	uint64_t key = metric_in_use(l);
	for (int i = 0; i < l->n; i++) {
		bool last = l->n - i <= keep->last;
		bool best = key && l->v[i].metric_key == key && rank_of(l, i) < keep->best;
		if (!l->v[i].damage && !last && !best)
			return i;
	}
	return -1;
}

int version_list_best(const struct version_list *l)
{
	uint64_t key = metric_in_use(l);
	for (int i = 0; i < l->n; i++)
		if (key && l->v[i].metric_key == key && !l->v[i].damage && rank_of(l, i) == 0)
			return i;
	return -1;
}

/* --- deleting --- */

int version_remove(const char *dir, const char *id)
{
	char *from = io_join(dir, id), *to;
	struct buf name = BUF_INIT;
	int rc = 0;
	buf_printf(&name, STORE_DEL "%s", id);
	to = io_join(dir, name.data);
	if (rename(from, to) < 0)
		rc = ERR(E_IO, NULL, "cannot rename '%s' to '%s': %s", from, to, strerror(errno));
	if (rc == 0)
		rc = io_sync_dir(dir);   /* else a power loss could undo the renaming, not the deletion */
	io_crash_point("ckpt_hidden");
	if (rc == 0)
		rc = io_remove_tree(to);
	io_crash_point("ckpt_removed");
	buf_release(&name);
	mem_free(from);
	mem_free(to);
	return rc;
}

static bool leftover(const char *name)
{
	return strncmp(name, STORE_TMP, strlen(STORE_TMP)) == 0 ||
	       strncmp(name, STORE_DEL, strlen(STORE_DEL)) == 0;
}

int version_clean(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int rc = 0;
	if (!d)
		return io_fail(E_IO, "read folder", dir);
	while (rc == 0 && (e = readdir(d))) {
		char *path;
		if (!leftover(e->d_name))
			continue;
		path = io_join(dir, e->d_name);
		rc = io_remove_tree(path);
		io_crash_point("ckpt_cleaned");
		mem_free(path);
	}
	closedir(d);
	return rc;
}
