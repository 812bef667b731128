/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of metrics, and what the code that counts for metrics (on the device) shares with the
 * code that finishes them (on the host). Private to optim/metric*.c. */
#ifndef DLX_OPTIM_METRIC_TABLE_H
#define DLX_OPTIM_METRIC_TABLE_H

#include "optim/optim.h"

/* The op that counts for a metric; each has one F64 output. */
enum source {
	CONFUSION,     /* (C, C), row = label, column = predicted class */
	SAMPLE_IOU,    /* sum, samples */
	LABEL_RANKS,   /* (C): number of elements whose label has rank 1, 2, ... among the predicted
	                * scores */
	ERROR_SUMS,    /* (C, 7), op/loss/channel_sums.c */
	FLAG_COUNTS,   /* (C, 4): numbers of flags that are neither predicted nor set, only predicted,
	                * only set, both */
	NSOURCES       /* no source: the metric does not apply to this kind of target */
};

/* The numbers of elements with the label of a class, with its prediction, and with both. */
struct hits {
	double both, labelled, predicted;
};
/* Error sums of an output channel, or of several channels together. */
struct errors {
	double n, absolute, square, variation;   /* variation: sum of (target - its mean)^2 */
};

/* Exactly one of score, error and finish is not NULL. score and error compute a metric for each
 * class or output channel. If the form is METRIC_NUMBER, score is averaged over the classes that
 * occur, and error is computed from the errors of all channels together. */
struct metric {
	const char *name;                /* "top_": followed by a number K */
	enum metric_form form;
	bool larger_is_better;
	enum source source[3];           /* source for each enum target_kind */
	const char *number;              /* name of the number to use for decisions, if the form is not
	                                  * a number */
	double (*score)(const struct hits *h);
	double (*error)(const struct errors *e);
	void (*finish)(const struct metrics *m, int64_t k, double *out);
};

/* The metric of that name, or NULL; *k: the number K of top_K. */
const struct metric *metric_find(const char *name, int64_t *k);
int metric_unknown(const char *name, const struct loc *loc);

#define METRIC_NAME 24
struct metrics {
	int n;
	struct chosen_metric {
		const struct metric *row;
		int64_t k;                   /* the number K of top_K */
		char name[METRIC_NAME];
	} item[METRICS_MOST];            /* in the order of the config */
	enum target_kind target;
	int64_t classes;
	bool masked;
	double mask;
	bool used[NSOURCES];
	double *sums;                    /* sums of all sources, in one array */
	double *sum[NSOURCES];           /* start of each source's sums in that array */
	double *numbers;                 /* memory for the values' numbers */
	struct metric_value value[METRICS_MOST];
};

#endif
