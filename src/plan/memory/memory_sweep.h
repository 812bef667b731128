/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory against time, for "--check" and "--plan": what recomputing activations would save
 * and cost, and the largest batch. */
#ifndef DLX_PLAN_MEMORY_SWEEP_H
#define DLX_PLAN_MEMORY_SWEEP_H

#include "plan/session.h"

/* The largest batches that fit, as plans of them say. 0: not even one sample; -1: nothing says
 * how much memory there is. */
struct memory_sweep_batch {
	int64_t have;                    /* bytes: the limit of the config,
	                                  * or what the machine offers */
	const char *by;                  /* the source of the number */
	int64_t plain, recomputed;       /* with everything kept, and with as
	                                  * much as needed recomputed */
};

int memory_sweep_batch(const struct session *s, struct memory_sweep_batch *b);
/* The table of s's memory sweep; nothing without one. */
void memory_sweep_text(const struct session *s, struct buf *out);
/* Keys for an object of JSON, each with ", " in front of it. */
void memory_sweep_json(const struct session *s, struct buf *out);

#endif
