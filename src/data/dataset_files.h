/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of a set; private to data/dataset*.c. */
#ifndef DLX_DATA_DATASET_FILES_H
#define DLX_DATA_DATASET_FILES_H

#include <pthread.h>

#include "base/arena.h"
#include "data/dataset.h"

struct dataset {
	struct arena *a;
	struct record_info whole;    /* describes all files together; n is 0 for a set that has only a
	                              * description */
	uint64_t described;          /* hash of the description that the set was made from */
	const char *name;            /* name of that description, else NULL */
	int n, cap;
	struct record **file;
	int *pattern_end;            /* for each path or glob: index of its last file + 1 */
	int nsource;                 /* number of sources with weights, or 0 */
	struct dataset_source *source;
	int64_t *first;              /* first[i]: number of the first sample of file i; first[n] is the
	                              * total */
	struct dataset_info info;
	int nsizes;
	int **size_of;               /* [file][k]: index within the set of the file's size k */
	struct dataset_info *size;   /* for each size: info with its shapes */
	pthread_mutex_t lock;        /* protects idle */
	struct dataset_scratch *idle;
	struct data_counts *counts;
};

/* --- dataset_counts.c --- */

struct data_counts *data_counts_new(void);
void data_counts_free(struct data_counts *c);
/* Adds to the counts that dataset_bytes returns. Any thread. */
void data_counts_add(struct data_counts *c, struct data_bytes b);

/* Lends scratch memory for decoding, to be returned by dataset_give_back. Any thread. */
struct dataset_scratch *dataset_borrow(struct dataset *d);
void dataset_give_back(struct dataset *d, struct dataset_scratch *s);

#endif
