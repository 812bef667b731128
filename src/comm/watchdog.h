/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A time limit for MPI calls that block and may never return, such as MPI_Init. */
#ifndef DLX_COMM_WATCHDOG_H
#define DLX_COMM_WATCHDOG_H

/* If watchdog_end is not called within `seconds`, prints that `what` ("MPI_Init") waits for other
 * ranks, and ends the process; the launcher then ends the others. At most one watchdog at a time;
 * lower ranks have slightly shorter limits, so that only one rank prints. */
void watchdog_begin(double seconds, int rank, const char *what);
/* The same with `text` as the message. */
void watchdog_say(double seconds, const char *text);
void watchdog_end(void);

#endif
