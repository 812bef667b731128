/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Damaged NetCDF and HDF5 files can end their libraries by a signal or keep them busy for ever. So
 * the work is done by a child, whose end the parent reports, and each call of such a
 * library has a limit of processor time. */
#ifndef DLX_DATA_TOOLS_GUARD_H
#define DLX_DATA_TOOLS_GUARD_H

#include <stdint.h>

/* work(arg) in a child; its exit status. If a signal ended the child that no process sent: reports
 * so, after crashed(), which removes what it has left, and returns 65. Signals that end a program
 * are for the child too; if this process is killed, so is the child. Before there are threads. */
int guard_run(const char *program, int (*work)(void *arg), void *arg, void (*crashed)(void));
/* Until guard_end, which is called even if it fails, the library may take this many seconds for its
 * call, and more for the bytes that it reads. Any thread; the process ends if all of its threads
 * together take more than the last of the calls under way may. */
void guard_begin(int64_t seconds, int64_t bytes);
void guard_end(void);
/* As many threads compute; 1 before. */
void guard_threads(int n);

#endif
