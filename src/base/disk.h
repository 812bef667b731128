/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The disk as a table of calls. Code whose files have to survive a crash (the checkpoint store)
 * makes every call through it, so that a test can record the calls, let them fail, or run them on a
 * disk in memory that loses what was not synced. All functions return 0 or what errno would be, and
 * raise no error; the helpers below the table do. Any thread may call them. */
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

/* fd is a number of this disk, 0 or more. */
struct disk {
	/* flags as in open(2): O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_DIRECTORY */
	int (*open)(struct disk *d, int *fd, const char *path, int flags);
	int (*close)(struct disk *d, int fd);
	/* *done may be less than n; EINTR is for the caller to repeat */
	int (*pread)(struct disk *d, int fd, void *p, size_t n, uint64_t at, size_t *done);
	int (*pwrite)(struct disk *d, int fd, const void *p, size_t n, uint64_t at, size_t *done);
	int (*append)(struct disk *d, int fd, const void *p, size_t n, size_t *done);
	/* data and size are durable; of a folder: its entries. A file whose sync failed must be written
	 * anew under another name: the system may have dropped the pages */
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

/* The operating system's. Obeys DLX_DEBUG=fault=write:N for pwrite and append. */
struct disk *disk_system(void);

/* --- helpers, on any disk. They repeat what EINTR interrupts and go on after short transfers.
 * E_IO, E_NOINPUT, E_CANTCREATE with the path and the reason. --- */

/* The names in a folder, sorted; a missing folder has none. names[i] point into text. */
struct disk_names {
	struct buf text;
	const char **name;
	int n;
};
int disk_list(struct disk_names *out, struct disk *d, const char *folder);
void disk_names_release(struct disk_names *l);

bool disk_exists(struct disk *d, const char *path);
int disk_mkdirs(struct disk *d, const char *path);        /* and syncs the folder above a new one */
int disk_sync_folder(struct disk *d, const char *path);
/* open of the table, repeated when a signal interrupts it. */
int disk_open(struct disk *d, int *fd, const char *path, int flags);
/* A regular file to read, and what it is. E_NOINPUT if there is none. */
int disk_open_read(struct disk *d, int *fd, const char *path, struct disk_stat *out);
/* All n bytes. A file that ends before is E_IO. */
int disk_read_at(struct disk *d, int fd, const char *path, uint64_t at, void *p, size_t n);
int disk_write_at(struct disk *d, int fd, const char *path, uint64_t at, const void *p, size_t n);
/* The whole file into out (appended). */
int disk_read_file(struct disk *d, const char *path, struct buf *out);
/* The new content of path, whole or not at all: a temporary file (DISK_TMP before its name) next to
 * it, synced, renamed, the folder synced. After an error nothing of it is left, and path is
 * as it was. */
int disk_write_file(struct disk *d, const char *path, const void *p, size_t n);
/* Adds n bytes to the end of a file, made if missing, and syncs it. */
int disk_append_file(struct disk *d, const char *path, const void *p, size_t n);
int disk_unlink(struct disk *d, const char *path);        /* a missing file is fine */
int disk_remove(struct disk *d, const char *path);        /* the same, durably */
/* Removes the temporary files (DISK_TMP) of a folder that are `age` seconds old or older: processes
 * that were killed left them. A missing folder has none. */
int disk_clean(struct disk *d, const char *folder, int64_t age);

/* The parts of disk_write_file, for a file that is written piece by piece: *fd of a new temporary
 * file *name next to path; and its end. rc: how writing it went; where that is an error the file is
 * removed. Closes fd, frees name; returns rc or what failed here. */
int disk_create_temporary(struct disk *d, const char *path, int *fd, char **name);
int disk_commit_temporary(struct disk *d, const char *path, int fd, char *name, int rc);

#define DISK_TMP ".tmp-"

#endif
