/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operating system's disk. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/disk.h"
#include "base/fault.h"
#include "base/io.h"

#define STEP ((size_t)1 << 30)   /* Linux moves at most 2 GiB - 4 KiB by one call */
#define LARGE ((size_t)1 << 20)  /* bytes from which on writing is started at once */

static int call(int rc)
{
	return rc == 0 ? 0 : errno;
}

static int moved(ssize_t k, size_t *done)
{
	if (k < 0)
		return errno;
	*done = (size_t)k;
	return 0;
}

static int system_open(struct disk *d, int *fd, const char *path, int flags)
{
	(void)d;
	*fd = io_open(path, flags, 0666);
	return *fd < 0 ? errno : 0;
}

static int system_close(struct disk *d, int fd)
{
	(void)d;
	return call(close(fd));
}

static int system_pread(struct disk *d, int fd, void *p, size_t n, uint64_t at, size_t *done)
{
	(void)d;
	return moved(pread(fd, p, n < STEP ? n : STEP, (off_t)at), done);
}

/* Makes the system start writing a large piece at once, so that the sync at the end is short. This
 * is a hint: if it fails, the sync will report the error. */
static void begin_writing(int fd, uint64_t at, size_t n)
{
	if (n >= LARGE)
		sync_file_range(fd, (off_t)at, (off_t)n, SYNC_FILE_RANGE_WRITE);
}

static int system_pwrite(struct disk *d, int fd, const void *p, size_t n, uint64_t at,
                         size_t *done)
{
	(void)d;
	if (fault_writes())
		return ENOSPC;
	const int reason = moved(pwrite(fd, p, n < STEP ? n : STEP, (off_t)at), done);
	if (reason == 0)
		begin_writing(fd, at, *done);
	return reason;
}

static int system_append(struct disk *d, int fd, const void *p, size_t n, size_t *done)
{
	(void)d;
	if (fault_writes())
		return ENOSPC;
	return moved(write(fd, p, n < STEP ? n : STEP), done);
}

static int system_sync(struct disk *d, int fd)
{
	(void)d;
	return call(fsync(fd));
}

static int system_rename(struct disk *d, const char *from, const char *to)
{
	(void)d;
	return call(rename(from, to));
}

static int system_unlink(struct disk *d, const char *path)
{
	(void)d;
	return call(unlink(path));
}

static int system_mkdir(struct disk *d, const char *path)
{
	(void)d;
	return call(mkdir(path, 0777));
}

static int system_lock(struct disk *d, int fd)
{
	(void)d;
	if (debug.no_locks)
		return ENOLCK;
	return call(flock(fd, LOCK_EX | LOCK_NB));
}

static int system_stat(struct disk *d, const char *path, struct disk_stat *out)
{
	struct stat st;
	(void)d;
	if (stat(path, &st) != 0)
		return errno;
	*out = (struct disk_stat){ S_ISDIR(st.st_mode), (uint64_t)st.st_size, st.st_mtime };
	return 0;
}

static int system_list(struct disk *d, const char *folder, struct buf *names)
{
	DIR *open = opendir(folder);
	struct dirent *e;
	(void)d;
	if (!open)
		return errno;
	while (errno = 0, (e = readdir(open)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			buf_add(names, e->d_name, strlen(e->d_name) + 1);
	const int reason = errno;
	closedir(open);
	return reason;
}

static int64_t system_clock(struct disk *d)
{
	(void)d;
	return (int64_t)time(NULL);
}

struct disk *disk_system(void)
{
	static struct disk d = {
		.open = system_open, .close = system_close, .pread = system_pread,
		.pwrite = system_pwrite, .append = system_append, .sync = system_sync,
		.rename = system_rename, .unlink = system_unlink, .mkdir = system_mkdir,
		.lock = system_lock, .stat = system_stat, .list = system_list, .clock = system_clock,
	};
	return &d;
}
