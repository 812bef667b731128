/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The helpers of disk.h, on any disk. */
#include "base/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

/* Raises what the disk answered; returns the code. */
static int fail(int code, int reason, const char *verb, const char *path)
{
	errno = reason;
	return io_fail(code, verb, path);
}

/* A full disk is E_IO wherever it shows. */
static int create_code(int reason)
{
	return reason == ENOSPC || reason == EDQUOT || reason == EIO ? E_IO : E_CANTCREATE;
}

int disk_open(struct disk *d, int *fd, const char *path, int flags)
{
	int reason;
	do
		reason = d->open(d, fd, path, flags);
	while (reason == EINTR);
	return reason;
}

/* EINVAL and ENOTSUP: a file system that has no sync to offer. */
static int sync_again(struct disk *d, int fd)
{
	int reason;
	do
		reason = d->sync(d, fd);
	while (reason == EINTR);
	return reason == EINVAL || reason == ENOTSUP ? 0 : reason;
}

/* --- folders --- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int disk_list(struct disk_names *out, struct disk *d, const char *folder)
{
	*out = (struct disk_names){ .text = BUF_INIT };
	int reason = d->list(d, folder, &out->text);
	if (reason == ENOENT)
		return 0;
	if (reason) {
		disk_names_release(out);
		return fail(E_IO, reason, "read folder", folder);
	}
	for (size_t at = 0; at < out->text.len; at += strlen(out->text.data + at) + 1)
		out->n++;
	out->name = mem_calloc((size_t)out->n + 1, sizeof *out->name);
	size_t at = 0;
	for (int i = 0; i < out->n; i++) {
		out->name[i] = out->text.data + at;
		at += strlen(out->name[i]) + 1;
	}
	if (out->n > 1)
		qsort(out->name, (size_t)out->n, sizeof *out->name, by_text);
	return 0;
}

void disk_names_release(struct disk_names *l)
{
	buf_release(&l->text);
	mem_free(l->name);
	*l = (struct disk_names){ .text = BUF_INIT };
}

bool disk_exists(struct disk *d, const char *path)
{
	struct disk_stat st;
	return d->stat(d, path, &st) == 0;
}

int disk_sync_folder(struct disk *d, const char *path)
{
	int fd, reason = disk_open(d, &fd, path, O_RDONLY | O_DIRECTORY);
	if (reason)
		return fail(E_IO, reason, "sync folder", path);
	reason = sync_again(d, fd);
	d->close(d, fd);
	return reason ? fail(E_IO, reason, "sync folder", path) : 0;
}

/* The folder that path is in. */
static int sync_above(struct disk *d, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct buf above = BUF_INIT;
	if (!slash)
		buf_puts(&above, ".");
	else
		buf_add(&above, path, slash == path ? 1 : (size_t)(slash - path));
	int rc = disk_sync_folder(d, above.data);
	buf_release(&above);
	return rc;
}

static int make_folder(struct disk *d, const char *path)
{
	struct disk_stat st;
	if (d->stat(d, path, &st) == 0 && st.folder)
		return 0;
	int reason = d->mkdir(d, path);
	if (reason == EEXIST) {
		const int is = d->stat(d, path, &st);
		if (is == 0 && st.folder)
			return 0;               /* another process has made it */
		reason = is ? is : ENOTDIR;
	}
	if (reason)
		return fail(create_code(reason), reason, "create folder", path);
	return sync_above(d, path);
}

int disk_mkdirs(struct disk *d, const char *path)
{
	char *copy = mem_strdup(path);
	int rc = 0;
	for (char *p = copy + 1; *copy && *p && rc == 0; p++) {
		if (*p != '/' || p[-1] == '/')
			continue;
		*p = '\0';
		rc = make_folder(d, copy);
		*p = '/';
	}
	if (rc == 0)
		rc = make_folder(d, path);
	mem_free(copy);
	return rc;
}

/* --- reading --- */

int disk_read_at(struct disk *d, int fd, const char *path, uint64_t at, void *p, size_t n)
{
	char *to = p;
	while (n > 0) {
		size_t done = 0;
		int reason = d->pread(d, fd, to, n, at, &done);
		if (reason == EINTR)
			continue;
		if (reason)
			return fail(E_IO, reason, "read", path);
		if (done == 0)
			return ERR(E_IO, NULL, "cannot read '%s': it ends at byte %llu", path,
			           (unsigned long long)at);
		to += done;
		at += done;
		n -= done;
	}
	return 0;
}

int disk_open_read(struct disk *d, int *fd, const char *path, struct disk_stat *out)
{
	int reason = disk_open(d, fd, path, O_RDONLY);
	if (reason)
		return fail(reason == ENOENT || reason == ENOTDIR ? E_NOINPUT : E_IO, reason, "open", path);
	reason = d->stat(d, path, out);
	if (reason == 0 && (out->folder || out->size > SIZE_MAX / 2))
		reason = out->folder ? EISDIR : EFBIG;
	if (reason == 0)
		return 0;
	d->close(d, *fd);
	return fail(E_IO, reason, "read", path);
}

