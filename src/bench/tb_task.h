/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Payloads: every 16 bytes of a task's output are the pair (t, i). A task validates all of its
 * inputs, in the order of its dependences, before it computes. */
#ifndef DLX_BENCH_TB_TASK_H
#define DLX_BENCH_TB_TASK_H

#include "bench/tb_graph.h"

/* Whether a payload is that of task (t, i). */
static inline bool tb_holds(const void *payload, int64_t bytes, int64_t t, int64_t i)
{
	const int64_t *v = payload;
	bool good = true;
	for (int64_t k = 0; k < bytes / 16; k++)
		good &= v[2 * k] == t && v[2 * k + 1] == i;
	return good;
}

static inline void tb_fill(void *payload, int64_t bytes, int64_t t, int64_t i)
{
	int64_t *v = payload;
	for (int64_t k = 0; k < bytes / 16; k++) {
		v[2 * k] = t;
		v[2 * k + 1] = i;
	}
}

/* E_BUG: the first pair that is wrong in what task (t, i) got from column `from`. */
int tb_refuse(const struct tb_graph *g, int64_t t, int64_t i, int64_t from, const void *payload);

#endif
