/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See sim_image.h. */
#include "sim_image.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

void sim_image_init(struct sim_image *m)
{
	m->n = 1;
	m->file = mem_calloc(1, sizeof *m->file);
	m->file[SIM_ROOT].folder = true;
}

static void copy_file(struct sim_file *to, const struct sim_file *from)
{
	*to = *from;
	to->cap = from->size;
	to->entries_cap = from->nentries;
	to->data = NULL;
	to->entry = NULL;
	if (from->size) {
		to->data = mem_alloc(from->size);
		memcpy(to->data, from->data, from->size);
	}
	if (from->nentries) {
		to->entry = mem_alloc((size_t)from->nentries * sizeof *to->entry);
		memcpy(to->entry, from->entry, (size_t)from->nentries * sizeof *to->entry);
	}
}

void sim_image_copy(struct sim_image *to, const struct sim_image *from)
{
	to->n = from->n;
	to->file = mem_alloc((size_t)from->n * sizeof *to->file);
	for (int i = 0; i < from->n; i++)
		copy_file(&to->file[i], &from->file[i]);
}

static void empty_file(struct sim_file *f)
{
	mem_free(f->data);
	mem_free(f->entry);
	f->data = NULL;
	f->entry = NULL;
	f->size = f->cap = 0;
	f->nentries = f->entries_cap = 0;
}

void sim_image_release(struct sim_image *m)
{
	for (int i = 0; i < m->n; i++)
		empty_file(&m->file[i]);
	mem_free(m->file);
	*m = (struct sim_image){ 0 };
}

/* --- entries --- */

