/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads by pread, and compares the file's stat with that at the time of opening. */
#include "base/io_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"

#define READ_STEP ((size_t)1 << 30)    /* Linux moves at most 2 GiB - 4 KiB by one call */

/* A FIFO is to be refused, not waited for. */
static int open_file(const char *path)
{
	int fd;
	do
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd;
}

/* Returns fd if it may stay open; else closes it and returns -1. Numbers ascend from 0, and the
 * upper half is left for other uses. */
static int spare(int fd)
{
	struct rlimit most;
	if (getrlimit(RLIMIT_NOFILE, &most) != 0 || (rlim_t)fd < most.rlim_cur / 2)
		return fd;
	close(fd);
	return -1;
}

int io_reader_open(struct io_reader *f, const char *path)
{
	int fd = open_file(path);
	memset(f, 0, sizeof *f);
	if (fd < 0)
		return io_fail(io_open_code(), "open", path);
	if (fstat(fd, &f->opened) != 0 || !S_ISREG(f->opened.st_mode)) {
		close(fd);
		return ERR(E_NOINPUT, NULL, "cannot read '%s': it is not a regular file", path);
	}
	f->size = (uint64_t)f->opened.st_size;
	f->path = mem_strdup(path);
	f->fd = spare(fd);
	return 0;
}

void io_reader_close(struct io_reader *f)
{
	if (f->path && f->fd >= 0)
		close(f->fd);
	mem_free(f->path);
	memset(f, 0, sizeof *f);
}

static int changed(const struct io_reader *f)
{
	return ERR(E_IO, NULL, "'%s' was changed while it was in use", f->path);
}

static int unchanged(const struct io_reader *f, int fd)
{
	const struct stat *was = &f->opened;
	struct stat is;
	if (fstat(fd, &is) != 0)
		return io_fail(E_IO, "read", f->path);
	if (is.st_dev != was->st_dev || is.st_ino != was->st_ino || is.st_size != was->st_size ||
	    is.st_mtim.tv_sec != was->st_mtim.tv_sec || is.st_mtim.tv_nsec != was->st_mtim.tv_nsec)
		return changed(f);
	return 0;
}

static ssize_t pread_once(int fd, char *p, size_t n, uint64_t at)
{
	static _Atomic uint64_t reads;
	if (!fault_hits("read", atomic_fetch_add(&reads, 1) + 1))
		return pread(fd, p, n, (off_t)at);
	errno = EIO;
	return -1;
}

static int read_all(const struct io_reader *f, int fd, uint64_t at, char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = pread_once(fd, p, n < READ_STEP ? n : READ_STEP, at);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return io_fail(E_IO, "read", f->path);
		if (k == 0)
			return ERR(E_IO, NULL, "'%s' ends at byte %" PRIu64 " or before; it had %" PRIu64
			           " when it was opened", f->path, at, f->size);
		p += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return 0;
}

/* A descriptor to read from, or -1; the caller hands it to done. */
static int begin(const struct io_reader *f)
{
	return f->fd >= 0 ? f->fd : open_file(f->path);
}

static void done(const struct io_reader *f, int fd)
{
	if (f->fd < 0)
		close(fd);
}

int io_reader_read(const struct io_reader *f, uint64_t at, void *p, size_t n)
{
	int fd = begin(f);
	if (fd < 0)
		return io_fail(E_IO, "open", f->path);
	int rc = f->fd < 0 ? unchanged(f, fd) : 0;   /* a reopened file may be another one of the same
	                                              * name */
	if (rc == 0)
		rc = read_all(f, fd, at, p, n);
	done(f, fd);
	return rc;
}

int io_reader_unchanged(const struct io_reader *f)
{
	int fd = begin(f);
	if (fd < 0)
		return changed(f);
	int rc = unchanged(f, fd);
	done(f, fd);
	return rc;
}

int io_image_read(struct io_image *m, const char *path)
{
	struct io_reader f;
	int rc;
	memset(m, 0, sizeof *m);
	TRY(io_reader_open(&f, path));
	m->size = (size_t)f.size;
	m->data = mem_map(m->size);
	rc = m->data ? io_reader_read(&f, 0, m->data, m->size)
	             : ERR(E_NOMEM, NULL, "no memory for the %zu bytes of '%s'", m->size, path);
	if (rc == 0)
		rc = io_reader_unchanged(&f);
	io_reader_close(&f);
	if (rc < 0)
		io_image_release(m);
	return rc;
}

void io_image_release(struct io_image *m)
{
	mem_unmap(m->data, m->size);
	memset(m, 0, sizeof *m);
}