int disk_read_file(struct disk *d, const char *path, struct buf *out)
{
	struct disk_stat st;
	int fd;
	TRY(disk_open_read(d, &fd, path, &st));
	const size_t n = (size_t)st.size;
	buf_reserve(out, n);
	int rc = disk_read_at(d, fd, path, 0, out->data + out->len, n);
	d->close(d, fd);
	TRY(rc);
	out->len += n;
	out->data[out->len] = '\0';
	return 0;
}

/* --- writing --- */

int disk_write_at(struct disk *d, int fd, const char *path, uint64_t at, const void *p, size_t n)
{
	const char *from = p;
	while (n > 0) {
		size_t done = 0;
		int reason = d->pwrite(d, fd, from, n, at, &done);
		if (reason == EINTR)
			continue;
		if (reason || done == 0)
			return fail(E_IO, reason ? reason : ENOSPC, "write", path);
		from += done;
		at += done;
		n -= done;
	}
	return 0;
}

int disk_create_temporary(struct disk *d, const char *path, int *fd, char **name)
{
	static atomic_uint serial;
	const char *slash = strrchr(path, '/');
	const int folder = slash ? (int)(slash + 1 - path) : 0;
	struct buf text = BUF_INIT;
	int reason, tries = 0;

	do {   /* a name that exists is left from a killed process which had our number */
		buf_clear(&text);
		buf_printf(&text, "%.*s" DISK_TMP "%s-%ld-%u", folder, path, path + folder,
		           (long)getpid(), atomic_fetch_add(&serial, 1));
		reason = disk_open(d, fd, text.data, O_RDWR | O_CREAT | O_EXCL);
	} while (reason == EEXIST && ++tries < 1000);
	if (reason) {
		buf_release(&text);
		return fail(create_code(reason), reason, "create", path);
	}
	*name = buf_detach(&text);
	return 0;
}

int disk_commit_temporary(struct disk *d, const char *path, int fd, char *name, int rc)
{
	int reason = rc == 0 ? sync_again(d, fd) : 0;
	const int closed = d->close(d, fd);
	bool renamed = false;

	if (rc == 0 && (reason || (closed && closed != EINTR)))
		rc = fail(E_IO, reason ? reason : closed, "sync", path);
	if (rc == 0) {
		reason = d->rename(d, name, path);
		renamed = reason == 0;
		if (reason)
			rc = fail(create_code(reason), reason, "create", path);
	}
	if (rc == 0)
		rc = sync_above(d, path);
	if (rc < 0 && !renamed)
		d->unlink(d, name);
	mem_free(name);
	return rc;
}

int disk_write_file(struct disk *d, const char *path, const void *p, size_t n)
{
	int fd;
	char *name;
	TRY(disk_create_temporary(d, path, &fd, &name));
	return disk_commit_temporary(d, path, fd, name, disk_write_at(d, fd, path, 0, p, n));
}

static int append_all(struct disk *d, int fd, const char *path, const void *p, size_t n)
{
	const char *from = p;
	while (n > 0) {
		size_t done = 0;
		int reason = d->append(d, fd, from, n, &done);
		if (reason == EINTR)
			continue;
		if (reason || done == 0)
			return fail(E_IO, reason ? reason : ENOSPC, "write", path);
		from += done;
		n -= done;
	}
	int reason = sync_again(d, fd);
	return reason ? fail(E_IO, reason, "sync", path) : 0;
}

int disk_append_file(struct disk *d, const char *path, const void *p, size_t n)
{
	const bool there = disk_exists(d, path);
	int fd, reason = disk_open(d, &fd, path, O_RDWR | O_CREAT | O_APPEND);
	if (reason)
		return fail(create_code(reason), reason, "create", path);
	int rc = append_all(d, fd, path, p, n);
	d->close(d, fd);
	return rc == 0 && !there ? sync_above(d, path) : rc;
}

int disk_unlink(struct disk *d, const char *path)
{
	int reason = d->unlink(d, path);
	return reason && reason != ENOENT ? fail(E_IO, reason, "remove", path) : 0;
}

int disk_remove(struct disk *d, const char *path)
{
	TRY(disk_unlink(d, path));
	return sync_above(d, path);
}

int disk_clean(struct disk *d, const char *folder, int64_t age)
{
	struct disk_names names;
	TRY(disk_list(&names, d, folder));
	int rc = 0;
	for (int i = 0; rc == 0 && i < names.n; i++) {
		struct disk_stat st;
		if (strncmp(names.name[i], DISK_TMP, strlen(DISK_TMP)) != 0)
			continue;
		char *path = io_join(folder, names.name[i]);
		if (d->stat(d, path, &st) == 0 && !st.folder && d->clock(d) - st.changed >= age)
			rc = disk_unlink(d, path);
		mem_free(path);
	}
	disk_names_release(&names);
	return rc;
}
