/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decodes samples of a dataset with scratch memory that is allocated once. Private to data/; the
 * public part of struct dataset is in loader.h. */
#ifndef DLX_DATA_DATASET_H
#define DLX_DATA_DATASET_H

#include "data/loader.h"
#include "data/record.h"

/* The decoder state of one thread: a decompressor and memory for one raw sample. */
struct dataset_scratch;
struct dataset_scratch *dataset_scratch_new(const struct dataset *d);
void dataset_scratch_free(struct dataset_scratch *s);                /* NULL is fine */

/* Decodes and verifies sample i; *input and *target then point into s, until its next use.
 * Thread-safe with a scratch for each thread. Allocates nothing. */
int dataset_decode(const struct dataset *d, struct dataset_scratch *s, int64_t i,
                   const void **input, const void **target);
/* Decoding in pieces, which several threads can do concurrently: dataset_pieces is the number of
 * pieces of sample i, dataset_decode_piece decodes piece k to its position in memory, and
 * dataset_arrays finds the arrays in raw. */
int64_t dataset_pieces(const struct dataset *d, int64_t i);
void *dataset_scratch_raw(struct dataset_scratch *s);
struct dataset_place {
	void *raw;                     /* memory for any raw sample, as in a scratch */
	void *input;                   /* where the input is decoded to; NULL: into raw */
	const struct record_taker *taker;   /* receives the input instead of either; or NULL */
};
int dataset_decode_piece(const struct dataset *d, struct dataset_scratch *s, int64_t i, int64_t k,
                         const struct dataset_place *to);
void dataset_arrays(const struct dataset *d, int64_t i, const void *raw, const void **input,
                    const void **target);
/* An array of samples other than input and target; the samples must have only one size. number: its
 * index in each file. */
struct dataset_array {
	struct shape shape;
	enum dtype dtype;
	const int *number;
};
/* Finds an array by name. E_DATA if a file lacks it, or has it with another shape or type than the
 * first file. */
int dataset_find_array(const struct dataset *d, const char *name, struct dataset_array *out);
/* The array of sample i, within raw. */
const void *dataset_array_of(const struct dataset *d, const struct dataset_array *a, int64_t i,
                             const void *raw);
/* Whether record r can be in the same set as `first`, except for names of channels. E_DATA says
 * what differs. */
int dataset_fit(const struct record *r, const struct record *first);
/* Checks only the names of input channels, of two files with equally many channels. Names that were
 * derived from a file's name match any. */
int dataset_fit_names(const struct record *r, const struct record *named);

#endif
