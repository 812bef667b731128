/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a sweep's runs, which the first of all ranks keeps: which run is next, what each has
 * reached, and whether it is hopeless. The first ranks of teams ask it at any time (comm/fetch.h),
 * concurrently with the steps of its own team. Everything that a resumed sweep has to know is in
 * the file sweep.jsonl of the sweep's folder. */
#ifndef DLX_CLI_SWEEP_DESK_H
#define DLX_CLI_SWEEP_DESK_H

#include "cli/sweep/sweep_file.h"
#include "comm/comm.h"

enum sweep_state {
	SWEEP_WAITS,                 /* not begun, or to be gone on with */
	SWEEP_RUNS,
	SWEEP_DONE,
	SWEEP_CALLED_OFF,            /* ended by --sweep-stop */
	SWEEP_FAILED,
	SWEEP_STOPPED                /* by a signal or the job's end, with a checkpoint */
};

/* A row of the table. */
struct sweep_row {
	enum sweep_state state;
	int status;                  /* exit status that the run alone would have had */
	int first;                   /* first rank of its team */
	int64_t step, steps;         /* steps done; 0: not known. Steps in all */
	double loss;
	double best;                 /* best value of the sweep's metric; NaN: none */
	int64_t best_step;
	double seconds;              /* of training; of a run under way: when it began */
	bool kept;                   /* ended before this start of the sweep */
	char text[384];              /* why it failed */
	int n, cap;                  /* its validations, in the order of their steps */
	int64_t *at;
	double *value;
};

struct sweep_desk;

struct sweep_desk_options {
	const struct sweep *sweep;
	struct comm *comm;           /* all ranks */
	const char *dir;             /* the sweep's folder */
	const char *metric;
	bool rises;                  /* a larger value is better */
	bool resume, median, live, quiet;
};

/* Opens the desk and, on the first rank, sweep.jsonl. E_CANTCREATE if there is a sweep that is not
 * resumed. Collective. */
int sweep_desk_open(struct sweep_desk **out, const struct sweep_desk_options *o);
/* Collective; alone: only this rank has failed. NULL is fine. */
void sweep_desk_close(struct sweep_desk *d, bool alone);

/* --- by any rank --- */

/* *run: the next run for a team of `ranks` ranks, or -1. */
int sweep_desk_next(struct sweep_desk *d, int ranks, int *run);
/* *busy: whether a run of this many ranks is under way or waits. */
int sweep_desk_busy(struct sweep_desk *d, int ranks, bool *busy);
/* No run is begun any more. */
int sweep_desk_stop(struct sweep_desk *d);
int sweep_desk_step(struct sweep_desk *d, int run, int64_t step, int64_t steps, double loss);
/* A validation; *go_on: false if the run is hopeless. */
int sweep_desk_value(struct sweep_desk *d, int run, int64_t step, double value, bool *go_on);
struct sweep_end {
	enum sweep_state state;
	int status;
	int64_t step, best_step;
	double best, seconds;
	const char *text;            /* or NULL */
};
int sweep_desk_end(struct sweep_desk *d, int run, const struct sweep_end *e);

/* --- on the first rank, when all runs have ended --- */

const struct sweep_row *sweep_desk_rows(const struct sweep_desk *d);
/* The index of the best run, or -1. */
int sweep_desk_best(const struct sweep_desk *d);

#endif
