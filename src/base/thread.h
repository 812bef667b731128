/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads of dlx's own. */
#ifndef DLX_BASE_THREAD_H
#define DLX_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread that takes no signals, whatever the caller's own mask (base/signals.h says
 * why). 0 or an errno. */
int thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
