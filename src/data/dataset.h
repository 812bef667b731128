/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading samples of a dataset with scratch memory that is made once. Private to data/; the
 * public part of struct dataset is in loader.h. */
#ifndef DLX_DATA_DATASET_H
#define DLX_DATA_DATASET_H

#include "data/loader.h"
#include "data/record.h"

/* What one thread needs to decode: a decompressor and room for one raw sample. */
struct dataset_scratch;
struct dataset_scratch *dataset_scratch_new(const struct dataset *d);
void dataset_scratch_free(struct dataset_scratch *s);                /* NULL is fine */

/* Decodes and verifies sample i; *input and *target then point into s, until its next use.
 * Thread-safe with a scratch for each thread. Allocates nothing. */
int dataset_decode(const struct dataset *d, struct dataset_scratch *s, int64_t i,
                   const void **input, const void **target);
/* The same in pieces, which several threads may decode: how many sample i has; piece k, to its
 * place; and where the arrays in raw are. */
int64_t dataset_pieces(const struct dataset *d, int64_t i);
void *dataset_scratch_raw(struct dataset_scratch *s);
struct dataset_place {
	void *raw;                     /* room for any sample, as in a scratch */
	void *input;                   /* where the input goes; NULL: it is in raw, too */
	const struct record_taker *taker;   /* of the input, in place of both; or NULL */
};
int dataset_decode_piece(const struct dataset *d, struct dataset_scratch *s, int64_t i, int64_t k,
                         const struct dataset_place *to);
void dataset_arrays(const struct dataset *d, int64_t i, const void *raw, const void **input,
                    const void **target);
/* A further array of a set's samples, which have one size: its number in each file. */
struct dataset_array {
	struct shape shape;
	enum dtype dtype;
	const int *number;
};
/* E_DATA where a file has none of this name, or another shape or type than the first. */
int dataset_find_array(const struct dataset *d, const char *name, struct dataset_array *out);
/* That of sample i, in raw. */
const void *dataset_array_of(const struct dataset *d, const struct dataset_array *a, int64_t i,
                             const void *raw);
/* Whether a set can have record r next to `first`, but for names of channels; E_DATA says what
 * differs. */
int dataset_fit(const struct record *r, const struct record *first);
/* The same of the names of input channels alone, next to a file of as many channels; names that are
 * made of a file's fit any. */
int dataset_fit_names(const struct record *r, const struct record *named);

#endif
