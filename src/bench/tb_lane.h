/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tasks of a worker that may run. The worker itself takes the newest, others the oldest. */
#ifndef DLX_BENCH_TB_LANE_H
#define DLX_BENCH_TB_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tb_item {
	int64_t graph, step, column;
};

struct tb_lane {
	_Alignas(64) atomic_flag locked;
	_Atomic int64_t n;           /* written under the lock; others look at it without */
	int64_t first, room;
	struct tb_item *item;        /* a ring */
};

static inline void tb_lane_lock(struct tb_lane *l)
{
	while (atomic_flag_test_and_set_explicit(&l->locked, memory_order_acquire))
		;
}

static inline void tb_lane_unlock(struct tb_lane *l)
{
	atomic_flag_clear_explicit(&l->locked, memory_order_release);
}

/* There is room for all items that can be ready at a time. */
static inline void tb_lane_add(struct tb_lane *l, struct tb_item x)
{
	tb_lane_lock(l);
	const int64_t n = atomic_load_explicit(&l->n, memory_order_relaxed);
	l->item[(l->first + n) % l->room] = x;
	atomic_store_explicit(&l->n, n + 1, memory_order_relaxed);
	tb_lane_unlock(l);
}

static inline bool tb_lane_take(struct tb_lane *l, bool newest, struct tb_item *x)
{
	if (atomic_load_explicit(&l->n, memory_order_relaxed) == 0)
		return false;
	tb_lane_lock(l);
	const int64_t n = atomic_load_explicit(&l->n, memory_order_relaxed);
	if (n > 0) {
		*x = l->item[(l->first + (newest ? n - 1 : 0)) % l->room];
		l->first = newest ? l->first : (l->first + 1) % l->room;
		atomic_store_explicit(&l->n, n - 1, memory_order_relaxed);
	}
	tb_lane_unlock(l);
	return n > 0;
}

#endif
