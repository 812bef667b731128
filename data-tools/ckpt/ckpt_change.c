/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands that change a store: fork, tag, pin, gc. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/shown.h"
#include "data-tools/ckpt/ckpt.h"
#include "ckpt/collect.h"
#include "ckpt/fork.h"
#include "ckpt/version_id.h"

static int find_intact(struct ckpt_tool *t, const char *word, int *i)
{
	TRY(tool_find(t, word, i));
	if (t->history.v[*i].damage)
		return ERR(E_DATA, NULL, "version '%s' is damaged: %s", t->history.v[*i].id,
		           t->history.v[*i].damage);
	return 0;
}

/* --- fork --- */

static void print_forked(const struct ckpt_tool *t, int i, const struct new_version *made,
                         const char *folder)
{
	const char *from = t->history.v[i].id;
	struct buf b = BUF_INIT;
	if (t->json) {
		buf_printf(&b, "{\"id\": \"%s\", \"run\": \"%s\", \"parent\": \"%s\"", made->id, made->run,
		           from);
		put_json_text(&b, "folder", folder);
		buf_puts(&b, "}\n");
	} else {
		buf_printf(&b, "%s, a fork of %s, is the first version of run %.8s in '%s'\n",
		           version_bare_id(made->id), version_bare_id(from), made->run, shown(folder));
		buf_printf(&b, "to go on from it: dlx-train --resume %s\n", shown(folder));
	}
	print_buf(&b);
	buf_release(&b);
}

int ckpt_fork(struct ckpt_tool *t)
{
	const char *folder = t->arg[1];
	struct new_version made;
	bool written;
	int i;
	TRY(find_intact(t, t->arg[0], &i));
	TRY(tool_check_folder(t, folder));
	TRY(fork_version(&made, t->disk, tool_store(t), t->history.v[i].id,
	                 arena_printf(t->a, "%s/checkpoints", folder)));
	TRY(tool_write_config(t, folder, t->history.v[i].m.config, &written));
	print_forked(t, i, &made, folder);
	if (written && !t->json)
		printf("its config.yaml is that of the version; change there what is to be another\n");
	return 0;
}

/* --- tag, pin --- */

static void print_done(const struct ckpt_tool *t, const char *tag, const char *id)
{
	struct buf b = BUF_INIT;
	if (t->json) {
		buf_puts(&b, "{\"tag\": ");
		if (tag)
			buf_json_string(&b, tag);
		else
			buf_puts(&b, "null");
		put_json_text(&b, "id", id);
		buf_printf(&b, ", \"removed\": %s}\n", t->drop ? "true" : "false");
	} else {
		buf_puts(&b, id ? version_bare_id(id) : "");
		buf_puts(&b, id && tag ? " " : "");
		buf_printf(&b, tag ? "tag '%s'" : " pin", tag ? shown(tag) : "");
		buf_puts(&b, t->drop ? " removed\n" : " set\n");
	}
	print_buf(&b);
	buf_release(&b);
}

/* A run that goes on may have removed the version before it had the name. */
static int check_kept(const struct ckpt_tool *t, const char *tag, int i)
{
	const char *id = t->history.v[i].id;
	if (tool_has(t, i))
		return 0;
	TRY(tag ? refs_drop_tag(t->disk, t->root, tag) : refs_drop_pin(t->disk, t->root, id));
	return ERR(E_NOINPUT, NULL, "version '%s' has been removed meanwhile", id);
}

int ckpt_tag(struct ckpt_tool *t)
{
	const char *name = t->arg[0], *id;
	int i;
	if (t->drop ? t->n != 1 : t->n != 2)
		return ERR(E_USAGE, NULL, "usage: dlx-ckpt DIR tag NAME ID, or tag --delete NAME");
	if (t->drop) {
		TRY(refs_drop_tag(t->disk, t->root, name));
		print_done(t, name, NULL);
		return 0;
	}
	TRY(find_intact(t, t->arg[1], &i));
	id = t->history.v[i].id;
	TRY(refs_set_tag(t->disk, t->root, name, id));
	TRY(check_kept(t, name, i));
	print_done(t, name, id);
	return 0;
}

int ckpt_pin(struct ckpt_tool *t)
{
	const char *id = t->arg[0];
	int i = -1;
	if (!t->drop || !version_valid_id(id)) {
		TRY(t->drop ? tool_find(t, id, &i) : find_intact(t, id, &i));
		id = t->history.v[i].id;
	}
	TRY(t->drop ? refs_drop_pin(t->disk, t->root, id) : refs_set_pin(t->disk, t->root, id));
	if (!t->drop)
		TRY(check_kept(t, NULL, i));
	print_done(t, NULL, id);
	return 0;
}

/* --- gc --- */

int ckpt_gc(struct ckpt_tool *t)
{
	struct collected c;
	struct buf b = BUF_INIT;
	TRY(collect_packs(&c, t->disk, t->root, arena_printf(t->a, "ckpt.%ld", (long)getpid()),
	                  t->dry_run));
	if (t->json)
		buf_printf(&b, "{\"packs\": %d, \"packed_anew\": %d, \"bytes\": %" PRIu64
		           ", \"busy\": %s, \"dry_run\": %s}\n", c.packs, c.packed_anew, c.bytes,
		           c.busy ? "true" : "false", t->dry_run ? "true" : "false");
	else if (c.busy)
		buf_puts(&b, "other processes save now: nothing is removed; try again later\n");
	else {
		buf_printf(&b, "%s%d pack%s removed, %d written anew with what is needed of it, ",
		           t->dry_run ? "would be: " : "", c.packs, c.packs == 1 ? "" : "s",
		           c.packed_anew);
		put_bytes(&b, c.bytes);
		buf_puts(&b, " freed\n");
	}
	print_buf(&b);
	buf_release(&b);
	return 0;
}
