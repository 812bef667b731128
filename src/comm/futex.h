/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A bell: who finds nothing to do sleeps until somebody rings, across processes.
 *
 * No ring is lost: a sleeper counts itself, reads the count of rings and only then looks once more
 * whether there is something to do; a ringer changes what there is to do, counts the ring and only
 * then looks for sleepers. All four are sequentially consistent, so that either the sleeper sees
 * the change, or the kernel sees that the count has moved, or the ringer sees the sleeper. */
#ifndef DLX_COMM_FUTEX_H
#define DLX_COMM_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct bell {
	_Alignas(64) _Atomic uint32_t rings;
	_Alignas(64) _Atomic int sleepers;
};

static inline uint32_t bell_approach(struct bell *b)
{
	atomic_fetch_add(&b->sleepers, 1);
	return atomic_load(&b->rings);
}

static inline void bell_leave(struct bell *b)
{
	atomic_fetch_sub(&b->sleepers, 1);
}

/* Between approach and leave, after a look. */
static inline void bell_sleep(struct bell *b, uint32_t rings, double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
	syscall(SYS_futex, &b->rings, FUTEX_WAIT, rings, &t, NULL, 0);
}

static inline void bell_ring(struct bell *b, int wake)
{
	atomic_fetch_add(&b->rings, 1);
	if (atomic_load(&b->sleepers) > 0)
		syscall(SYS_futex, &b->rings, FUTEX_WAKE, wake, NULL, NULL, 0);
}

#endif
