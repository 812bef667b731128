/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the writer of a record learns of its samples as they pass: statistics of the channels of
 * each array, and how often each label occurs. Private to the writer. */
#ifndef DLX_DATA_RECORD_MEASURE_H
#define DLX_DATA_RECORD_MEASURE_H

#include "base/arena.h"
#include "data/record.h"

/* Of the valid values of a channel. */
struct moments {
	int64_t n;
	double mean, m2, min, max;
};

struct measure {
	struct moments **of;          /* of each array, of its channels */
	int narrays;
	double *values, *mask;        /* one channel of a sample, and the mask channel */
	int64_t points;               /* that they have room for */
	int64_t *counts;              /* per class value, ncounts of them */
	int ncounts;
	bool counted;                 /* false once a target value cannot be a class */
	int64_t ignored;
};

/* i: what is to be written; the nstats of its arrays are set. */
void measure_open(struct measure *m, const struct record_info *i);
void measure_release(struct measure *m);
/* Some rows of array k of a sample, of this shape: nstats of it into out. m lends its memory.
 * measure_add then adds them to m's own, in the order of the rows. */
void measure_moments(struct measure *m, const struct record_info *i, int k,
                     const struct shape *shape, const void *data, struct moments *out);
void measure_add(struct measure *m, const struct record_info *i, int k, const struct moments *of);
/* Counts of labels 0, 1, ... */
void measure_add_counts(struct measure *m, const int64_t *counts, int n);
/* Whether n labels are the classes that i names, or ignored: E_DATA, with file and sample. */
int measure_check_labels(const struct record_info *i, const void *target, int64_t n,
                         const char *path, int64_t sample);
/* Counts n labels; E_DATA names the file and the number of the sample. */
int measure_labels(struct measure *m, const struct record_info *i, const void *target, int64_t n,
                   const char *path, int64_t sample);
/* Statistics of array k, in a. */
const struct channel_stats *measure_stats(const struct measure *m, struct arena *a, int k, int n);

#endif
