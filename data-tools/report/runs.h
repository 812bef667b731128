/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs as read from their folders (metrics.jsonl, config.yaml), and their comparison. */
#ifndef DLX_DATA_TOOLS_RUNS_H
#define DLX_DATA_TOOLS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct ynode;

/* Values along a run: of a metric at its validations, or of a number that its steps tell. */
struct series {
	const char *name;            /* "loss", "mean_iou", "iou[2]"; of the steps "train_loss",
	                              * "learning_rate" */
	int n, cap;
	double *step, *seconds, *samples, *value;    /* value NaN: was not finite */
};
struct series_list {
	int n, last;                 /* last: the one that was found last; lines repeat their order */
	struct series *v;
};

/* How a run's ranks differ: means over its steps, as lines of type "rates" have them. */
struct rank_times {
	double steps;                /* 0: not known */
	double step, least, median, most;    /* seconds of a step, of ranks' own work in it */
	double exposed, efficiency;  /* shares of a step */
	int64_t slowest;             /* as of the last line */
	const char *host;
};

/* What a run has read, as lines of type "rates" have it: bytes of all its starts, and the share of
 * the steps' time that they waited for it, as of the last start. */
struct run_data {
	bool known;
	double read, sent, decoded, waited;
	double before[3];            /* bytes of the starts before the last */
};

struct run {
	const char *dir, *name, *device, *precision, *host;
	const char *model, *input;   /* family, shape of a sample; "" if not known */
	int64_t ranks, hosts, threads, starts, batch, epoch_samples, parameters;
	double sample_flops, forward_flops, peak_flops;      /* 0: not known */
	double best;                 /* samples/s of the best step; 0: not known */
	double step;                 /* the last one that is reported; 0: none yet */
	double steps;                /* that the config asks for; 0: not known */
	struct rank_times times;
	struct run_data data;
	struct series_list train;    /* of the steps; "train_loss" is there if there are any */
	struct series_list validation;
	const char *target;          /* of its config: "mean_iou=0.8"; NULL: none */
	const char *decides;         /* the metric by which it chooses its best validation; NULL: it
	                              * does not say */
	double begun_best, begun_step;   /* of it, before the run's last start, a fork's origin
	                                  * included; NaN: none */
	const struct ynode *config;  /* NULL: cannot be read */
};

/* Everything in the arena. A run without steps yet is one; what is repeated after a resume
 * replaces what was there. E_NOINPUT, E_DATA. */
int run_read(struct run *r, struct arena *a, const char *dir);
const struct series *run_series(const struct run *r, const char *name);   /* or NULL */
/* Whether less of it is better. */
bool metric_falls(const char *name);
/* The index of the best value, the first of equals; -1: none is finite. */
int series_best(const struct series *s);
/* Seconds of the run so far, all starts; NaN: not known. */
double run_seconds(const struct run *r);

struct target {
	const char *metric;
	double value;
	int window;                  /* validations whose mean must reach it */
};

/* NaN: not known, or not reached. */
struct comparison {
	double samples_per_second;   /* over the whole time, validation and checkpoints included */
	double step_rate;            /* the median of steps */
	double speedup, efficiency;
	double target_seconds, target_samples;
	double learning_speedup, statistical_efficiency;
	double sustained_flops, peak_flops, peak_share;
};
struct likeness;
/* Each against base, one of the runs, as far as alike[i] allows. target may be NULL. */
void runs_compare(const struct run *runs, const struct likeness *alike, int n, int base,
                  const struct target *t, struct comparison *out);

#endif
