/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files. Every failure names the path and the system's reason: E_NOINPUT for a file that is not
 * there, E_IO for a failed read, write or sync (a full disk among them), E_CANTCREATE for a file
 * that cannot be made.
 *
 * Fault injection for tests, by DLX_DEBUG: fault=write:N makes the Nth io_write of the process fail
 * with ENOSPC; write:N+ makes every one from the Nth fail. crash_at=POINT[#N] raises SIGKILL at the
 * Nth io_crash_point(POINT); the points are in the table of base/debug_read.c. */
#ifndef DLX_BASE_IO_H
#define DLX_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* Raises code with what errno says: "cannot VERB 'PATH': REASON"; returns it. */
int io_fail(int code, const char *verb, const char *path);
/* The code for a file that could not be opened for reading, by errno. */
int io_open_code(void);

/* open(2), repeated when a signal interrupts it; the descriptor is closed on exec. */
int io_open(const char *path, int flags, mode_t mode);

/* The whole file into out (appended): a regular file, a pipe or a terminal. E_NOINPUT for a device,
 * which may have no end. */
int io_read_file(const char *path, struct buf *out);
/* The same for a text that a person writes: E_DATA beyond 64 MiB. */
int io_read_text(const char *path, struct buf *out);

/* The files that a pattern stands for, in order; a path that exists, or has neither "*?[" nor a
 * list in braces, stands for itself. Those of {a,b} are those of each in turn. Says what it does if
 * that takes seconds. E_NOINPUT if nothing matches, or none of a list, or if the search has no
 * reasonable end. */
struct io_paths {
	size_t n;
	char **v;
	bool is_pattern;
};
int io_expand(struct io_paths *out, const char *pattern);
void io_paths_release(struct io_paths *p);     /* a zeroed one is fine */

/* --- outputs --- */

/* Notes that the command reads the file at path: io_create refuses an output that is this file, by
 * whatever name. A path that leads nowhere is fine. */
void io_input(const char *path);
void io_input_forget(const char *path);
struct stat;
/* The name under which a file was noted, or NULL. */
const char *io_input_find(const struct stat *st);

/* Whether io_create can be expected to succeed, so that a command may refuse before it works. */
int io_check_output(const char *path);

/* An output. A regular file, or one that is to be, is written under a temporary name next to its
 * final one and visible only after commit; it keeps the mode of the file that it replaces. Links
 * are followed. A device or a pipe is written in place, and what was written stays.
 * E_USAGE for an input, E_CANTCREATE for a folder, a disk or a file that may not be written. */
struct io_file;
int io_create(struct io_file **out, const char *path);
/* The same of a regular file whose temporary name is its own with a suffix, so that what a killed
 * process left is found; it is kept as it was, and io_write begins in front of it. locked: one
 * process at a time has it; E_CANTCREATE for another one. */
int io_create_named(struct io_file **out, const char *path, const char *suffix, bool locked);
/* Whether io_discard and io_abandon leave the temporary file where it is. */
void io_keep(struct io_file *f, bool keep);
/* n bytes of the temporary file from byte `at` on; false: they are not there. */
bool io_read_back(const struct io_file *f, uint64_t at, void *p, size_t n);
/* What is after byte `at` is gone, and io_write goes on there. */
int io_cut(struct io_file *f, uint64_t at);
/* The temporary name, for a library that writes files by name; NULL: written in place. */
const char *io_temporary(const struct io_file *f);
int io_write(struct io_file *f, const void *p, size_t n);      /* all of n, or an error */
/* The same n bytes at byte `at` of the file, wherever io_write is. E_CANTCREATE for what is
 * written in place: it has no places. */
int io_write_at(struct io_file *f, uint64_t at, const void *p, size_t n);
uint64_t io_tell(const struct io_file *f);                     /* bytes written so far */
/* Nothing more is written: fsync and close, still under the temporary name. So several files can be
 * whole before the first of them gets its name by io_commit. */
int io_finish(struct io_file *f);
/* io_finish unless that was done, rename to the final name, fsync of the folder; frees f whatever
 * the outcome. */
int io_commit(struct io_file *f);
/* Removes the temporary file and frees f. NULL is fine. */
void io_discard(struct io_file *f);
/* For a program that a signal, or another rank's failure, is about to end: removes the temporary
 * files of all threads. */
void io_abandon(void);

/* p, n as the whole content of path, by io_create .. io_commit. */
int io_write_file(const char *path, const void *p, size_t n);

/* A descriptor that appends to a regular file, made if it is not there and emptied if fresh; links
 * are refused, since what they lead to is not ours to change. Or an error. */
int io_open_log(const char *path, bool fresh);
/* All of n bytes to a descriptor that was opened to append; path is for the message. */
int io_append(int fd, const char *path, const void *p, size_t n);

int io_mkdirs(const char *path);              /* like mkdir -p */
int io_sync_dir(const char *path);
bool io_exists(const char *path);
bool io_is_regular(const char *path);
bool io_is_folder(const char *path);
int io_remove_tree(const char *path);         /* like rm -r; a missing path is fine */
/* A hash of what distinguishes a file from all others and from itself before it was written or
 * replaced: device left out, which a mount may change, its inode, size and times, of which no
 * program sets the last (ctime). */
struct stat;
uint64_t io_stat_stamp(const struct stat *st);
/* The same of a file and its name, or of all files of a folder and its folders; seeded. */
uint64_t io_stamp(const char *path, uint64_t seed);
/* Whether a path has more than this suffix, and ends in it. */
bool io_ends_in(const char *path, const char *suffix);
char *io_join(const char *dir, const char *name);   /* "dir/name", or name if absolute; mem_free */

/* This process's folder for temporary files, made in $TMPDIR (/tmp) when it is first asked for; the
 * path is good until io_scratch_remove, which io_abandon calls too. E_CANTCREATE, E_IO. */
int io_scratch(const char **out);
void io_scratch_remove(void);
/* A child that writes there, which io_scratch_remove ends first; 0: none any more. */
void io_scratch_writer(pid_t pid);

int64_t io_nanoseconds(void);                 /* monotonic clock, the same for a host's processes */
double io_seconds(void);                      /* of that clock */
/* Seconds since this process was started, to a hundredth; 0 where the system does not tell. */
double io_process_age(void);
void io_crash_point(const char *point);

#endif
