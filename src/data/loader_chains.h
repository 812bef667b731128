/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transforms of a loader: a chain of transforms for each size of samples in its set. */
#ifndef DLX_DATA_LOADER_CHAINS_H
#define DLX_DATA_LOADER_CHAINS_H

#include "data/loader.h"
#include "data/transform.h"

/* *out: a chain for each of dataset_sizes(d), or only for o->only_size and NULL for the others.
 * Except in training, all samples must have one size after the transforms, else E_DATA. Free *out
 * also after a failure. */
int loader_chains_new(struct transform_chain ***out, struct dataset *d,
                      const struct loader_options *o);

/* The kind of samples that a batch contains after the transforms. */
struct loader_end {
	const struct transform_chain *chain;     /* the first chain with this result */
	int64_t input_count, target_count;       /* elements of one sample in a batch */
	size_t input_size, target_size;          /* bytes of an element */
};
/* Finds the kinds of batches that n chains (some may be NULL) produce: chains with equal results
 * share one kind, and the kind with the largest inputs is first. Returns the number of kinds.
 * end_of[i]: the kind of chain i. Free *out by mem_free. */
int loader_ends_new(struct loader_end **out, struct transform_chain *const *chain, int n,
                    int *end_of);
/* The number of samples of each kind in an epoch of d (only_size not 0: counting only samples of
 * size only_size - 1). Free the result by mem_free. */
int64_t *loader_ends_count(const struct loader_end *end, int n, const struct dataset *d,
                           const int *end_of, int only_size);
/* Bytes of the arrays of a batch that is large enough for each of these kinds, rounded up to a
 * multiple of 64. Returns false on overflow. */
bool loader_ends_bytes(const struct loader_end *end, int n, int64_t batch_size, size_t *inputs,
                       size_t *targets);
void loader_chains_free(struct transform_chain **chain, int n);   /* NULL is fine */

#endif
