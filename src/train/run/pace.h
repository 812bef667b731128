/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interval between checkpoints under checkpoint.every.failures, chosen so that failures lose
 * about as much time as saving costs: sqrt(2 x cost of a save x mean time between failures), by
 * Young, A first order approximation to the optimum checkpoint interval, CACM 17 (1974). The cost
 * is measured with each save. Only rank 0 decides; the other ranks receive its vote to save
 * together with the loss. */
#ifndef DLX_TRAIN_PACE_H
#define DLX_TRAIN_PACE_H

#include <stdbool.h>

struct pace {
	double failures;               /* mean time between failures, in seconds; 0: not configured */
	double interval;               /* seconds from one save to the next; 0: no interval yet */
	double cost, durable;          /* seconds that a save costs, and until it is durable: means over
	                                * the saves, in which newer saves have larger weights */
	double reported;               /* the interval that was reported last, in seconds */
};

/* The first save comes after a minute, or after a twentieth of `failures` if that is less. */
void pace_begin(struct pace *p, double failures);
/* Adds a save that became durable. stall: seconds that training waited for it. durable: seconds
 * from its begin until it was durable; no interval is shorter. threads: compute threads, one of
 * which the writing thread displaced; 0: none, as on a GPU. */
void pace_add(struct pace *p, double stall, double durable, int threads);
/* Whether the interval has changed by a quarter or more since this last returned true, so that it
 * should be reported again. */
bool pace_news(struct pace *p);

#endif
