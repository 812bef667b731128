/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics that the writer of a record collects while it writes samples: moments of the channels
 * of each array, and counts of labels. Private to the writer. */
#ifndef DLX_DATA_RECORD_MEASURE_H
#define DLX_DATA_RECORD_MEASURE_H

#include "base/arena.h"
#include "data/record.h"

/* Moments of the valid values of a channel; m2: sum of squared deviations from the mean. */
struct moments {
	int64_t n;
	double mean, m2, min, max;
};

struct measure {
	struct moments **of;          /* [array][channel] */
	int narrays;
	double *values, *mask;        /* one channel of a sample, and the mask channel */
	int64_t points;               /* number of points for which these buffers have room */
	int64_t *counts;              /* occurrences of each class value, ncounts of them */
	int ncounts;
	bool counted;                 /* false once a target value cannot be a class */
	int64_t ignored;
};

/* i: the description of the record to be written, with the nstats of its arrays. */
void measure_open(struct measure *m, const struct record_info *i);
void measure_release(struct measure *m);
/* measure_moments computes the moments of some rows of array k, nstats of them, into out; it uses m
 * only as scratch memory. measure_add then adds them to m, in the order of the rows. */
void measure_moments(struct measure *m, const struct record_info *i, int k,
                     const struct shape *shape, const void *data, struct moments *out);
void measure_add(struct measure *m, const struct record_info *i, int k, const struct moments *of);
/* Adds counts of the labels 0, 1, ... */
void measure_add_counts(struct measure *m, const int64_t *counts, int n);
/* Checks that n labels are classes of i, or ignored: E_DATA, with file and sample. */
int measure_check_labels(const struct record_info *i, const void *target, int64_t n,
                         const char *path, int64_t sample);
/* Counts n labels; E_DATA names the file and the number of the sample. */
int measure_labels(struct measure *m, const struct record_info *i, const void *target, int64_t n,
                   const char *path, int64_t sample);
/* The statistics of array k, allocated in a. */
const struct channel_stats *measure_stats(const struct measure *m, struct arena *a, int k, int n);

#endif
