/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What metrics there are, and what is shared by the code that counts for them and the code that
 * finishes them. Private to optim/metric*.c. */
#ifndef DLX_OPTIM_METRIC_TABLE_H
#define DLX_OPTIM_METRIC_TABLE_H

#include "optim/optim.h"

/* The op that counts for a metric; each has one F64 output. */
enum source {
	CONFUSION,     /* (C, C), row = label, column = predicted class */
	SAMPLE_IOU,    /* sum, samples */
	LABEL_RANKS,   /* (C): elements whose label is the best guess, the second best, ... */
	ERROR_SUMS,    /* (C, 7), op/loss/channel_sums.c */
	FLAG_COUNTS,   /* (C, 4): neither, predicted, set, both */
	NSOURCES       /* none: the metric is not for targets of this kind */
};

/* The numbers of elements with the label of a class, with its prediction, and with both. */
struct hits {
	double both, labelled, predicted;
};
/* Of an output channel, or of several. */
struct errors {
	double n, absolute, square, variation;   /* variation: sum of (target - its mean)^2 */
};

/* One of the last three is not NULL. score and error give a metric of each class or output; where
 * the form is a number, of classes the mean of those that occur and of outputs that of all
 * errors together. */
struct metric {
	const char *name;                /* "top_": followed by a number K */
	enum metric_form form;
	bool larger_is_better;
	enum source source[3];           /* by enum target_kind */
	const char *number;              /* the metric to decide by, where the form is no number */
	double (*score)(const struct hits *h);
	double (*error)(const struct errors *e);
	void (*finish)(const struct metrics *m, int64_t k, double *out);
};

/* NULL: there is none of that name; *k: its number, of top_K. */
const struct metric *metric_find(const char *name, int64_t *k);
int metric_unknown(const char *name, const struct loc *loc);

#define METRIC_NAME 24
struct metrics {
	int n;
	struct chosen_metric {
		const struct metric *row;
		int64_t k;                   /* of top_K */
		char name[METRIC_NAME];
	} item[METRICS_MOST];            /* in the order asked for */
	enum target_kind target;
	int64_t classes;
	bool masked;
	double mask;
	bool used[NSOURCES];
	double *sums;                    /* of all sources */
	double *sum[NSOURCES];           /* in it */
	double *numbers;                 /* what values point to */
	struct metric_value value[METRICS_MOST];
};

#endif
