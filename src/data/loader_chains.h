/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transforms of a loader: a chain for each size that samples of its set have. */
#ifndef DLX_DATA_LOADER_CHAINS_H
#define DLX_DATA_LOADER_CHAINS_H

#include "data/loader.h"
#include "data/transform.h"

/* *out: a chain for each of dataset_sizes(d), or for o->only_size alone and NULL for the others.
 * Outside training all end in one size, or that is E_DATA. *out is to be freed also after a
 * failure. */
int loader_chains_new(struct transform_chain ***out, struct dataset *d,
                      const struct loader_options *o);

/* What samples of a batch are, after the transforms. */
struct loader_end {
	const struct transform_chain *chain;     /* the first that ends so */
	int64_t input_count, target_count;       /* elements of one sample */
	size_t input_size, target_size;          /* bytes of an element */
};
/* The kinds of batches that n chains (of which some may be NULL) have: those that end alike share
 * one; the largest inputs first. Returns how many; end_of: for each chain its kind. *out is freed
 * by mem_free. */
int loader_ends_new(struct loader_end **out, struct transform_chain *const *chain, int n,
                    int *end_of);
/* The samples of d, of those of size only_size - 1 alone unless that is 0, that an epoch has of
 * each kind; to be freed by mem_free. */
int64_t *loader_ends_count(const struct loader_end *end, int n, const struct dataset *d,
                           const int *end_of, int only_size);
/* Bytes of the arrays of a batch that has room for each of these kinds, each a multiple of 64;
 * false if beyond counting. */
bool loader_ends_bytes(const struct loader_end *end, int n, int64_t batch_size, size_t *inputs,
                       size_t *targets);
void loader_chains_free(struct transform_chain **chain, int n);   /* NULL is fine */

#endif
