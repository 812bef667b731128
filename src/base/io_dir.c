/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folders' half of io.h: making, syncing and removing them, and joining names. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"

/* One folder. One that is there is fine whatever mkdir says: it may complain of other things. */
static int make_one(const char *path)
{
	struct stat st;
	int code, reason;
	if (mkdir(path, 0777) == 0)
		return 0;
	code = errno == ENOSPC || errno == EDQUOT || errno == EIO ? E_IO : E_CANTCREATE;
	reason = errno == EEXIST ? ENOTDIR : errno;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	errno = errno == ELOOP ? ELOOP : reason;
	return io_fail(code, "create folder", path);
}

int io_mkdirs(const char *path)
{
	char *copy = mem_strdup(path);
	int rc = 0;
	for (char *p = copy + 1; *copy && *p && rc == 0; p++) {
		if (*p != '/' || p[-1] == '/')
			continue;
		*p = '\0';
		rc = make_one(copy);
		*p = '/';
	}
	if (rc == 0)
		rc = make_one(path);
	mem_free(copy);
	return rc;
}

int io_sync_dir(const char *path)
{
	int fd, rc = 0;
	do
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return io_fail(E_IO, "sync folder", path);
	while (rc == 0 && fsync(fd) != 0) {
		if (errno == EINVAL || errno == ENOTSUP)
			break;   /* a file system that has no sync to offer */
		if (errno != EINTR)
			rc = io_fail(E_IO, "sync folder", path);
	}
	close(fd);
	return rc;
}

bool io_exists(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0;
}

bool io_is_regular(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool io_is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path) != 0 && errno != ENOENT ? -1 : 0;
}

int io_remove_tree(const char *path)
{
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
		return io_fail(E_IO, "remove", path);
	return 0;
}

/* --- whether files have changed --- */

uint64_t io_stat_stamp(const struct stat *st)
{
	const int64_t is[] = { (int64_t)st->st_ino, st->st_size, st->st_mtim.tv_sec,
		st->st_mtim.tv_nsec, st->st_ctim.tv_sec, st->st_ctim.tv_nsec };
	return hash_bytes(is, sizeof is, 0);
}

static _Thread_local uint64_t stamps;          /* nftw has no argument for it */

/* A sum: a folder's files come in any order. */
static int add_stamp(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	stamps += hash_bytes(path, strlen(path), kind == FTW_NS ? 0 : io_stat_stamp(st));
	return 0;
}

uint64_t io_stamp(const char *path, uint64_t seed)
{
	stamps = 0;
	if (nftw(path, add_stamp, 16, 0) != 0)
		stamps = hash_bytes(path, strlen(path), 0);
	return hash_bytes(&stamps, sizeof stamps, seed);
}

bool io_ends_in(const char *path, const char *suffix)
{
	const size_t n = strlen(path), m = strlen(suffix);
	return n > m && strcmp(path + n - m, suffix) == 0;
}

char *io_join(const char *dir, const char *name)
{
	struct buf b = BUF_INIT;
	if (*name != '/' && *dir) {
		buf_puts(&b, dir);
		if (b.data[b.len - 1] != '/')
			buf_putc(&b, '/');
	}
	buf_puts(&b, name);
	return buf_detach(&b);
}
