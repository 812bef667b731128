/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds a store, and reads its versions and tensors. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/io.h"
#include "base/shown.h"
#include "data-tools/ckpt/ckpt.h"
#include "ckpt/run_claim.h"
#include "ckpt/run_store.h"
#include "ckpt/version_id.h"

/* --- opening --- */

static bool holds(const struct ckpt_tool *t, const char *folder, const char *name)
{
	return disk_exists(t->disk, arena_printf(t->a, "%s/%s", folder, name));
}

static int no_store(const struct ckpt_tool *t)
{
	struct disk_stat st;
	errno = t->disk->stat(t->disk, arena_printf(t->a, "%s/checkpoints", t->dir), &st);
	if (errno == ELOOP || errno == EACCES)
		return io_fail(errno == EACCES ? E_IO : E_NOINPUT, "look into", t->dir);
	if (!disk_exists(t->disk, t->dir))
		return ERR(E_NOINPUT, NULL, "there is no '%s'; expected the folder of a run, its folder "
		           "'checkpoints', or a store", t->dir);
	return ERR(E_NOINPUT, NULL, "'%s' is neither the folder of a run nor a store of checkpoints: "
	           "it has no 'checkpoints', no '%s' and no '%s'", t->dir, RUN_LINK_FILE,
	           VERSIONS_FOLDER);
}

static int find_store(struct ckpt_tool *t, struct run_link *link)
{
	if (holds(t, t->dir, RUN_LINK_FILE))
		t->folder = t->dir;
	else if (holds(t, t->dir, "checkpoints"))
		t->folder = arena_printf(t->a, "%s/checkpoints", t->dir);
	else if (!holds(t, t->dir, VERSIONS_FOLDER))
		return no_store(t);
	TRY(run_link_read(link, t->a, t->disk, t->folder ? t->folder : t->dir));
	t->run = *link->run ? link->run : NULL;
	t->root = link->store;
	return 0;
}

/* Whether any version is the run's own, or may be. */
static bool has_own(const struct ckpt_tool *t)
{
	for (int i = 0; i < t->history.n; i++)
		if (!t->run || t->history.v[i].damage || strcmp(t->history.v[i].m.run, t->run) == 0)
			return true;
	return false;
}

int tool_open(struct ckpt_tool *t)
{
	struct run_link link;
	t->disk = disk_system();
	if (t->may_be_new && !holds(t, t->dir, "checkpoints"))
		return 0;
	TRY(find_store(t, &link));
	const int mark = err_count();
	const int rc = history_read(&t->history, t->disk, t->root);
	if (!t->folder)
		return rc;
	TRY(run_store_read(rc, mark, t->disk, &link, t->folder));
	TRY(run_store_check(t->disk, &link, t->folder, has_own(t)));
	const int last = history_last(&t->history, t->run);
	run_claim_look(&link, t->disk, t->folder, last < 0 ? NULL : t->history.v[last].id);
	return 0;
}

void tool_close(struct ckpt_tool *t)
{
	packs_close(t->packs);
	t->packs = NULL;
	if (t->history.a)
		history_release(&t->history);
}

int tool_packs(struct ckpt_tool *t)
{
	return t->packs ? 0 : packs_open(&t->packs, t->disk, t->root);
}

const char *tool_store(const struct ckpt_tool *t)
{
	char *path = *t->root == '/' ? NULL : realpath(t->root, NULL);
	const char *store = path ? arena_strdup(t->a, path) : t->root;
	free(path);
	return store;
}

/* The path of what need not be there, in t->a: what there is of it without links, then the rest. */
static const char *real_path(const struct ckpt_tool *t, const char *path)
{
	for (size_t n = strlen(path); n > 0; n--) {
		if (path[n] && path[n] != '/')
			continue;
		char *real = realpath(arena_printf(t->a, "%.*s", (int)n, path), NULL);
		const char *whole = real ? arena_printf(t->a, "%s%s", real, path + n) : NULL;
		free(real);
		if (whole)
			return whole;
	}
	return *path == '/' ? path : arena_printf(t->a, "%s/%s", real_path(t, "."), path);
}

int tool_check_folder(const struct ckpt_tool *t, const char *folder)
{
	const char *root = real_path(t, t->root);
	const char *dir = real_path(t, arena_printf(t->a, "%s/checkpoints", folder));
	const size_t n = strlen(root);
	if (strncmp(dir, root, n) != 0 || (dir[n] && dir[n] != '/'))
		return 0;
	return ERR(E_USAGE, NULL, "'%s' cannot be the folder of a new run: it is in the store '%s', or "
	           "has it as its own; expected a folder elsewhere", folder, t->root);
}

int tool_find(struct ckpt_tool *t, const char *word, int *out)
{
	TRYC(history_find(&t->history, t->run, word, out), "in the store '%s'", t->root);
	return 0;
}

int tool_write_config(const struct ckpt_tool *t, const char *folder, const char *config,
                      bool *written)
{
	const char *path = arena_printf(t->a, "%s/config.yaml", folder);
	*written = *config && !io_exists(path);
	return *written ? io_write_file(path, config, strlen(config)) : 0;
}

/* --- one version --- */

bool tool_has(const struct ckpt_tool *t, int i)
{
	return disk_exists(t->disk, t->history.v[i].path);
}

int tool_manifest(struct ckpt_tool *t, int i, struct manifest *out)
{
	return manifest_read(out, t->a, t->disk, t->history.v[i].path, t->history.v[i].id);
}

int tool_read_chunk(struct ckpt_tool *t, const struct manifest_tensor *x, int64_t k, void *p,
                    size_t *n)
{
	*n = manifest_chunk_bytes(x, k);
	TRYC(packs_read_moved(t->packs, x->chunk[k], p, *n),
	     "while reading chunk %" PRId64 " of tensor '%s'", k, x->name);
	return 0;
}

