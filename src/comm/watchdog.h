/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For calls of MPI that block, such as MPI_Init, and may never come back. */
#ifndef DLX_COMM_WATCHDOG_H
#define DLX_COMM_WATCHDOG_H

/* Until watchdog_end: if that takes more than `seconds`, prints that `what` ("MPI_Init") waits for
 * other ranks, and ends the process; the launcher then ends the others. One at a time in a process;
 * lower ranks have slightly shorter deadlines, so that only one prints. */
void watchdog_begin(double seconds, int rank, const char *what);
/* The same with another sentence. */
void watchdog_say(double seconds, const char *text);
void watchdog_end(void);

#endif
