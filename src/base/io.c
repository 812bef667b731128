/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files read whole or mapped, and files that appear complete or not at all: written under a
 * temporary name in the same folder, synced, renamed, and the folder synced, because the new name
 * is an entry of the folder. Every system call is repeated when a signal interrupts it. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fault.h"
#include "base/mem.h"

#define READ_STEP ((size_t)64 << 10)
#define WRITE_STEP ((size_t)1 << 30)   /* Linux moves at most 2 GiB - 4 KiB by one call */

int io_fail(int code, const char *verb, const char *path)
{
	char reason[128];

	return ERR(code, NULL, "cannot %s '%s': %s", verb, path,
	           strerror_r(errno, reason, sizeof reason));
}

static int open_retry(const char *path, int flags, mode_t mode)
{
	int fd;

	do
		fd = open(path, flags | O_CLOEXEC, mode);
	while (fd < 0 && errno == EINTR);
	return fd;
}

int io_open_code(void)
{
	switch (errno) {
	case ENOENT: case ENOTDIR: case EACCES: case EPERM:
	case ELOOP: case ENAMETOOLONG: case EISDIR: case ENXIO:
		return E_NOINPUT;
	}
	return E_IO;
}

int io_read_file(const char *path, struct buf *out)
{
	int fd = open_retry(path, O_RDONLY, 0);
	ssize_t n;

	if (fd < 0)
		return io_fail(io_open_code(), "open", path);
	do {
		buf_reserve(out, READ_STEP);
		n = read(fd, out->data + out->len, READ_STEP);
		if (n > 0)
			out->len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	out->data[out->len] = '\0';
	if (n < 0) {
		int rc = io_fail(errno == EISDIR ? E_NOINPUT : E_IO, "read", path);
		close(fd);
		return rc;
	}
	close(fd);
	return 0;
}

static int map_fd(struct io_map *m, int fd, const char *path)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) != 0)
		return io_fail(E_IO, "read", path);
	if (!S_ISREG(st.st_mode))
		return ERR(E_NOINPUT, NULL, "cannot read '%s': it is not a regular file", path);
	m->size = (size_t)st.st_size;
	if (m->size == 0) {
		m->data = (const uint8_t *)"";
		return 0;
	}
	p = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return io_fail(errno == ENOMEM ? E_NOMEM : E_IO, "map", path);
	m->data = p;
	return 0;
}

int io_map_open(struct io_map *m, const char *path)
{
	int fd, rc;

	memset(m, 0, sizeof *m);
	fd = open_retry(path, O_RDONLY | O_NONBLOCK, 0);   /* a FIFO is to be refused, not waited for */
	if (fd < 0)
		return io_fail(io_open_code(), "open", path);
	rc = map_fd(m, fd, path);
	close(fd);
	if (rc < 0) {
		memset(m, 0, sizeof *m);
		return rc;
	}
	m->path = mem_strdup(path);
	return 0;
}

void io_map_close(struct io_map *m)
{
	if (m->size)
		munmap((void *)(uintptr_t)m->data, m->size);
	mem_free(m->path);
	memset(m, 0, sizeof *m);
}

struct io_file {
	int fd;
	bool failed;        /* a write failed: what is there must not become visible */
	uint64_t at;
	char *path, *temporary;
	struct io_file *next;
};

/* Files that are being written, for io_abandon. */
static struct io_file *unfinished;
static pthread_mutex_t unfinished_lock = PTHREAD_MUTEX_INITIALIZER;

static void add_unfinished(struct io_file *f)
{
	pthread_mutex_lock(&unfinished_lock);
	f->next = unfinished;
	unfinished = f;
	pthread_mutex_unlock(&unfinished_lock);
}

static void remove_unfinished(const struct io_file *f)
{
	struct io_file **at = &unfinished;

	pthread_mutex_lock(&unfinished_lock);
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	pthread_mutex_unlock(&unfinished_lock);
}

void io_abandon(void)
{
	pthread_mutex_lock(&unfinished_lock);
	for (const struct io_file *f = unfinished; f; f = f->next)
		unlink(f->temporary);
	pthread_mutex_unlock(&unfinished_lock);
}

/* A full disk is E_IO wherever it shows; all else is a file that cannot be made. */
static int create_code(void)
{
	return errno == ENOSPC || errno == EDQUOT || errno == EIO ? E_IO : E_CANTCREATE;
}

int io_create(struct io_file **out, const char *path)
{
	static atomic_uint serial;
	struct buf name = BUF_INIT;
	struct io_file *f;
	int fd, tries = 0;

	*out = NULL;
	do {   /* a name that exists is left from a killed process which had our number */
		buf_clear(&name);
		buf_printf(&name, "%s.tmp-%ld-%u", path, (long)getpid(), atomic_fetch_add(&serial, 1));
		fd = open_retry(name.data, O_RDWR | O_CREAT | O_EXCL, 0666);
	} while (fd < 0 && errno == EEXIST && ++tries < 1000);
	if (fd < 0) {
		int rc = io_fail(create_code(), "create", path);
		buf_release(&name);
		return rc;
	}
	f = mem_calloc(1, sizeof *f);
	f->fd = fd;
	f->path = mem_strdup(path);
	f->temporary = buf_detach(&name);
	add_unfinished(f);
	*out = f;
	return 0;
}

