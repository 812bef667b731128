/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGHUP ask the training loop to save and stop; a second one
 * ends the process at once. A closed pipe (SIGPIPE) is an error of writing. */
#ifndef DLX_TRAIN_SIGNALS_H
#define DLX_TRAIN_SIGNALS_H

void signals_install(void);
int signals_pending(void);         /* the signal that came, or 0 */
/* Counts as a signal (SIGALRM) after so many seconds; in place of an earlier alarm. INFINITY: never. */
void signals_alarm(double seconds);

#endif
