/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file system as a table of functions. Code whose files must survive a crash (the checkpoint
 * store) makes every call through it, so that a test can record calls, make them fail, or replace
 * the disk by one in memory that loses unsynced data. The functions of the table return 0 or an
 * errno value and raise no error; the helpers below it do. Any thread may call them. */
#ifndef DLX_BASE_DISK_H
#define DLX_BASE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct disk_stat {
	bool folder;
	uint64_t size;
	int64_t changed;               /* seconds since 1970 */
};

/* fd: a file number of this disk, 0 or more. */
struct disk {
	/* flags as in open(2): O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_DIRECTORY */
	int (*open)(struct disk *d, int *fd, const char *path, int flags);
	int (*close)(struct disk *d, int fd);
	/* *done may be less than n; EINTR is for the caller to repeat */
	int (*pread)(struct disk *d, int fd, void *p, size_t n, uint64_t at, size_t *done);
	int (*pwrite)(struct disk *d, int fd, const void *p, size_t n, uint64_t at, size_t *done);
	int (*append)(struct disk *d, int fd, const void *p, size_t n, size_t *done);
	/* makes a file's data and size, or a folder's entries, durable. After a failed sync the file
	 * must be written again under another name, since the system may have dropped the pages */
	int (*sync)(struct disk *d, int fd);
	int (*rename)(struct disk *d, const char *from, const char *to);
	int (*unlink)(struct disk *d, const char *path);
	int (*mkdir)(struct disk *d, const char *path);       /* one folder; EEXIST */
	/* an exclusive lock, without waiting, until fd is closed: EWOULDBLOCK if another holds it;
	 * ENOTSUP or ENOLCK on a file system without locks */
	int (*lock)(struct disk *d, int fd);
	int (*stat)(struct disk *d, const char *path, struct disk_stat *out);
	/* the names in a folder, without "." and "..", each with its NUL, added to `names`;
	 * in any order */
	int (*list)(struct disk *d, const char *folder, struct buf *names);
	int64_t (*clock)(struct disk *d);                     /* seconds since 1970 */
};

/* The disk of the operating system. DLX_DEBUG=fault=write:N applies to its pwrite and append. */
struct disk *disk_system(void);

/* --- helpers, for any disk. They repeat calls interrupted by EINTR and continue after short
 * transfers. E_IO, E_NOINPUT, E_CANTCREATE with the path and the reason. --- */

/* The names in a folder, sorted; a missing folder has none. names[i] point into text. */
struct disk_names {
	struct buf text;
	const char **name;
	int n;
};
int disk_list(struct disk_names *out, struct disk *d, const char *folder);
void disk_names_release(struct disk_names *l);

bool disk_exists(struct disk *d, const char *path);
int disk_mkdirs(struct disk *d, const char *path);        /* like mkdir -p; syncs the parent of each
                                                           * new folder */
int disk_sync_folder(struct disk *d, const char *path);
/* d->open, repeated if a signal interrupts it. */
int disk_open(struct disk *d, int *fd, const char *path, int flags);
/* Opens a regular file for reading, and fills *out with its properties. E_NOINPUT if there is
 * none. */
int disk_open_read(struct disk *d, int *fd, const char *path, struct disk_stat *out);
/* Reads or writes all n bytes. E_IO if the file is too short. */
int disk_read_at(struct disk *d, int fd, const char *path, uint64_t at, void *p, size_t n);
int disk_write_at(struct disk *d, int fd, const char *path, uint64_t at, const void *p, size_t n);
/* The whole file into out (appended). */
int disk_read_file(struct disk *d, const char *path, struct buf *out);
/* Replaces the content of path atomically: writes a temporary file (with the prefix DISK_TMP) in
 * the same folder, syncs it, renames it, and syncs the folder. After an error the temporary file is
 * removed, and path is unchanged. */
int disk_write_file(struct disk *d, const char *path, const void *p, size_t n);
/* Adds n bytes to the end of a file, made if missing, and syncs it. */
int disk_append_file(struct disk *d, const char *path, const void *p, size_t n);
int disk_unlink(struct disk *d, const char *path);        /* a missing file is fine */
int disk_remove(struct disk *d, const char *path);        /* the same, durably */
/* Removes from a folder the temporary files (DISK_TMP), left by killed processes, that are at least
 * `age` seconds old. A missing folder has none. */
int disk_clean(struct disk *d, const char *folder, int64_t age);

/* The two halves of disk_write_file, for a file that is written in pieces. disk_create_temporary
 * opens a new temporary file *name in the folder of path as *fd. disk_commit_temporary closes it
 * and renames it to path; rc: the result of writing it; if that is an error the file is removed
 * instead. It frees name, and returns rc or its own error. */
int disk_create_temporary(struct disk *d, const char *path, int *fd, char **name);
int disk_commit_temporary(struct disk *d, const char *path, int fd, char *name, int rc);

#define DISK_TMP ".tmp-"

#endif
