/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks from time to time, and at the end, whether a run is slow and why, and reports it at most
 * once an hour and at the end. Each rank checks itself. Nothing here is collective or changes what
 * the run computes. */
#ifndef DLX_TRAIN_SLOW_WATCH_H
#define DLX_TRAIN_SLOW_WATCH_H

#include "train/save/journal.h"
#include "train/diagnose/slow.h"

/* The totals of a run at some moment: samples, seconds in steps, seconds of these waiting for data
 * and for other ranks. */
struct slow_mark {
	double at;                     /* io_seconds */
	double samples, stepping, data, ranks;
	struct host_load host;
};

struct slow_watch {
	const struct session *s;
	int64_t steps;
	double samples, stepping, data;  /* totals of all steps but the first: samples, seconds in
	                                  * steps, seconds of these waiting for data */
	struct slow_mark begun, hour;    /* totals after the first step; at the beginning of this
	                                  * hour */
	bool reported;                 /* a report was made before the end of the run */
	double reported_at;            /* io_seconds of the last report */
};

void slow_watch_begin(struct slow_watch *w, const struct session *s);
/* Adds a step: seconds, waited and samples as for rates_step. */
void slow_watch_step(struct slow_watch *w, double seconds, double waited, double samples);
/* Checks the run; call it after an update of the rates. end: this is the end of the run. Rank 0
 * prints notes and writes a line to j, which is NULL on other ranks; the slowest rank in r prints
 * warnings. E_IO. */
int slow_watch_look(struct slow_watch *w, const struct rates *r, struct journal *j,
                    const struct journal_at *at, bool end);

#endif
