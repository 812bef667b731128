/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that normalise as one: sums over their batches, which make each of them normalise by the
 * batch of all. What a group sums has a group of the device's reducer (struct device: statistics);
 * a device without one is alone, and its batch is the whole. */
#ifndef DLX_OP_NORM_NORM_SYNC_H
#define DLX_OP_NORM_NORM_SYNC_H

#include "graph/op.h"

struct reducer;

struct norm_sync {
	struct reducer *sums;        /* NULL: alone */
	int group;
	bool present;                /* false: the batch of this rank does not count */
};

/* Doubles of the message for C channels. */
static inline int64_t norm_sync_message(int64_t c)
{
	return 1 + 2 * c;
}

/* v: the means of c channels, then the sums of squared deviations from them, of *count values each.
 * They become those of all batches that count. */
int norm_sync_moments(const struct norm_sync *t, int64_t c, double *v, double *count);
/* v: two sums of each of c channels, over *count values, become those of all; zeroes for a rank
 * whose batch does not count, since the statistics do not depend on it. */
int norm_sync_sums(const struct norm_sync *t, int64_t c, double *v, double *count);
/* The factor that turns a variance, which is later multiplied by own / (own - 1), into the sample
 * variance of `count` values. */
double norm_sync_correction(double count, double own);

#endif
