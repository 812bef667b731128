/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/source/zarr/zarr_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/types.h"
#include "data-tools/source/unzip.h"

#define TEXT_MOST ((uint64_t)64 << 20)

struct zarr_store {
	char *path;
	bool zipped;
	struct unzip zip;
	const struct unzip_member **member;      /* by name, then in the file's order */
};

struct zarr_part {
	struct packed_file *file;
	uint64_t size;
	char *path;
};

static int compare(const void *x, const void *y)
{
	const struct unzip_member *const *a = x, *const *b = y;
	const int order = strcmp((*a)->name, (*b)->name);
	return order ? order : *a < *b ? -1 : *a > *b;
}

int zarr_store_open(struct zarr_store **out, const char *path)
{
	struct zarr_store *st = mem_calloc(1, sizeof *st);
	int rc = 0;
	st->path = mem_strdup(path);
	st->zipped = !io_is_folder(path);
	if (st->zipped)
		rc = unzip_open(&st->zip, st->path);
	st->member = mem_calloc((size_t)st->zip.n + 1, sizeof *st->member);
	for (int i = 0; i < st->zip.n; i++)
		st->member[i] = &st->zip.member[i];
	qsort(st->member, (size_t)st->zip.n, sizeof *st->member, compare);
	if (rc < 0)
		zarr_store_close(st);
	*out = rc < 0 ? NULL : st;
	return rc;
}

void zarr_store_close(struct zarr_store *st)
{
	if (!st)
		return;
	unzip_release(&st->zip);
	mem_free(st->member);
	mem_free(st->path);
	mem_free(st);
}

bool zarr_store_is_zip(const struct zarr_store *st)
{
	return st->zipped;
}

/* --- members of a ZIP file --- */