static bool write_fault(void)
{
	static atomic_uint_fast64_t writes;

	if (!fault_hits("write", atomic_fetch_add(&writes, 1) + 1))
		return false;
	errno = ENOSPC;
	return true;
}

int io_write_at(struct io_file *f, uint64_t at, const void *p, size_t n)
{
	const char *s = p;
	bool fault = write_fault();

	while (n > 0 || fault) {
		ssize_t k = fault ? -1 : pwrite(f->fd, s, n < WRITE_STEP ? n : WRITE_STEP, (off_t)at);
		if (k < 0 && !fault && errno == EINTR)
			continue;
		if (k <= 0) {
			if (k == 0)
				errno = ENOSPC;
			f->failed = true;
			return io_fail(E_IO, "write", f->path);
		}
		s += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return 0;
}

int io_write(struct io_file *f, const void *p, size_t n)
{
	TRY(io_write_at(f, f->at, p, n));
	f->at += n;
	return 0;
}

uint64_t io_tell(const struct io_file *f)
{
	return f->at;
}

static void file_free(struct io_file *f)
{
	remove_unfinished(f);
	if (f->fd >= 0)
		close(f->fd);
	mem_free(f->path);
	mem_free(f->temporary);
	mem_free(f);
}

/* EINVAL and ENOTSUP: a file system that has no sync to offer. */
static int sync_fd(int fd)
{
	int rc;

	do
		rc = fsync(fd);
	while (rc != 0 && errno == EINTR);
	return rc != 0 && errno != EINVAL && errno != ENOTSUP ? -1 : 0;
}

static void folder_of(struct buf *out, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		buf_puts(out, ".");
	else if (slash == path)
		buf_puts(out, "/");
	else
		buf_add(out, path, (size_t)(slash - path));
}

static int commit(struct io_file *f)
{
	struct buf folder = BUF_INIT;
	int rc;

	if (f->failed)
		return ERR(E_IO, NULL, "'%s' is not kept: an earlier write to it failed", f->path);
	if (sync_fd(f->fd) != 0)
		return io_fail(E_IO, "sync", f->path);
	rc = close(f->fd);
	f->fd = -1;
	if (rc != 0 && errno != EINTR)
		return io_fail(E_IO, "write", f->path);
	if (rename(f->temporary, f->path) != 0)
		return io_fail(create_code(), "create", f->path);
	folder_of(&folder, f->path);
	rc = io_sync_dir(folder.data);
	buf_release(&folder);
	return rc;
}

int io_commit(struct io_file *f)
{
	int rc = commit(f);

	if (rc < 0)
		unlink(f->temporary);   /* gone already if only the folder's sync failed */
	file_free(f);
	return rc;
}

void io_discard(struct io_file *f)
{
	if (!f)
		return;
	unlink(f->temporary);
	file_free(f);
}

int io_write_file(const char *path, const void *p, size_t n)
{
	struct io_file *f;
	int rc;

	TRY(io_create(&f, path));
	rc = io_write(f, p, n);
	if (rc < 0) {
		io_discard(f);
		return rc;
	}
	return io_commit(f);
}

int io_append(int fd, const char *path, const void *p, size_t n)
{
	static atomic_uint_fast64_t calls;
	const char *s = p;
	bool fault = fault_hits("append", atomic_fetch_add(&calls, 1) + 1);

	while (n > 0) {
		ssize_t k = fault ? 0 : write(fd, s, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k == 0)
			errno = ENOSPC;
		if (k <= 0)
			return io_fail(E_IO, "write", path);
		s += k;
		n -= (size_t)k;
	}
	return 0;
}

double io_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Linux keeps the start in clock ticks since boot: field 22 of a line whose field 2, the program's name, may have
 * spaces and ends in the line's last parenthesis. */
double io_process_age(void)
{
	char line[1024];
	struct timespec now;
	unsigned long long ticks;
	FILE *f = fopen("/proc/self/stat", "r");

	if (!f)
		return 0;
	line[fread(line, 1, sizeof line - 1, f)] = '\0';
	fclose(f);
	const char *p = strrchr(line, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu", &ticks) != 1 || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		return 0;
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

void io_crash_point(const char *point)
{
	static atomic_uint_fast64_t passed;   /* of the one point that the environment names */
	const char *s = getenv("DLX_CRASH_AT");
	size_t len = strlen(point);
	uint64_t at = 1;

	if (!s || strncmp(s, point, len) != 0 || (s[len] != '\0' && s[len] != '#'))
		return;
	if (s[len] == '#')
		at = strtoull(s + len + 1, NULL, 10);
	if (atomic_fetch_add(&passed, 1) + 1 == at)
		kill(getpid(), SIGKILL);
}
