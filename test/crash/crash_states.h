/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Enumerates the states that a crash may leave of the recorded calls to a disk in memory
 * (sim_disk.h). After each call that changed or synced something or that was followed by a
 * promise:
 *   - all changes that are not durable kept (that is what kill -9 leaves), or none, or only those
 * of
 *     data, or only those of entries;
 *   - each one and each two of them lost, or kept alone; then random subsets;
 *   - the last write of each file torn at 0, 1, 511, 512, 4095, 4096 and all but one byte, with the
 *     file's end, old bytes, zeros or garbage after, all else kept or a random subset of it;
 *   - the writes of data in the opposite order.
 * States that have the same files and for which the same was promised are judged once. */
#ifndef DLX_TEST_CRASH_CRASH_STATES_H
#define DLX_TEST_CRASH_CRASH_STATES_H

#include "sim_disk.h"

struct crash_limits {
	int random;                    /* subsets after each call */
	int share;                     /* of N states one is judged, drawn at random; 1: all */
	uint64_t seed;
	bool quiet;                    /* wrong states are counted alone */
};

struct crash_counts {
	long states, wrong;            /* judged; not as they must be */
	long twice;                    /* enumerated, but the same as an earlier one */
	char why[200];                 /* of the first wrong one */
};

/* What judges. after: the judge's to change; freed after it. true: as it must be; else the reason
 * is in why. */
struct crash_judge {
	bool (*judge)(void *arg, struct sim *after, int calls, struct buf *why);
	/* a number that grows with what was promised in the first `calls` calls */
	int (*promised)(void *arg, int calls);
	void *arg;
};

/* The states after the calls number from..to of s. The first wrong ones are printed. */
void crash_walk(const struct sim *s, int from, int to, const struct crash_limits *limits,
                const struct crash_judge *judge, struct crash_counts *counts);

/* splitmix64 */
uint64_t crash_draw(uint64_t *state);

#endif
