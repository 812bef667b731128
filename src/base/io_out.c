/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The writing half of io.h. A regular file appears complete or not at all: it is written under a
 * temporary name next to its final one, synced, renamed, and the folder synced, because the new
 * name is an entry of the folder. A symbolic link stays, and the file that it leads to is
 * replaced; its mode is kept, and its owner where that is allowed. Nothing is ever truncated, so
 * other hard links of a file keep its old content.
 *
 * Devices and pipes are written in place, since a rename would put a file where they were. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"

#define WRITE_STEP ((size_t)1 << 30)   /* Linux moves at most 2 GiB - 4 KiB by one call */
#define MAX_LINKS 40                   /* as many as Linux follows */
#define READER_WAIT 10.0               /* seconds that a named pipe waits for a reader */

struct io_file {
	int fd;
	bool failed;        /* a write failed, so the file must not get its final name */
	bool keep;          /* the temporary file stays if it is not committed */
	uint64_t at;
	char *path;         /* as it was given, for messages */
	char *final;        /* path with its links followed */
	char *temporary;    /* NULL: written in place */
	struct io_file *next;
};

/* Files that are being written under a temporary name, for io_abandon. */
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
	while (*at && *at != f)
		at = &(*at)->next;
	if (*at)
		*at = f->next;
	pthread_mutex_unlock(&unfinished_lock);
}

void io_abandon(void)
{
	pthread_mutex_lock(&unfinished_lock);
	for (const struct io_file *f = unfinished; f; f = f->next)
		if (!f->keep)
			unlink(f->temporary);
	pthread_mutex_unlock(&unfinished_lock);
	io_scratch_remove();
}