/* --- text --- */

void put_time(struct buf *b, int64_t seconds)
{
	const time_t at = (time_t)seconds;
	struct tm tm;
	if (seconds <= 0 || !localtime_r(&at, &tm))
		buf_puts(b, "-");
	else
		buf_printf(b, "%04d-%02d-%02d %02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		           tm.tm_hour, tm.tm_min);
}

void put_bytes(struct buf *b, uint64_t n)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double v = (double)n;
	int u = 0;
	for (; v >= 1024 && u < 5; u++)
		v /= 1024;
	buf_printf(b, u && v < 100 ? "%.1f %s" : "%.0f %s", v, units[u]);
}

void put_metrics(const struct manifest *m, struct buf *b)
{
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < m->nmetrics; i++) {
			const char *name = m->metrics[i].name;
			bool decides = m->metric_name && strcmp(name, m->metric_name) == 0;
			if (decides != (pass == 0))
				continue;
			buf_puts(b, "  ");
			buf_shown(b, name);
			buf_printf(b, " %.4g", m->metrics[i].value);
		}
}

static void put_name(struct buf *b, int *n, const char *what, const char *name)
{
	buf_printf(b, "%s%s", (*n)++ ? ", " : "  (", what);
	buf_shown(b, name);
}

void put_names(const struct ckpt_tool *t, int i, struct buf *b)
{
	const struct history *h = &t->history;
	int n = 0;
	if (history_last(h, t->run) == i)
		put_name(b, &n, "last", "");
	if (history_best(h, t->run) == i)
		put_name(b, &n, "best", "");
	for (int k = 0; k < h->refs.n; k++)
		if (strcmp(h->refs.ref[k].id, h->v[i].id) == 0)
			put_name(b, &n, h->refs.ref[k].name ? "tag: " : "pinned",
			         h->refs.ref[k].name ? h->refs.ref[k].name : "");
	if (n)
		buf_putc(b, ')');
}

static bool several_runs(const struct history *h)
{
	for (int i = 1; i < h->n; i++)
		if (!h->v[i].damage && !h->v[0].damage && strcmp(h->v[i].m.run, h->v[0].m.run) != 0)
			return true;
	return false;
}

void put_version(const struct ckpt_tool *t, int i, struct buf *b)
{
	const struct history_version *v = &t->history.v[i];
	buf_printf(b, "%s  step %" PRId64, version_bare_id(v->id), v->m.step);
	if (v->damage) {
		buf_puts(b, "  damaged: ");
		buf_shown(b, v->damage);
		return;
	}
	buf_printf(b, "  epoch %" PRId64 "  ", v->m.epoch);
	put_time(b, v->m.time);
	put_metrics(&v->m, b);
	if (several_runs(&t->history))
		buf_printf(b, "  run %.8s", v->m.run);
	for (int k = 0; v->m.fork && k < v->m.nparents; k++)
		buf_printf(b, "%s%s", k ? ", " : "  fork of ", version_bare_id(v->m.parent[k]));
	put_names(t, i, b);
}

/* --- JSON --- */

void put_json_text(struct buf *b, const char *key, const char *text)
{
	buf_printf(b, ", \"%s\": ", key);
	if (text)
		buf_json_string(b, text);
	else
		buf_puts(b, "null");
}

static void put_json_names(const struct history *h, int i, struct buf *b)
{
	bool pinned = false;
	int n = 0;
	buf_puts(b, ", \"tags\": [");
	for (int k = 0; k < h->refs.n; k++) {
		if (strcmp(h->refs.ref[k].id, h->v[i].id) != 0)
			continue;
		pinned |= !h->refs.ref[k].name;
		if (!h->refs.ref[k].name)
			continue;
		buf_puts(b, n++ ? ", " : "");
		buf_json_string(b, h->refs.ref[k].name);
	}
	buf_printf(b, "], \"pinned\": %s", pinned ? "true" : "false");
}

static void put_json_metrics(const struct manifest *m, struct buf *b)
{
	put_json_text(b, "metric", m->metric_name);
	buf_puts(b, ", \"metrics\": ");
	manifest_put_metrics(b, m);
}

void put_version_json(const struct ckpt_tool *t, int i, struct buf *b)
{
	const struct history *h = &t->history;
	const struct history_version *v = &h->v[i];
	buf_printf(b, "\"id\": \"%s\", \"step\": %" PRId64, v->id, v->m.step);
	put_json_text(b, "damaged", v->damage);
	if (!v->damage) {
		put_json_text(b, "run", v->m.run);
		buf_printf(b, ", \"serial\": %" PRId64 ", \"epoch\": %" PRId64 ", \"time\": %" PRId64
		           ", \"ranks\": %d, \"fork\": %s, \"bytes\": %" PRIu64 ", \"parents\": [",
		           v->m.serial, v->m.epoch, v->m.time, v->m.ranks, v->m.fork ? "true" : "false",
		           v->raw);
		for (int k = 0; k < v->m.nparents; k++) {
			buf_puts(b, k ? ", " : "");
			buf_json_string(b, v->m.parent[k]);
		}
		buf_puts(b, "]");
		put_json_metrics(&v->m, b);
	}
	buf_printf(b, ", \"last\": %s, \"best\": %s", history_last(h, t->run) == i ? "true" : "false",
	           history_best(h, t->run) == i ? "true" : "false");
	put_json_names(h, i, b);
}

void print_buf(struct buf *b)
{
	fwrite(b->data, 1, b->len, stdout);
	buf_clear(b);
}