/* The path inside the file, "" for the file itself; NULL: it is outside. */
static const char *inside(const struct zarr_store *st, const char *path)
{
	const size_t n = strlen(st->path);
	if (strncmp(path, st->path, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return path[n] ? path + n + 1 : "";
}

/* The first member whose name is not before this one. */
static int first_from(const struct zarr_store *st, const char *name)
{
	int low = 0, high = st->zip.n;
	while (low < high) {
		const int middle = low + (high - low) / 2;

		if (strcmp(st->member[middle]->name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of several of one name the last one, which was written in place of the others. */
static const struct unzip_member *find_member(const struct zarr_store *st, const char *path)
{
	const char *name = inside(st, path);
	const struct unzip_member *found = NULL;
	for (int i = name ? first_from(st, name) : st->zip.n;
	     i < st->zip.n && strcmp(st->member[i]->name, name) == 0; i++)
		found = st->member[i];
	return found;
}

/* The members below a folder: those from *from on that begin with the prefix, which is the caller's
 * to mem_free. */
static char *prefix_of(const struct zarr_store *st, const char *folder, int *from)
{
	const char *name = inside(st, folder);
	char *prefix = mem_calloc(1, (name ? strlen(name) : 0) + 2);
	if (name && *name) {
		strcpy(prefix, name);
		strcat(prefix, "/");
	}
	*from = name ? first_from(st, prefix) : st->zip.n;
	return prefix;
}

static bool is_below(const struct zarr_store *st, int i, const char *prefix)
{
	return i < st->zip.n && strncmp(st->member[i]->name, prefix, strlen(prefix)) == 0;
}

static int read_member(const struct zarr_store *st, const struct unzip_member *m, const char *path,
                       uint8_t *out)
{
	struct packed_file *f;
	size_t got = 0;
	int rc = unzip_open_member(&st->zip, m, &f);
	if (rc == 0)
		rc = packed_read(f, 0, out, (size_t)m->size, &got);
	if (rc == 0 && (got != m->size || (uint32_t)crc32_z(0, out, got) != m->crc))
		rc = ERR(E_DATA, NULL, "'%s': damaged zip member: checksum mismatch", path);
	packed_close(f);
	return rc;
}

/* --- files --- */

bool zarr_store_has_file(const struct zarr_store *st, const char *path)
{
	return st->zipped ? find_member(st, path) != NULL : io_is_regular(path);
}

bool zarr_store_has_folder(const struct zarr_store *st, const char *path)
{
	int i;
	if (!st->zipped)
		return io_is_folder(path);
	char *prefix = prefix_of(st, path, &i);
	const bool is = is_below(st, i, prefix);
	mem_free(prefix);
	return is;
}

static int missing(const char *path)
{
	return ERR(E_NOINPUT, NULL, "'%s' is not there", path);
}

int zarr_store_image(const struct zarr_store *st, const char *path, struct io_image *out)
{
	const struct unzip_member *m = st->zipped ? find_member(st, path) : NULL;
	int rc;
	*out = (struct io_image){ 0 };
	if (!st->zipped)
		return io_image_read(out, path);
	if (!m)
		return missing(path);
	out->size = (size_t)m->size;
	out->data = mem_map(out->size);
	rc = out->data ? read_member(st, m, path, out->data) :
	     ERR(E_NOMEM, NULL, "no memory for the %zu bytes of '%s'", out->size, path);
	if (rc < 0)
		io_image_release(out);
	return rc;
}

int zarr_store_text(const struct zarr_store *st, const char *path, struct buf *out)
{
	const struct unzip_member *m = st->zipped ? find_member(st, path) : NULL;
	struct io_image image;
	if (!st->zipped)
		return io_read_text(path, out);
	if (m && m->size > TEXT_MOST)
		return ERR(E_DATA, NULL, "'%s': more than 64 MiB of text", path);
	TRY(zarr_store_image(st, path, &image));
	buf_add(out, image.data, image.size);
	io_image_release(&image);
	return 0;
}

static bool is_plain(const uint8_t *head, size_t n)
{
	(void)head;
	(void)n;
	return true;
}

/* Opens p->file and finds its size. */
static int open_part(struct zarr_part *p, const struct zarr_store *st)
{
	const struct unzip_member *m = st->zipped ? find_member(st, p->path) : NULL;
	uint32_t crc;
	if (!st->zipped) {
		TRY(packed_open(&p->file, p->path, is_plain));
		p->size = packed_size(p->file);
		return 0;
	}
	if (!m)
		return missing(p->path);
	TRY(unzip_open_member(&st->zip, m, &p->file));
	TRY(packed_check(p->file, &p->size, &crc));
	return p->size == m->size && crc == m->crc ? 0 :
	       ERR(E_DATA, NULL, "'%s': damaged zip member: checksum mismatch", p->path);
}

int zarr_part_open(struct zarr_part **out, const struct zarr_store *st, const char *path,
                   uint64_t *size)
{
	struct zarr_part *p = mem_calloc(1, sizeof *p);
	p->path = mem_strdup(path);
	const int rc = open_part(p, st);
	*size = p->size;
	*out = rc < 0 ? NULL : p;
	if (rc < 0)
		zarr_part_close(p);
	return rc;
}

int zarr_part_read(struct zarr_part *p, uint64_t at, void *out, size_t n)
{
	size_t got;
	TRY(packed_read(p->file, at, out, n, &got));
	return got == n ? 0 : ERR(E_DATA, NULL, "'%s': %zu bytes at %llu, but the file has %llu",
	                          p->path, n, (unsigned long long)at, (unsigned long long)p->size);
}

void zarr_part_close(struct zarr_part *p)
{
	if (!p)
		return;
	packed_close(p->file);
	mem_free(p->path);
	mem_free(p);
}

/* --- folders --- */

static void add_name(char ***names, int *n, const char *name, size_t length)
{
	*names = mem_realloc(*names, ((size_t)*n + 1) * sizeof **names);
	char *copy = (*names)[(*n)++] = mem_calloc(1, length + 1);
	memcpy(copy, name, length);
}

/* A folder's members follow each other: each name is there once. */
static void list_members(const struct zarr_store *st, const char *folder, char ***names, int *n)
{
	int i;
	char *prefix = prefix_of(st, folder, &i);
	for (; is_below(st, i, prefix); i++) {
		const char *name = st->member[i]->name + strlen(prefix);
		const size_t length = strcspn(name, "/");
		const char *last = *n ? (*names)[*n - 1] : "";

		if (length > 0 && *name != '.' &&
		    (strlen(last) != length || memcmp(last, name, length) != 0))
			add_name(names, n, name, length);
	}
	mem_free(prefix);
}

char **zarr_store_list(const struct zarr_store *st, const char *folder, int *n)
{
	char **names = NULL;
	DIR *d = st->zipped ? NULL : opendir(folder);
	const struct dirent *e;
	*n = 0;
	if (st->zipped)
		list_members(st, folder, &names, n);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			add_name(&names, n, e->d_name, strlen(e->d_name));
	if (d)
		closedir(d);
	return names;
}

static void add_sizes(int at, const char *name, int depth, uint64_t enough, uint64_t *sum)
{
	const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct stat st;
	while (d && *sum < enough && (e = readdir(d))) {
		if (e->d_name[0] == '.' || fstatat(fd, e->d_name, &st, 0) != 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth > 0)
			add_sizes(fd, e->d_name, depth - 1, enough, sum);
		else if (S_ISREG(st.st_mode))
			*sum += (uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
}

uint64_t zarr_store_sum(const struct zarr_store *st, const char *folder, uint64_t enough)
{
	uint64_t sum = 0;
	int i;
	if (!st->zipped) {
		add_sizes(AT_FDCWD, folder, MAXD + 1, enough, &sum);
		return sum;
	}
	char *prefix = prefix_of(st, folder, &i);
	for (; sum < enough && is_below(st, i, prefix); i++)
		sum += st->member[i]->packed;
	mem_free(prefix);
	return sum;
}
