/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bookkeeping of the nodes that run on a device's second stream, in one pass over a plan or part of
 * it. Those nodes have ascending numbers from 1; number 0 is a node of the main stream, for which
 * the functions do nothing. */
#ifndef DLX_BACKEND_SECOND_H
#define DLX_BACKEND_SECOND_H

#include "backend/device.h"

struct second {
	const struct device *dev;
	int n;                       /* the highest number */
	bool *given;                 /* by number: whether the node was enqueued on the second stream */
	int last, awaited;           /* the highest number enqueued so far; the highest that the main
	                              * stream waits for */
};

/* Allocates from the arena. */
void second_init(struct second *s, const struct device *d, int n, struct arena *a);
/* Call at the beginning of each pass over the nodes. */
void second_start(struct second *s);
/* Call before and after enqueuing the work of a node. */
int second_begin(struct second *s, int number);
int second_end(struct second *s, int number);
/* Work enqueued on the main stream after this call waits for all nodes up to `number` on the second
 * stream. */
int second_await(struct second *s, int number);

#endif
