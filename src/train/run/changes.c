/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Effective configs are compared. They have every key, so writing out a default is no change. Maps
 * are compared key by key, lists and values by their text. */
#include "train/run/changes.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"

#define VALUE 60                 /* of a value that a note shows */

struct comparing {
	struct arena *arena;
	int notes;
};

/* On one line, short. */
static const char *shown(struct comparing *c, const struct ynode *v)
{
	struct buf b = BUF_INIT;
	if (!v)
		return "absent";
	if (v->kind == Y_SCALAR)
		return v->text;
	ytree_write_flow(&b, v);
	const char *text = arena_printf(c->arena, b.len > VALUE ? "%.*s..." : "%.*s", VALUE,
	                                b.data ? b.data : "");
	buf_release(&b);
	return text;
}

static bool same(const struct ynode *a, const struct ynode *b)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	ytree_write(&x, a);
	ytree_write(&y, b);
	bool is = x.len == y.len && (x.len == 0 || memcmp(x.data, y.data, x.len) == 0);
	buf_release(&x);
	buf_release(&y);
	return is;
}

static void compare(struct comparing *c, const char *key, const struct ynode *before,
                    const struct ynode *now);

static const char *below(struct comparing *c, const char *key, const char *name)
{
	return *key ? arena_printf(c->arena, "%s.%s", key, name) : name;
}

static void compare_maps(struct comparing *c, const char *key, const struct ynode *before,
                         const struct ynode *now)
{
	for (int i = 0; i < now->n; i++)
		compare(c, below(c, key, now->pair[i].key), ytree_find(before, now->pair[i].key),
		        now->pair[i].value);
	for (int i = 0; i < before->n; i++)
		if (!ytree_find(now, before->pair[i].key))
			compare(c, below(c, key, before->pair[i].key), before->pair[i].value, NULL);
}

static void compare(struct comparing *c, const char *key, const struct ynode *before,
                    const struct ynode *now)
{
	if (before && now && before->kind == Y_MAP && now->kind == Y_MAP) {
		compare_maps(c, key, before, now);
	} else if (!before || !now || !same(before, now)) {
		note("'%s' was %s and is %s from now on", key, shown(c, before), shown(c, now));
		c->notes++;
	}
}

/* Both as they are read back, or 1.0e-4 would differ from 0.0001. */
static void note_changes(struct comparing *c, const char *path, const char *text)
{
	struct ynode *before = NULL, *written = NULL;
	int mark = err_count();
	if (io_exists(path) && ytree_load(c->arena, path, &before) == 0 &&
	    ytree_parse(c->arena, path, text, &written) == 0)
		compare(c, "", before, written);
	err_truncate(mark);
}

static bool is_text(const char *path, const struct buf *text)
{
	struct buf have = BUF_INIT;
	int mark = err_count();
	bool is = io_exists(path) && io_read_text(path, &have) == 0 && have.len == text->len &&
	          memcmp(have.data, text->data, text->len) == 0;
	err_truncate(mark);
	buf_release(&have);
	return is;
}

const char *changes_text(const struct run_config *now)
{
	struct arena *a = arena_new();
	struct buf text = BUF_INIT;
	ytree_write(&text, config_effective(now, a));
	arena_free(a);
	const char *kept = arena_strdup(now->arena, text.data);
	buf_release(&text);
	return kept;
}

/* A run that goes on may be given its own config.yaml, which then says what counts from now on. */
int changes_finish(const struct run_config *now, bool resumed)
{
	struct comparing c = { arena_new(), 0 };
	struct buf text = BUF_INIT;
	char *path = io_join(now->run.dir, "config.yaml");
	ytree_write(&text, config_effective(now, c.arena));
	if (resumed) {
		note_changes(&c, path, text.data);
		io_input_forget(path);
	}
	int rc = is_text(path, &text) ? 0 : io_write_file(path, text.data, text.len);
	if (rc == E_USAGE)
		err_context(rc,
		            "a run writes its effective config there; keep the config in another folder");
	mem_free(path);
	buf_release(&text);
	arena_free(c.arena);
	return rc;
}
