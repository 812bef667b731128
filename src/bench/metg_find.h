/* SPDX-License-Identifier: BSD-3-Clause
 *
 * METG(p), the minimum effective task granularity: the smallest average time of a task at which a
 * run still reaches the share p of the reference rate (Slaughter et al., SC20). */
#ifndef DLX_BENCH_METG_FIND_H
#define DLX_BENCH_METG_FIND_H

#include <stdint.h>

struct metg_point {
	int64_t iterations;
	int repetitions;
	double granularity;          /* seconds: wall time times cores over tasks */
	double efficiency;
};

/* Points are in descending order of iterations. As in the original's script: the smallest
 * granularity at `threshold` or above it, then by linear interpolation towards the next point if
 * its granularity is smaller. E_DATA: no point is above, or none below, an efficiency is 1.5 or
 * more, or the point after it has fewer repetitions. */
int metg_find(const struct metg_point *p, int n, double threshold, double *seconds);

#endif
