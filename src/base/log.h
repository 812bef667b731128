/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notes and warnings for the user, on stderr, one line each: "PROGRAM: [rank N: ]warning: ...".
 * Rank 0 is not named, and it alone makes notes.
 * Four words have a fixed meaning: BUG (ours, err.h), ERR (returned, err.h), warn, note.
 * Thread-safe: a line is written by one call. A live progress line (report/) registers a hook
 * so that it is cleared before and redrawn after other output. */
#ifndef DLX_BASE_LOG_H
#define DLX_BASE_LOG_H

void log_init(const char *program, int rank, int size);
void log_quiet(int on);                                  /* notes are dropped, warnings stay */
const char *log_program(void);
void log_hook(void (*before)(void *), void *arg);        /* called, locked, before each line */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
