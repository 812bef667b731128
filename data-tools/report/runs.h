/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs as read from their folders (metrics.jsonl, config.yaml), and their comparison. */
#ifndef DLX_DATA_TOOLS_RUNS_H
#define DLX_DATA_TOOLS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct ynode;

/* A series of values over a run: a metric at its validations, or a number reported by its steps. */
struct series {
	const char *name;            /* "loss", "mean_iou", "iou[2]"; for steps "train_loss",
	                              * "learning_rate" */
	int n, cap;
	double *step, *seconds, *samples, *value;    /* position and value of each point; value NaN: it
	                                              * was not finite */
};
struct series_list {
	int n, last;                 /* number of series; index of the series found last, where the next
	                              * search begins, since lines repeat their order */
	struct series *v;
};

/* The differences between a run's ranks: means over its steps, from lines of type "rates". */
struct rank_times {
	double steps;                /* 0: not known */
	double step, least, median, most;    /* seconds of a step; minimum, median and maximum of the
	                                      * ranks' own work in it */
	double exposed, efficiency;  /* shares of a step */
	int64_t slowest;             /* rank with the most own work, in the last such line */
	const char *host;
};

/* The data that a run has read, from lines of type "rates": bytes over all starts of the run, and
 * the share of the steps' time spent waiting for data since the last start. */
struct run_data {
	bool known;
	double read, sent, decoded, waited;
	double before[3];            /* bytes of the starts before the last: read, sent, decoded */
};

/* Bytes of the device's memory, from the line of the last start; NaN: not known. */
struct run_memory {
	double allocated, planned, values, inputs, arena, sums, tables;
};

struct run {
	const char *dir, *name, *device, *precision, *host;
	const char *model, *input;   /* model family; shape of a sample; "" if not known */
	int64_t ranks, hosts, threads, starts, batch, epoch_samples, parameters;
	double sample_flops, forward_flops, peak_flops;      /* 0: not known */
	double best;                 /* samples/s of the best step; 0: not known */
	double step;                 /* the last reported step; 0: none yet */
	double steps;                /* number of steps to train, by the config; 0: not known */
	const char *plan, *version;  /* fingerprint of the plan, version of dlx; "" if not known */
	struct run_memory memory;
	struct rank_times times;
	struct run_data data;
	struct series_list train;    /* series of steps; it has "train_loss" if it has any */
	struct series_list validation;
	const char *target;          /* target in its config: "mean_iou=0.8"; NULL: none */
	const char *decides;         /* metric by which the run chooses its best validation; NULL: not
	                              * known */
	double begun_best, begun_step;   /* best value of this metric, and its step, before the run's
	                                  * last start, including those of a fork's origin; NaN: none */
	const struct ynode *config;  /* the config; NULL: it cannot be read */
};

/* Reads a run into arena a. A run without steps is accepted. Lines that were repeated after a
 * resume replace the earlier ones. E_NOINPUT, E_DATA. */
int run_read(struct run *r, struct arena *a, const char *dir);
const struct series *run_series(const struct run *r, const char *name);   /* or NULL */
/* Whether smaller values of the metric are better. */
bool metric_falls(const char *name);
/* The index of the best value, the first of equal ones; -1: none is finite. */
int series_best(const struct series *s);
/* Seconds of the run so far, over all starts; NaN: not known. */
double run_seconds(const struct run *r);

struct target {
	const char *metric;
	double value;
	int window;                  /* validations whose mean must reach it */
};

/* A run compared with another. NaN: not known, or the target was not reached. */
struct comparison {
	double samples_per_second;   /* over the whole time, including validations and checkpoints */
	double step_rate;            /* the median of steps */
	double speedup, efficiency;
	double target_seconds, target_samples;
	double learning_speedup, statistical_efficiency;
	double sustained_flops, peak_flops, peak_share;
};
/* The speed-up times the statistical efficiency: the learning speed-up of steps alone, without
 * validations and checkpoints. */
double comparison_product(const struct comparison *c);
struct obstacles;
/* Compares each run with the means of the runs base[0] to base[nbase - 1], samples of one result,
 * as far as obstacles[i] allows. target may be NULL. */
void runs_compare(const struct run *runs, const struct obstacles *obstacles, int n, const int *base,
                  int nbase, const struct target *t, struct comparison *out);

#endif
