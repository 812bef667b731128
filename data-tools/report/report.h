/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The options of dlx-report and the runs that it has read, for its table, its JSON and its
 * picture. */
#ifndef DLX_DATA_TOOLS_REPORT_H
#define DLX_DATA_TOOLS_REPORT_H

#include "data-tools/report/obstacles.h"
#include "data-tools/report/runs.h"
#include "data-tools/report/seeds.h"
#include "data-tools/report/text_table.h"

struct report {
	bool json, help, version, no_pool, speed, log_y;
	const char *target, *base, *metric, *svg, *html;
	int64_t window;
	/* The parsed options. */
	struct arena *arena;
	int n, first;                /* number of runs; index of the run with which the others are
	                              * compared */
	struct run *run;
	struct obstacles *obstacles;
	struct comparison *c;
	struct target goal;          /* the target to reach; metric NULL: none */
	const char *shown;           /* the metric in the table: one of validations, or train_loss */
	const char *drawn;           /* name of the series in the picture */
	int nkey;
	struct config_key *key;      /* config keys in which the runs differ */
	int nrow;
	struct seeds *row;           /* rows of the table */
};

/* The best and the last value of a run's series, with their steps; NaN: none. */
struct report_best {
	double best, step, last, last_step;
};
struct report_best report_best(const struct run *r, const char *series);

/* Writes to the standard output. */
void report_table(const struct report *o);
/* The tables of what was learned, with all keys that differ, and of speed. */
struct text_table report_learning(const struct report *o);
struct text_table report_speed(const struct report *o);
/* Appends one JSON object. */
void report_json(const struct report *o, struct buf *b);
/* Write o->svg and o->html. E_CANTCREATE, E_IO. */
int report_draw(const struct report *o);
int report_page(const struct report *o);

#endif
