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

/* Raises code with the message "cannot VERB 'PATH': REASON", the reason by errno; returns code. */
int io_fail(int code, const char *verb, const char *path);
/* The error code, by errno, for a file that could not be opened for reading. */
int io_open_code(void);

/* open(2), repeated when a signal interrupts it; the descriptor is closed on exec. */
int io_open(const char *path, int flags, mode_t mode);

/* Appends the whole file to out: a regular file, a pipe or a terminal. E_NOINPUT for other devices,
 * which may have no end. */
int io_read_file(const char *path, struct buf *out);
/* The same for a text that a person writes: E_DATA beyond 64 MiB. */
int io_read_text(const char *path, struct buf *out);

/* The files that match a pattern, in order. A path that exists, or has neither "*?[" nor a list in
 * braces, matches only itself; {a,b} matches the files of a, then those of b. Prints a note if the
 * search takes seconds. E_NOINPUT if a pattern, or all items of a list, match nothing, or if the
 * search takes too long. */
struct io_paths {
	size_t n;
	char **v;
	bool is_pattern;
};
int io_expand(struct io_paths *out, const char *pattern);
void io_paths_release(struct io_paths *p);     /* a zeroed one is fine */

/* --- outputs --- */

/* Records that the command reads the file at path, so that io_create refuses to overwrite it under
 * any name. The path need not exist. */
void io_input(const char *path);
void io_input_forget(const char *path);
struct stat;
/* The name under which a file was recorded by io_input, or NULL. */
const char *io_input_find(const struct stat *st);

/* Whether io_create can be expected to succeed, so that a command may refuse before it works. */
int io_check_output(const char *path);

/* An output. A regular file, new or existing, is written under a temporary name in the same folder,
 * and gets its name only by io_commit; it keeps the mode of the file that it replaces. Symbolic
 * links are followed. A device or a pipe is written in place, and what was written cannot be
 * undone.
 * E_USAGE for an input, E_CANTCREATE for a folder, a disk or a file that may not be written. */
struct io_file;
int io_create(struct io_file **out, const char *path);
/* The same for a regular file whose temporary name is path + suffix, so that the file of a killed
 * process is found again. Its content is kept, and io_write begins at byte 0. locked: only one
 * process at a time may open it; E_CANTCREATE for another one. */
int io_create_named(struct io_file **out, const char *path, const char *suffix, bool locked);
/* Whether io_discard and io_abandon leave the temporary file where it is. */
void io_keep(struct io_file *f, bool keep);
/* Reads n bytes of the temporary file from byte `at` on; false if it has fewer. */
bool io_read_back(const struct io_file *f, uint64_t at, void *p, size_t n);
/* Truncates the file at byte `at`, where io_write continues. */
int io_cut(struct io_file *f, uint64_t at);
/* The temporary name, for a library that writes files by name; NULL: written in place. */
const char *io_temporary(const struct io_file *f);
int io_write(struct io_file *f, const void *p, size_t n);      /* all of n, or an error */
/* Writes n bytes at byte `at`, without moving the position of io_write. E_CANTCREATE for an output
 * written in place, which has no positions. */
int io_write_at(struct io_file *f, uint64_t at, const void *p, size_t n);
uint64_t io_tell(const struct io_file *f);                     /* bytes written so far */
/* fsync and close, still under the temporary name. So several files can be complete before the
 * first one gets its name by io_commit. */
int io_finish(struct io_file *f);
/* Calls io_finish if that was not done, renames the file to its final name, and syncs the folder.
 * Frees f, also after an error. */
int io_commit(struct io_file *f);
/* Removes the temporary file and frees f. NULL is fine. */
void io_discard(struct io_file *f);
/* Removes the temporary files of all threads, before the program is ended by a signal or by another
 * rank's failure. */
void io_abandon(void);

/* Writes a file with the n bytes at p as its whole content, by io_create .. io_commit. */
int io_write_file(const char *path, const void *p, size_t n);

/* Opens a regular file for appending; makes it if it is missing, and empties it if fresh. Symbolic
 * links are refused, since dlx must not change the file that one points to. Returns the descriptor
 * or an error code. */
int io_open_log(const char *path, bool fresh);
/* Writes n bytes to a descriptor opened for appending; path is for the error message. */
int io_append(int fd, const char *path, const void *p, size_t n);

int io_mkdirs(const char *path);              /* like mkdir -p */
int io_sync_dir(const char *path);
bool io_exists(const char *path);
bool io_is_regular(const char *path);
bool io_is_folder(const char *path);
int io_remove_tree(const char *path);         /* like rm -r; a missing path is fine */
/* A hash that changes if the file is written or replaced: of its inode, size, mtime and ctime
 * (which no program can set). The device number is left out, since it may differ after a mount. */
struct stat;
uint64_t io_stat_stamp(const struct stat *st);
/* The same for a file and its name, or for all files below a folder, with a seed. */
uint64_t io_stamp(const char *path, uint64_t seed);
/* Whether a path ends in this suffix and is longer than it. */
bool io_ends_in(const char *path, const char *suffix);
char *io_join(const char *dir, const char *name);   /* "dir/name", or name if absolute; mem_free */

/* *out: this process's folder for temporary files, made in $TMPDIR (/tmp) at the first call; valid
 * until io_scratch_remove, which io_abandon calls as well. E_CANTCREATE, E_IO. */
int io_scratch(const char **out);
void io_scratch_remove(void);
/* Registers a child process that writes there, which io_scratch_remove ends first; 0: none. */
void io_scratch_writer(pid_t pid);

int64_t io_nanoseconds(void);                 /* monotonic clock, the same for a host's processes */
double io_seconds(void);                      /* io_nanoseconds in seconds */
void io_sleep_until(int64_t nanoseconds);     /* returns at once if that time has passed */
/* Seconds since this process was started, in steps of 0.01 s; 0 if unknown. */
double io_process_age(void);
void io_crash_point(const char *point);

#endif
