/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How often a run saves under checkpoint.every.failures: so often that a failure loses as much as
 * saving costs. Young, A first order approximation to the optimum checkpoint interval, CACM 17
 * (1974): the square root of twice the cost of a save times the mean time between failures. The
 * cost is measured with each save. Rank 0 alone asks: its wish to save travels with the loss. */
#ifndef DLX_TRAIN_PACE_H
#define DLX_TRAIN_PACE_H

#include <stdbool.h>

struct pace {
	double failures;               /* seconds between them in the mean; 0: not asked for */
	double interval;               /* seconds from save to save; 0: none */
	double cost, durable;          /* seconds, means over the saves, newer ones weigh more */
	double reported;               /* the interval that was reported last, in seconds */
};

/* The first save comes after a minute, or after a twentieth of `failures` if that is less. */
void pace_begin(struct pace *p, double failures);
/* A save became durable. stall: seconds that training stood still for it. durable: from its
 * beginning on, which no interval is shorter than. threads: of which its thread took one from
 * training; 0: none, as on a GPU. */
void pace_add(struct pace *p, double stall, double durable, int threads);
/* Whether the interval has changed by a quarter or more since this last returned true: time to tell
 * the user. */
bool pace_news(struct pace *p);

#endif
