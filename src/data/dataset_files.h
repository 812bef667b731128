/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of a set; private to dataset.c and what is counted in them. */
#ifndef DLX_DATA_DATASET_FILES_H
#define DLX_DATA_DATASET_FILES_H

#include <pthread.h>

#include "base/arena.h"
#include "data/dataset.h"

struct dataset {
	struct arena *a;
	struct record_info whole;    /* of all files together; of a description alone: n is 0 */
	uint64_t described;          /* hash of the description that the set is made of */
	const char *name;            /* what that is called, else NULL */
	int n, cap;
	struct record **file;
	int *pattern_end;            /* of each pattern that was given: its last file + 1 */
	int nsource;                 /* 0: none with a weight */
	struct dataset_source *source;
	int64_t *first;              /* of each file, its first sample; first[n] is the total */
	struct dataset_info info;
	int nsizes;
	int **size_of;               /* [file][k]: the set's number of the file's size k */
	struct dataset_info *size;   /* info with the shapes of each size */
	pthread_mutex_t lock;        /* of idle */
	struct dataset_scratch *idle;
	struct data_counts *counts;
};

/* --- dataset_counts.c --- */

struct data_counts *data_counts_new(void);
void data_counts_free(struct data_counts *c);
/* Adds to what dataset_bytes says. Any thread. */
void data_counts_add(struct data_counts *c, struct data_bytes b);

/* Something to decode with, to be given back. Any thread. */
struct dataset_scratch *dataset_borrow(struct dataset *d);
void dataset_give_back(struct dataset *d, struct dataset_scratch *s);

#endif
