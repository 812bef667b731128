/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Normalisation over several ranks: each rank normalises by the statistics of all ranks' batches. A
 * group of such ranks has an index in the device's reducer (struct device: statistics). On a device
 * without a reducer, the rank's own batch is the whole batch. */
#ifndef DLX_OP_NORM_NORM_SYNC_H
#define DLX_OP_NORM_NORM_SYNC_H

#include "graph/op.h"

struct reducer;

struct norm_sync {
	struct reducer *sums;        /* NULL: this rank only */
	int group;
	bool present;                /* false: this rank's batch does not count */
};

/* For a kernel whose values count on every rank; without a reducer if `group` is negative. */
struct norm_sync norm_sync_of(const struct kargs *a, int64_t group);

/* The memory of the message; `alone` without a reducer. */
double *norm_sync_memory(const struct norm_sync *t, void *alone);
/* Replaces the message by its sum over the ranks: on a GPU in the order of the stream, so kernels
 * write the message before this and read the sum after it. */
int norm_sync_meet(const struct norm_sync *t);

/* Doubles of the message for c channels. */
static inline int64_t norm_sync_message(int64_t c)
{
	return 1 + 2 * c;
}

/* Combines the moments of the ranks. v: the means of c channels, then the sums of squared
 * deviations from them; *count: the number of values per channel. Both are replaced by those of all
 * batches that count. */
int norm_sync_moments(const struct norm_sync *t, int64_t c, double *v, double *count);
/* Adds the sums of the ranks. v: two sums for each of c channels, over *count values. They become
 * zero on a rank whose batch does not count, since the statistics do not depend on it. */
int norm_sync_sums(const struct norm_sync *t, int64_t c, double *v, double *count);
/* The factor for a variance over `count` values that a later step multiplies by own / (own - 1):
 * with it the result is the sample variance. */
double norm_sync_correction(double count, double own);

#endif
