/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Looks now and then, and at the end, whether a run is slow and why, and says so: at most once an
 * hour, and at the end. Each rank looks at itself; nothing of it is collective or changes what the
 * run computes. */
#ifndef DLX_TRAIN_SLOW_WATCH_H
#define DLX_TRAIN_SLOW_WATCH_H

#include "train/save/journal.h"
#include "train/diagnose/slow.h"

/* The sums so far at some moment. */
struct slow_mark {
	double at;                     /* io_seconds */
	double samples, stepping, data, ranks;
	struct host_load host;
};

struct slow_watch {
	const struct session *s;
	int64_t steps;
	double samples, stepping, data;  /* of all steps but the first: samples; seconds in them, and
	                                  * of these waiting for data */
	struct slow_mark begun, hour;    /* after the first step; at the beginning of this hour */
	bool reported;                 /* while the run goes on, */
	double reported_at;            /* io_seconds, at the last time */
};

void slow_watch_begin(struct slow_watch *w, const struct session *s);
/* After each step, with what it took; samples on all ranks, as of rates_step. */
void slow_watch_step(struct slow_watch *w, double seconds, double waited, double samples);
/* After an update of the rates. end: of the run. Rank 0 prints notes and writes a line to j, which
 * is NULL on other ranks; the slowest rank of r prints warnings. E_IO. */
int slow_watch_look(struct slow_watch *w, const struct rates *r, struct journal *j,
                    const struct journal_at *at, bool end);

#endif
