/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the writer of a record learns of its samples as they pass: statistics of the channels of
 * each array, and how often each label occurs. Private to the writer. */
#ifndef DLX_DATA_RECORD_MEASURE_H
#define DLX_DATA_RECORD_MEASURE_H

#include "base/arena.h"
#include "data/record.h"

struct moments;

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
/* Array k of a sample, of this shape. */
void measure_array(struct measure *m, const struct record_info *i, int k,
                   const struct shape *shape, const void *data);
/* n labels; E_DATA names the file and the number of the sample. */
int measure_labels(struct measure *m, const struct record_info *i, const void *target, int64_t n,
                   const char *path, int64_t sample);
/* Statistics of array k, in a. */
const struct channel_stats *measure_stats(const struct measure *m, struct arena *a, int k, int n);

#endif