int sim_image_entry(const struct sim_file *dir, const char *name, bool *there)
{
	int low = 0, high = dir->nentries;
	while (low < high) {
		int mid = (low + high) / 2;
		if (strcmp(dir->entry[mid].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*there = low < dir->nentries && strcmp(dir->entry[low].name, name) == 0;
	return low;
}

static void set_entry(struct sim_file *dir, const char *name, int file)
{
	bool there;
	int at = sim_image_entry(dir, name, &there);
	if (!there) {
		if (dir->nentries == dir->entries_cap) {
			dir->entries_cap = dir->entries_cap ? 2 * dir->entries_cap : 8;
			dir->entry = mem_realloc(dir->entry,
			                         (size_t)dir->entries_cap * sizeof *dir->entry);
		}
		memmove(&dir->entry[at + 1], &dir->entry[at],
		        (size_t)(dir->nentries - at) * sizeof *dir->entry);
		dir->nentries++;
		snprintf(dir->entry[at].name, SIM_NAME, "%s", name);
	}
	dir->entry[at].file = file;
}

/* Only if the name still leads to this file: another change may have given it away. */
static void drop_entry(struct sim_file *dir, const char *name, int file)
{
	bool there;
	int at = sim_image_entry(dir, name, &there);
	if (!there || dir->entry[at].file != file)
		return;
	memmove(&dir->entry[at], &dir->entry[at + 1],
	        (size_t)(dir->nentries - at - 1) * sizeof *dir->entry);
	dir->nentries--;
}

/* --- changes --- */

static void set_size(struct sim_file *f, size_t size)
{
	if (size > f->cap) {
		f->cap = size > 2 * f->cap ? size : 2 * f->cap;
		f->data = mem_realloc(f->data, f->cap);
	}
	if (size > f->size)
		memset(f->data + f->size, 0, size - f->size);
	f->size = size;
}

static void write_data(struct sim_file *f, const struct sim_change *c, const struct sim_tear *tear)
{
	const size_t n = tear && tear->n < c->n ? tear->n : c->n;
	const size_t at = (size_t)c->at;
	const enum sim_tail tail = n < c->n ? tear->tail : SIM_TAIL_NONE;
	if (n == 0 && tail == SIM_TAIL_NONE)
		return;
	if (at + n > f->size)
		set_size(f, at + n);
	if (n)
		memcpy(f->data + at, c->data, n);
	if (tail == SIM_TAIL_NONE)
		return;
	if (at + c->n > f->size)
		set_size(f, at + c->n);
	for (size_t i = n; i < c->n && tail != SIM_TAIL_OLD; i++)
		f->data[at + i] = tail == SIM_TAIL_ZERO ? 0 : (uint8_t)(i * 167 + 89);
}

static void reserve_file(struct sim_image *m, int file)
{
	if (file < m->n)
		return;
	m->file = mem_realloc(m->file, (size_t)(file + 1) * sizeof *m->file);
	memset(m->file + m->n, 0, (size_t)(file + 1 - m->n) * sizeof *m->file);
	m->n = file + 1;
}

/* A file whose own making was lost may still get a name or bytes by a later change. */
void sim_image_apply(struct sim_image *m, const struct sim_change *c, const struct sim_tear *tear)
{
	reserve_file(m, c->file);
	reserve_file(m, c->dir);
	m->file[c->file].folder = c->folder;
	switch (c->kind) {
	case SIM_MAKE:
		m->file[c->file].parent = c->dir;
		set_entry(&m->file[c->dir], c->name, c->file);
		break;
	case SIM_UNLINK:
		drop_entry(&m->file[c->dir], c->name, c->file);
		return;
	case SIM_RENAME:
		drop_entry(&m->file[c->from_dir], c->from, c->file);
		m->file[c->file].parent = c->dir;
		set_entry(&m->file[c->dir], c->name, c->file);
		return;
	case SIM_WRITE:
		write_data(&m->file[c->file], c, tear);
		break;
	case SIM_CUT:
		set_size(&m->file[c->file], (size_t)c->at);
		break;
	}
	m->file[c->file].changed = c->time;
}

static void mark(const struct sim_image *m, int file, bool *seen)
{
	const struct sim_file *f = &m->file[file];
	if (seen[file])
		return;
	seen[file] = true;
	for (int i = 0; i < f->nentries; i++)
		mark(m, f->entry[i].file, seen);
}

void sim_image_sweep(struct sim_image *m)
{
	bool *seen = mem_calloc((size_t)m->n, sizeof *seen);
	mark(m, SIM_ROOT, seen);
	for (int i = 0; i < m->n; i++)
		if (!seen[i])
			empty_file(&m->file[i]);
	mem_free(seen);
}

/* --- paths --- */

/* The next part of *path; false at its end. */
static bool next_part(const char **path, char name[SIM_NAME])
{
	size_t n;
	*path += strspn(*path, "/");
	n = strcspn(*path, "/");
	if (n == 0)
		return false;
	snprintf(name, SIM_NAME, "%.*s", (int)n, *path);
	*path += n;
	return true;
}

static int step(const struct sim_image *m, int dir, const char *name)
{
	bool there;
	int at;
	if (strcmp(name, ".") == 0)
		return dir;
	if (strcmp(name, "..") == 0)
		return m->file[dir].parent;
	at = sim_image_entry(&m->file[dir], name, &there);
	return there ? m->file[dir].entry[at].file : -1;
}

int sim_image_find(const struct sim_image *m, const char *path, int *dir, char name[SIM_NAME],
                   int *file)
{
	char part[SIM_NAME];
	*dir = *file = SIM_ROOT;
	snprintf(name, SIM_NAME, ".");
	while (next_part(&path, part)) {
		if (*file < 0)
			return ENOENT;
		if (!m->file[*file].folder)
			return ENOTDIR;
		*dir = *file;
		snprintf(name, SIM_NAME, "%s", part);
		*file = step(m, *dir, part);
	}
	return 0;
}

static void walk(const struct sim_image *m, int file, struct buf *path,
                 void (*f)(void *, const char *, int), void *arg)
{
	const struct sim_file *dir = &m->file[file];
	const size_t end = path->len;
	if (file != SIM_ROOT)
		f(arg, path->data, file);
	for (int i = 0; i < dir->nentries; i++) {
		buf_printf(path, "/%s", dir->entry[i].name);
		walk(m, dir->entry[i].file, path, f, arg);
		path->len = end;
		path->data[end] = '\0';
	}
}

void sim_image_walk(const struct sim_image *m, void (*f)(void *arg, const char *path, int file),
                    void *arg)
{
	struct buf path = BUF_INIT;
	buf_reserve(&path, 256);
	walk(m, SIM_ROOT, &path, f, arg);
	buf_release(&path);
}

struct listing {
	const struct sim_image *m;
	const char *except;
	struct buf text;
};

static void add_hash(void *arg, const char *path, int file)
{
	struct listing *l = arg;
	const struct sim_file *f = &l->m->file[file];
	struct hash128 h = hash128_bytes(f->size ? (const void *)f->data : "", f->size);
	char text[HASH128_TEXT];
	if (l->except && strcmp(strrchr(path, '/') + 1, l->except) == 0)
		return;
	buf_printf(&l->text, "%s %d %s\n", path, f->folder, hash128_text(h, text));
}

struct hash128 sim_image_hash(const struct sim_image *m, const char *except)
{
	struct listing l = { m, except, BUF_INIT };
	sim_image_walk(m, add_hash, &l);
	struct hash128 h = hash128_bytes(l.text.data, l.text.len);
	buf_release(&l.text);
	return h;
}
