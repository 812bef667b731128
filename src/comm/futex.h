/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An event across processes, on a futex: a thread without work sleeps until another one
 * signals.
 *
 * No signal is lost. A sleeper counts itself, reads the count of signals and only then looks for
 * work once more; a signaller publishes the work, counts the signal and only then looks for
 * sleepers. All four accesses are sequentially consistent, so that either the sleeper sees the
 * work, or the kernel sees that the count has changed, or the signaller sees the sleeper. */
#ifndef DLX_COMM_FUTEX_H
#define DLX_COMM_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct futex_event {
	_Alignas(64) _Atomic uint32_t signals;
	_Alignas(64) _Atomic int sleepers;
};

static inline uint32_t futex_event_approach(struct futex_event *b)
{
	atomic_fetch_add(&b->sleepers, 1);
	return atomic_load(&b->signals);
}

static inline void futex_event_leave(struct futex_event *b)
{
	atomic_fetch_sub(&b->sleepers, 1);
}

/* Sleeps until the next signal. Call it between approach and leave, after checking for work. */
static inline void futex_event_wait(struct futex_event *b, uint32_t signals, double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
	syscall(SYS_futex, &b->signals, FUTEX_WAIT, signals, &t, NULL, 0);
}

static inline void futex_event_signal(struct futex_event *b, int wake)
{
	atomic_fetch_add(&b->signals, 1);
	if (atomic_load(&b->sleepers) > 0)
		syscall(SYS_futex, &b->signals, FUTEX_WAKE, wake, NULL, NULL, 0);
}

#endif
