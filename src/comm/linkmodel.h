/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a sum over all ranks costs, by size: measured once when the ranks meet, the same numbers on
 * all of them. */
#ifndef DLX_COMM_LINKMODEL_H
#define DLX_COMM_LINKMODEL_H

#include "comm/comm.h"

struct device;

#define LINK_POINTS 12

/* seconds[i] for bytes[i], ascending; between points linear, below the first constant, beyond the
 * last in proportion. */
struct linkmodel {
	int n;
	double bytes[LINK_POINTS], seconds[LINK_POINTS];
};

/* Collective; under about 100 ms. Rank 0's medians, on all ranks. */
int linkmodel_measure(struct linkmodel *m, struct comm *c);
/* The same for sums by NCCL on the ranks' GPUs, of which d is this one's; also of one rank. */
int linkmodel_measure_gpus(struct linkmodel *m, struct device *d);
/* Without measuring: latency (s) and bytes/s. */
void linkmodel_assume(struct linkmodel *m, double latency, double bandwidth);
double linkmodel_seconds(const struct linkmodel *m, double bytes);

#endif
