/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Uses pread and pwrite, never mmap: if another program truncated a mapped file, SIGBUS would kill
 * dlx. */
#include "data/staging_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"

#define MAGIC "DLXSTAGE"
#define MAP_AT 64
#define TOLD_AT 16

struct head {
	char magic[8];
	uint64_t identity;
	uint8_t rest[48];
};

/* --- bytes --- */

static int begin(const struct staging_cache *c)
{
	return c->fd >= 0 ? c->fd : io_open(c->path, O_RDWR | O_NOFOLLOW, 0);
}

static int done(const struct staging_cache *c, int fd, int rc)
{
	if (c->fd < 0)
		close(fd);
	return rc;
}

static int read_all(int fd, uint64_t at, char *p, size_t n)
{
	while (n > 0) {
		const ssize_t k = pread(fd, p, n, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k < 0 ? errno : ENODATA;
		p += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return 0;
}

static int write_all(int fd, uint64_t at, const char *p, size_t n)
{
	while (n > 0) {
		const ssize_t k = pwrite(fd, p, n, (off_t)at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k < 0 ? errno : ENOSPC;
		p += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return 0;
}

static int read_at(const struct staging_cache *c, uint64_t at, void *p, size_t n)
{
	int fd = c->path ? begin(c) : -1;
	if (fd < 0)
		return c->path ? errno : ENOENT;
	return done(c, fd, read_all(fd, at, p, n));
}

static int write_at(const struct staging_cache *c, uint64_t at, const void *p, size_t n)
{
	int fd = c->path ? begin(c) : -1;
	if (fd < 0)
		return c->path ? errno : ENOENT;
	return done(c, fd, write_all(fd, at, p, n));
}

int staging_cache_read(const struct staging_cache *c, uint64_t at, void *p, size_t n)
{
	return read_at(c, c->base + at, p, n);
}

int staging_cache_write(const struct staging_cache *c, uint64_t at, const void *p, size_t n)
{
	return write_at(c, c->base + at, p, n);
}

void staging_cache_clear(const struct staging_cache *c, uint64_t at, uint64_t n)
{
	int fd = c->path ? begin(c) : -1;
	if (fd >= 0)
		done(c, fd, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		                      (off_t)(c->base + at), (off_t)n));
}

/* --- the map --- */

void staging_cache_map(const struct staging_cache *c, int64_t first, uint8_t *map, int64_t n)
{
	if (read_at(c, MAP_AT + (uint64_t)first, map, (size_t)n) != 0)
		memset(map, 0, (size_t)n);
}

int staging_cache_mark(const struct staging_cache *c, int64_t extent)
{
	return write_at(c, MAP_AT + (uint64_t)extent, "\1", 1);
}

bool staging_cache_tell(const struct staging_cache *c)
{
	int fd = c->path ? io_open(c->path, O_RDWR | O_NOFOLLOW, 0) : -1;
	char told = 0;
	if (fd < 0)
		return true;
	flock(fd, LOCK_EX);
	if (read_all(fd, TOLD_AT, &told, 1) == 0 && !told)
		write_all(fd, TOLD_AT, "\1", 1);
	close(fd);                   /* this also releases the lock */
	return !told;
}

/* --- opening --- */

/* As in base/io_reader.c: half of the descriptors are for others. */
static int spare(int fd)
{
	struct rlimit most;
	if (getrlimit(RLIMIT_NOFILE, &most) != 0 || (rlim_t)fd < most.rlim_cur / 2)
		return fd;
	close(fd);
	return -1;
}

static bool full(int why)
{
	return why == ENOSPC || why == EDQUOT || why == EFBIG;
}

/* Uses the existing copy if it is of this record; else begins an empty map and removes the old
 * bytes. */
static int prepare(int fd, uint64_t identity, int64_t n)
{
	struct head h = { .magic = "" }, was;
	uint8_t *none;
	int rc;
	memcpy(h.magic, MAGIC, sizeof h.magic);
	h.identity = identity;
	if (read_all(fd, 0, (char *)&was, sizeof was) == 0 &&
	    memcmp(&was, &h, sizeof h.magic + sizeof h.identity) == 0)
		return write_all(fd, TOLD_AT, "", 1);
	if (ftruncate(fd, 0) != 0)
		return errno;
	none = mem_calloc((size_t)n + 1, 1);
	rc = write_all(fd, MAP_AT, (const char *)none, (size_t)n);
	mem_free(none);
	return rc ? rc : write_all(fd, 0, (const char *)&h, sizeof h);
}

static int open_locked(const char *path, uint64_t identity, int64_t n, int *fd)
{
	struct stat st;
	int rc;
	*fd = io_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (*fd < 0)
		return errno;
	if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		close(*fd);
		return EPERM;
	}
	while ((rc = flock(*fd, LOCK_EX)) != 0 && errno == EINTR)
		;
	rc = prepare(*fd, identity, n);
	flock(*fd, LOCK_UN);
	if (rc)
		close(*fd);
	return rc;
}

void staging_cache_name(struct buf *out, const char *dir, const char *host)
{
	buf_printf(out, "%s/dlx-stage-%ld-%s-", dir, (long)geteuid(), host);
}

int staging_cache_open(struct staging_cache *c, const char *dir, const char *host, uint64_t hash,
                     const uint64_t *start, int64_t n)
{
	struct buf path = BUF_INIT;
	int fd, why;
	*c = (struct staging_cache){ .fd = -1 };
	staging_cache_name(&path, dir, host);
	buf_printf(&path, "%016" PRIx64, hash);
	why = open_locked(path.data, hash_bytes(start, sizeof *start * ((size_t)n + 1), hash), n, &fd);
	if (why == 0) {
		c->path = mem_strdup(path.data);
		c->fd = spare(fd);
		c->base = round_up(MAP_AT + (uint64_t)n, MEM_PAGE);
	} else if (!full(why)) {
		errno = why;
		io_fail(E_CANTCREATE, "write", path.data);
	}
	buf_release(&path);
	return why == 0 || full(why) ? 0 : E_CANTCREATE;
}

void staging_cache_close(struct staging_cache *c)
{
	if (c->path && c->fd >= 0)
		close(c->fd);
	mem_free(c->path);
	*c = (struct staging_cache){ .fd = -1 };
}