/* A full disk is E_IO wherever it shows; all else is a file that cannot be made. */
static int create_code(void)
{
	return errno == ENOSPC || errno == EDQUOT || errno == EIO ? E_IO : E_CANTCREATE;
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

/* --- resolution of a path --- */

struct target {
	struct buf name;     /* path with its links followed; a dangling link leads to what it names */
	bool exists;
	struct stat st;
};

static int follow_links(struct buf *name, const char *path)
{
	char to[PATH_MAX];
	struct stat st;
	buf_puts(name, path);
	for (int links = 0; lstat(name->data, &st) == 0 && S_ISLNK(st.st_mode); links++) {
		ssize_t n = links < MAX_LINKS ? readlink(name->data, to, sizeof to - 1) : -1;
		if (n < 0) {
			errno = links < MAX_LINKS ? errno : ELOOP;
			return io_fail(E_CANTCREATE, "create", path);
		}
		to[n] = '\0';
		const char *slash = strrchr(name->data, '/');
		const size_t keep = to[0] == '/' || !slash ? 0 : (size_t)(slash + 1 - name->data);
		name->data[name->len = keep] = '\0';
		buf_puts(name, to);
	}
	return 0;
}

static int check_existing(const struct target *t, const char *path)
{
	const char *input = io_input_find(&t->st);
	if (input)
		return ERR(E_USAGE, NULL, "'%s' cannot be written: it is '%s', which is read", path, input);
	if (S_ISDIR(t->st.st_mode))
		errno = EISDIR;
	else if (S_ISBLK(t->st.st_mode) || S_ISSOCK(t->st.st_mode))
		return ERR(E_CANTCREATE, NULL, "cannot create '%s': it is a %s", path,
		           S_ISBLK(t->st.st_mode) ? "block device" : "socket");
	else if (!S_ISREG(t->st.st_mode) || faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0)
		return 0;
	return io_fail(E_CANTCREATE, "create", path);
}

static int look(struct target *t, const char *path)
{
	*t = (struct target){ .name = BUF_INIT };
	t->exists = stat(path, &t->st) == 0;
	if (!t->exists && errno != ENOENT)
		return io_fail(create_code(), "create", path);
	if (t->exists)
		TRY(check_existing(t, path));
	return follow_links(&t->name, path);
}

static bool in_place(const struct target *t)
{
	return t->exists && !S_ISREG(t->st.st_mode);
}

int io_check_output(const char *path)
{
	struct buf folder = BUF_INIT;
	struct target t;
	int rc = look(&t, path);
	if (rc == 0 && !in_place(&t)) {
		folder_of(&folder, t.name.data);
		if (faccessat(AT_FDCWD, folder.data, W_OK | X_OK, AT_EACCESS) != 0)
			rc = io_fail(create_code(), "create", path);
	}
	buf_release(&folder);
	buf_release(&t.name);
	return rc;
}

/* --- opening --- */

/* The owner comes before the mode, of which a change of owner clears bits. */
static void keep_mode(int fd, const struct stat *old)
{
	mode_t mode = old->st_mode & 07777;
	if (fchown(fd, old->st_uid, old->st_gid) != 0)
		mode &= 0777;
	fchmod(fd, mode);   /* a file system without modes is no reason to lose the output */
}

static int open_temporary(struct io_file *f, const struct target *t)
{
	static atomic_uint serial;
	const mode_t mode = t->exists ? t->st.st_mode & 0700 : 0666;
	struct buf name = BUF_INIT;
	int tries = 0;

	do {   /* a name that exists is left from a killed process which had our number */
		buf_clear(&name);
		buf_printf(&name, "%s.tmp-%ld-%u", f->final, (long)getpid(),
		           atomic_fetch_add(&serial, 1));
		f->fd = io_open(name.data, O_RDWR | O_CREAT | O_EXCL, mode);
	} while (f->fd < 0 && errno == EEXIST && ++tries < 1000);
	f->temporary = buf_detach(&name);
	if (f->fd < 0)
		return io_fail(create_code(), "create", f->path);
	if (t->exists)
		keep_mode(f->fd, &t->st);
	add_unfinished(f);
	return 0;
}

/* Whether path leads to what this descriptor writes, as /dev/stdout does. */
static bool leads_to(const struct target *t, int fd)
{
	struct stat st;
	return t->exists && fstat(fd, &st) == 0 && st.st_dev == t->st.st_dev &&
	       st.st_ino == t->st.st_ino;
}

/* A named pipe cannot be opened before it has a reader, which may start a little later. */
static int open_in_place(struct io_file *f)
{
	const double deadline = io_seconds() + READER_WAIT;
	while ((f->fd = io_open(f->path, O_WRONLY | O_NOCTTY | O_NONBLOCK, 0)) < 0 && errno == ENXIO &&
	       io_seconds() < deadline)
		usleep(10000);
	if (f->fd < 0 && errno == ENXIO)
		return ERR(E_CANTCREATE, NULL, "cannot write to '%s': nobody reads it", f->path);
	if (f->fd < 0)
		return io_fail(create_code(), "create", f->path);
	fcntl(f->fd, F_SETFL, fcntl(f->fd, F_GETFL) & ~O_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);   /* a reader that ends is an error of io_write */
	return 0;
}

static int open_file(struct io_file *f, const struct target *t)
{
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (leads_to(t, fd) && (f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) >= 0)
			return 0;
	return in_place(t) ? open_in_place(f) : open_temporary(f, t);
}

static void file_free(struct io_file *f)
{
	remove_unfinished(f);
	if (f->fd >= 0)
		close(f->fd);
	mem_free(f->path);
	mem_free(f->final);
	mem_free(f->temporary);
	mem_free(f);
}

/* The file that path leads to, which `t` describes; what t has is the file's then. */
static struct io_file *file_new(const char *path, struct target *t)
{
	struct io_file *f = mem_calloc(1, sizeof *f);
	f->fd = -1;
	f->path = mem_strdup(path);
	f->final = buf_detach(&t->name);
	return f;
}

static int opened(struct io_file **out, struct io_file *f, int rc)
{
	if (rc < 0)
		file_free(f);
	else
		*out = f;
	return rc;
}

int io_create(struct io_file **out, const char *path)
{
	struct target t;
	int rc = look(&t, path);
	*out = NULL;
	if (rc < 0) {
		buf_release(&t.name);
		return rc;
	}
	struct io_file *f = file_new(path, &t);
	return opened(out, f, open_file(f, &t));
}

/* --- files that outlive the process --- */

static int open_named(struct io_file *f, const char *suffix, bool locked, const struct target *t)
{
	struct buf name = BUF_INIT;
	buf_printf(&name, "%s%s", f->final, suffix);
	f->temporary = buf_detach(&name);
	f->fd = io_open(f->temporary, O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
	if (f->fd < 0)
		return io_fail(create_code(), "create", f->temporary);
	if (locked && flock(f->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return ERR(E_CANTCREATE, NULL, "cannot create '%s': another process is writing it",
		           f->path);
	if (t->exists)
		keep_mode(f->fd, &t->st);
	add_unfinished(f);
	return 0;
}

int io_create_named(struct io_file **out, const char *path, const char *suffix, bool locked)
{
	struct target t;
	int rc = look(&t, path);
	*out = NULL;
	if (rc == 0 && in_place(&t))
		rc = ERR(E_CANTCREATE, NULL, "cannot create '%s': it is no regular file", path);
	if (rc < 0) {
		buf_release(&t.name);
		return rc;
	}
	struct io_file *f = file_new(path, &t);
	return opened(out, f, open_named(f, suffix, locked, &t));
}

void io_keep(struct io_file *f, bool keep)
{
	f->keep = keep;
}

bool io_read_back(const struct io_file *f, uint64_t at, void *p, size_t n)
{
	char *to = p;
	while (n > 0) {
		const ssize_t k = pread(f->fd, to, n < WRITE_STEP ? n : WRITE_STEP, (off_t)at);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		to += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return true;
}

int io_cut(struct io_file *f, uint64_t at)
{
	if (ftruncate(f->fd, (off_t)at) != 0 || lseek(f->fd, (off_t)at, SEEK_SET) < 0)
		return io_fail(E_IO, "write", f->temporary);
	f->at = at;
	return 0;
}

const char *io_temporary(const struct io_file *f)
{
	return f->temporary;
}

int io_open_log(const char *path, bool fresh)
{
	const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
	struct stat st;
	int fd = io_open(path, flags, 0666);
	if (fd < 0 && errno != ELOOP && errno != ENXIO)
		return io_fail(E_CANTCREATE, "create", path);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return ERR(E_CANTCREATE, NULL, "cannot create '%s': what is there is no regular file",
		           path);
	}
	if (fresh && ftruncate(fd, 0) != 0) {
		int rc = io_fail(E_IO, "write", path);
		close(fd);
		return rc;
	}
	return fd;
}

/* --- writing --- */

static bool write_fault(void)
{
	if (!fault_writes())
		return false;
	errno = ENOSPC;
	return true;
}

/* Writes all n bytes at byte `at`; -1: at the current position. */
static int write_all(struct io_file *f, off_t at, const void *p, size_t n)
{
	const char *s = p;
	bool fault = write_fault();
	while (n > 0 || fault) {
		const size_t step = n < WRITE_STEP ? n : WRITE_STEP;
		ssize_t k = fault ? -1 : at < 0 ? write(f->fd, s, step) : pwrite(f->fd, s, step, at);
		if (k < 0 && !fault && errno == EINTR)
			continue;
		if (k <= 0) {
			if (k == 0)
				errno = ENOSPC;
			f->failed = true;
			return io_fail(E_IO, "write", f->path);
		}
		s += k;
		at += at < 0 ? 0 : k;
		n -= (size_t)k;
	}
	return 0;
}

int io_write(struct io_file *f, const void *p, size_t n)
{
	TRY(write_all(f, -1, p, n));
	f->at += (uint64_t)n;
	return 0;
}

int io_write_at(struct io_file *f, uint64_t at, const void *p, size_t n)
{
	if (!f->temporary)
		return ERR(E_CANTCREATE, NULL, "cannot write '%s' piece by piece: it is no regular file",
		           f->path);
	return write_all(f, (off_t)at, p, n);
}

uint64_t io_tell(const struct io_file *f)
{
	return f->at;
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

/* --- ending --- */

int io_finish(struct io_file *f)
{
	int rc;
	if (f->failed)
		return ERR(E_IO, NULL, "'%s' is not kept: an earlier write to it failed", f->path);
	if (sync_fd(f->fd) != 0)
		return io_fail(E_IO, "sync", f->path);
	rc = close(f->fd);
	f->fd = -1;
	return rc != 0 && errno != EINTR ? io_fail(E_IO, "write", f->path) : 0;
}

static int commit(struct io_file *f)
{
	struct buf folder = BUF_INIT;
	int rc;
	if (f->fd >= 0 || f->failed)
		TRY(io_finish(f));
	if (!f->temporary)
		return 0;
	if (rename(f->temporary, f->final) != 0)
		return io_fail(create_code(), "create", f->path);
	folder_of(&folder, f->final);
	rc = io_sync_dir(folder.data);
	buf_release(&folder);
	return rc;
}

int io_commit(struct io_file *f)
{
	int rc = commit(f);
	if (rc < 0 && f->temporary && !f->keep)
		unlink(f->temporary);   /* gone already if only the folder's sync failed */
	file_free(f);
	return rc;
}

void io_discard(struct io_file *f)
{
	if (!f)
		return;
	if (f->temporary && !f->keep)
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

