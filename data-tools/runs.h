/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs as read from their folders (metrics.jsonl, config.yaml), and their comparison. */
#ifndef DLX_DATA_TOOLS_RUNS_H
#define DLX_DATA_TOOLS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Values along a run: of one metric at its validations, or of the loss at its steps. */
struct series {
	const char *name;            /* "loss", "mean_iou"; "train_loss" of the steps */
	int n, cap;
	double *seconds, *samples, *value;
};

/* How a run's ranks differ: means over its steps, as lines of type "rates" have them. */
struct rank_times {
	double steps;                /* 0: not known */
	double step, least, median, most;    /* seconds of a step, of ranks' own work in it */
	double exposed, efficiency;  /* shares of a step */
	int64_t slowest;             /* as of the last line */
	const char *host;
};

struct run {
	const char *dir, *name, *device, *precision, *host;
	const char *model, *input;   /* family, shape of a sample; "" if not known */
	int64_t ranks, hosts, threads, starts, batch, parameters;
	double sample_flops, forward_flops, peak_flops;      /* 0: not known */
	double best;                 /* samples/s of the best step; 0: not known */
	struct rank_times times;
	struct series train;         /* of the steps: loss */
	double *rate;                /* of the steps: samples/s, as many as train has */
	int nmetric;
	struct series *metric;       /* of the validations */
	const char *target;          /* of its config: "mean_iou=0.8"; NULL: none */
};

/* Everything in the arena. E_NOINPUT, E_DATA. */
int run_read(struct run *r, struct arena *a, const char *dir);
const struct series *run_series(const struct run *r, const char *name);   /* or NULL */
/* Whether less of it is better. */
bool metric_falls(const char *name);

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
