/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tags and pins: a file each. */
#include "ckpt/refs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "ckpt/manifest.h"
#include "ckpt/version_id.h"

#define TAG_MOST 100

static char *path_of(const char *root, const char *folder, const char *name)
{
	char *in = io_join(root, folder), *path = io_join(in, name);
	mem_free(in);
	return path;
}

/* --- reading --- */

struct ref_place {                 /* of a ref's texts in refs.text; name -1: none */
	ptrdiff_t name;
	size_t id;
};

/* The content of a ref's file. The hash covers the name too, so that a file that was swapped with
 * another is detected like one with a flipped bit. */
static void put_ref(struct buf *out, const char *folder, const char *name, const char *id)
{
	struct buf of = BUF_INIT;
	buf_printf(&of, "%s/%s %s", folder, name, id);
	buf_printf(out, "%s %016" PRIx64 "\n", id, hash_bytes(of.data, of.len, 0));
	buf_release(&of);
}

/* The id in a file, with its NUL, to the end of text. */
static int read_id(struct buf *text, struct disk *d, const char *path, const char *folder,
                   const char *name)
{
	struct buf file = BUF_INIT, want = BUF_INIT;
	char id[CKPT_ID] = "";
	int rc = disk_read_file(d, path, &file);
	if (rc == 0) {
		const size_t n = strcspn(file.data, " ");
		snprintf(id, sizeof id, "%.*s", n < sizeof id ? (int)n : 0, file.data);
		put_ref(&want, folder, name, id);
		if (!version_valid_id(id) || file.len != want.len ||
		    memcmp(file.data, want.data, want.len) != 0)
			rc = ERR(E_DATA, NULL, "'%s' is damaged: it is not the id of a checkpoint", path);
	}
	buf_add(text, id, strlen(id) + 1);
	buf_release(&file);
	buf_release(&want);
	return rc;
}

static int read_folder(struct refs *r, struct buf *places, struct disk *d, const char *root,
                       const char *folder)
{
	char *path = io_join(root, folder);
	const bool tags = strcmp(folder, TAGS_FOLDER) == 0;
	struct disk_names names;
	int rc = disk_list(&names, d, path);
	for (int i = 0; i < names.n && rc == 0; i++) {
		const char *name = names.name[i];
		if (name[0] == '.')
			continue;
		struct ref_place at = { tags ? (ptrdiff_t)r->text.len : -1, 0 };
		if (tags)
			buf_add(&r->text, name, strlen(name) + 1);
		at.id = r->text.len;
		char *file = io_join(path, name);
		rc = read_id(&r->text, d, file, folder, name);
		mem_free(file);
		buf_add(places, &at, sizeof at);
	}
	disk_names_release(&names);
	mem_free(path);
	return rc;
}

/* Pointers into text are taken when it no longer moves. */
static void place_refs(struct refs *r, const struct buf *places)
{
	r->n = (int)(places->len / sizeof(struct ref_place));
	r->ref = mem_calloc((size_t)r->n + 1, sizeof *r->ref);
	for (int i = 0; i < r->n; i++) {
		struct ref_place at;
		memcpy(&at, places->data + (size_t)i * sizeof at, sizeof at);
		r->ref[i] = (struct ref){ at.name < 0 ? NULL : r->text.data + at.name,
			r->text.data + at.id };
	}
}

int refs_read(struct refs *out, struct disk *d, const char *root)
{
	struct buf places = BUF_INIT;
	*out = (struct refs){ .text = BUF_INIT };
	int rc = read_folder(out, &places, d, root, TAGS_FOLDER);
	if (rc == 0)
		rc = read_folder(out, &places, d, root, PINS_FOLDER);
	if (rc == 0)
		place_refs(out, &places);
	else
		refs_release(out);
	buf_release(&places);
	return rc;
}

void refs_release(struct refs *r)
{
	mem_free(r->ref);
	buf_release(&r->text);
	*r = (struct refs){ .text = BUF_INIT };
}

bool refs_keep(const struct refs *r, const char *id)
{
	for (int i = 0; i < r->n; i++)
		if (strcmp(r->ref[i].id, id) == 0)
			return true;
	return false;
}

const char *refs_find(const struct refs *r, const char *tag)
{
	for (int i = 0; i < r->n; i++)
		if (r->ref[i].name && strcmp(r->ref[i].name, tag) == 0)
			return r->ref[i].id;
	return NULL;
}

/* --- changing --- */

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool refs_valid_tag(const char *name)
{
	static const char *const taken[] = { "auto", "last", "best" };
	const size_t n = strlen(name);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		if (strcmp(name, taken[i]) == 0)
			return false;
	return n > 0 && n <= TAG_MOST && strspn(name, DIGITS LETTERS "._-") == n && name[0] != '.' &&
	       strspn(name, DIGITS) < n && !version_valid_id(name);
}

static int write_ref(struct disk *d, const char *root, const char *folder, const char *name,
                     const char *id)
{
	struct buf text = BUF_INIT;
	char *in = io_join(root, folder), *path = io_join(in, name);
	int rc = disk_mkdirs(d, in);
	put_ref(&text, folder, name, id);
	if (rc == 0)
		rc = disk_write_file(d, path, text.data, text.len);
	buf_release(&text);
	mem_free(in);
	mem_free(path);
	return rc;
}

static int drop_ref(struct disk *d, const char *root, const char *folder, const char *name,
                    const char *what)
{
	char *path = path_of(root, folder, name);
	int rc = disk_exists(d, path) ? disk_remove(d, path) :
	                                ERR(E_NOINPUT, NULL, "there is no %s '%s'", what, name);
	mem_free(path);
	return rc;
}

static int bad_tag(const char *name)
{
	return ERR(E_USAGE, NULL, "'%s' cannot be a tag: letters, digits, '.', '_' and '-', at most "
	           "%d, and not what names a checkpoint already", name, TAG_MOST);
}

int refs_set_tag(struct disk *d, const char *root, const char *name, const char *id)
{
	return refs_valid_tag(name) ? write_ref(d, root, TAGS_FOLDER, name, id) : bad_tag(name);
}

int refs_drop_tag(struct disk *d, const char *root, const char *name)
{
	return refs_valid_tag(name) ? drop_ref(d, root, TAGS_FOLDER, name, "tag") : bad_tag(name);
}

int refs_set_pin(struct disk *d, const char *root, const char *id)
{
	return write_ref(d, root, PINS_FOLDER, id, id);
}

int refs_drop_pin(struct disk *d, const char *root, const char *id)
{
	return drop_ref(d, root, PINS_FOLDER, id, "pin of");
}
