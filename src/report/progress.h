/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a user sees while training: one live line on a terminal, or a
 * plain line now and then in a batch log. Output goes to stdout; notes
 * and warnings (stderr) clear the live line first. One thread. */
#ifndef DLX_REPORT_PROGRESS_H
#define DLX_REPORT_PROGRESS_H

#include <stdint.h>

#include "base/buf.h"
#include "report/jsonl.h"

enum progress_mode { PROGRESS_AUTO, PROGRESS_BAR, PROGRESS_LINES, PROGRESS_NONE };
extern const char *const progress_names[];

struct progress_state {
	int64_t step, steps;          /* steps done, and in all */
	int64_t epoch, epochs;        /* the current one, counting from 1; epochs 0: unknown */
	double loss, learning_rate;
	const struct jsonl_value *value;   /* terms and variables of equations on this rank; shown
	                                    * without the kind before the name */
	int nvalues;
	double samples_per_second;
	double flops_per_second;      /* 0: not shown */
	double peak_flops;            /* peak rate of the device, flop/s; 0: unknown */
	double wait_share;            /* fraction of the time spent waiting for data, 0..1; shown from 5
	                               * % */
	int64_t skipped;              /* number of skipped steps; shown if not 0 */
	double seconds_left;          /* < 0: unknown */
	/* With several ranks (else 0): median and largest seconds of own work in a step over ranks; the
	 * fraction of a step spent waiting for other ranks; and `slowest`, the rank with most work. */
	double work_median, work_most, exposed;
	int ranks, slowest;
	const char *slowest_host;
};

struct progress;

struct progress *progress_new(enum progress_mode mode);
void progress_free(struct progress *p);                 /* ends the live line; NULL is fine */
/* Cheap: draws at most ten times a second (bar) or every ten seconds (lines). */
void progress_update(struct progress *p, const struct progress_state *s);
/* Progress of a program that has no steps. */
struct progress_work {
	const char *things;           /* "samples" */
	int64_t done, of;
	double share;                 /* fraction of the work done, 0..1; finer than done / of */
	double bytes_per_second;
	double seconds_left;          /* < 0: unknown */
};
void progress_update_work(struct progress *p, const struct progress_work *w);
/* Prints a permanent line: validation results, checkpoints. Shown in every mode except none. */
void progress_say(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends "12.3 GFLOP/s"; all lines and tables use this unit, so that they can be compared. */
void progress_put_flops(struct buf *b, double flops_per_second);

/* "1:02:03" or "2:03" or "47 s" into buf (at least 32 bytes); returns buf. */
const char *seconds_text(double seconds, char *buf);

#endif
