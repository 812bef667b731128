/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The trade of memory against time, for "--check" and "--plan": the memory that recomputing
 * activations saves, the time that it costs, and the largest batch that fits. */
#ifndef DLX_PLAN_MEMORY_SWEEP_H
#define DLX_PLAN_MEMORY_SWEEP_H

#include "plan/session.h"

/* The largest batches, in samples, whose plans fit in memory. 0: not even one sample fits; -1: the
 * size of the memory is unknown. */
struct memory_sweep_batch {
	int64_t have;                    /* bytes: the config's limit, or the available memory */
	const char *by;                  /* where this number comes from, as text */
	int64_t plain, recomputed;       /* samples without recomputation, and with as much
	                                  * recomputation as needed */
};

int memory_sweep_batch(const struct session *s, struct memory_sweep_batch *b);
/* Appends the table of s's memory sweep; nothing if it has none. */
void memory_sweep_text(const struct session *s, struct buf *out);
/* Appends members of a JSON object, each after ", ". */
void memory_sweep_json(const struct session *s, struct buf *out);

#endif
