/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device's second stream has been given in one walk over the nodes of a plan, of which not
 * all need be part: by the numbers of nodes, which rise from 1. Number 0 is no node of it, and
 * nothing is done for it. */
#ifndef DLX_BACKEND_SECOND_H
#define DLX_BACKEND_SECOND_H

#include "backend/device.h"

struct second {
	const struct device *dev;
	int n;                       /* the highest number */
	bool *given;                 /* by number */
	int last, awaited;           /* the last that was given; that is waited for */
};

/* Its memory is the arena's. */
void second_init(struct second *s, const struct device *d, int n, struct arena *a);
/* A walk begins. */
void second_start(struct second *s);
/* Around the work of a node. */
int second_begin(struct second *s, int number);
int second_end(struct second *s, int number);
/* Work in line from here on waits for the nodes up to that number that were given. */
int second_await(struct second *s, int number);

#endif
