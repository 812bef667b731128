/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Damaged NetCDF and HDF5 files can crash their libraries or make them loop forever. Therefore a
 * child process does the work, the parent reports its end, and each call of such a library has a
 * limit of processor time. */
#ifndef DLX_DATA_TOOLS_GUARD_H
#define DLX_DATA_TOOLS_GUARD_H

#include <stdint.h>

/* Runs work(arg) in a child process and returns its exit status. If the child crashes, calls
 * crashed(), which removes its files, prints an error and returns 65. Signals that end a program
 * are passed on to the child; if this process is killed, so is the child. Call it before threads
 * are created. */
int guard_run(const char *program, int (*work)(void *arg), void *arg, void (*crashed)(void));
/* Begins a guarded library call, which may take this many seconds of processor time, and more for
 * the bytes that it reads. Call guard_end after it, even if it failed. Can be called on any thread.
 * The process ends if its threads together exceed the limit of the calls in progress. */
void guard_begin(int64_t seconds, int64_t bytes);
void guard_end(void);
/* Sets the number of computing threads, which is 1 at first. */
void guard_threads(int n);

#endif
