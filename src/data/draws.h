/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of samples in an epoch of training if it is not a plain permutation of all samples:
 * with weighted sources, and with hosts that shuffle only their own share of the samples. The order
 * is a pure function of (seed, epoch, index), and of the host if there are several.
 *
 * An epoch has as many samples as the set (a window counts as a sample). Each source contributes a
 * part proportional to its weight, the same number in each epoch, rounded to whole samples (largest
 * remainder). A source is read in walks: a walk is a permutation of all its samples, and an epoch
 * continues the walk in which the previous epoch stopped. So no sample is repeated before all
 * others of its source have been used. The samples of a source are spread evenly over the epoch:
 * the epoch is divided into equal parts, one for each of them, and each gets a random position in
 * its part. So any stretch of the order contains about each source's proportion.
 *
 * Of H hosts, host h owns samples floor(h N / H) .. floor((h + 1) N / H) - 1 of the N samples of
 * the set, or of each source, and uses only these. In each global batch it has the positions h / H
 * .. (h + 1) / H. */
#ifndef DLX_DATA_DRAWS_H
#define DLX_DATA_DRAWS_H

#include "data/loader.h"

struct draws_options {
	uint64_t seed;
	bool shuffle;                /* false: the samples of each source are in the given order */
	int64_t windows;             /* windows of each sample: window w of sample i of n is number i +
	                              * w n */
	int64_t global;              /* samples of a global batch (of all ranks) */
	int host, hosts;             /* this host and the number of hosts; hosts 0: the order does not
	                              * depend on hosts */
	const struct loc *loc;       /* config location of the key that requires hosts */
};

struct draws;

/* *out is NULL if the order is a permutation of all samples. E_CONFIG if a source would have no
 * sample in an epoch, or fewer than there are hosts. */
int draws_new(struct draws **out, const struct dataset *d, const struct draws_options *o);
void draws_free(struct draws *w);                   /* NULL is fine */
/* Sets this host's positions of an epoch: sample numbers, and for each the number of the walk of
 * its source that it belongs to (the epoch's number if there is one source). */
void draws_fill(struct draws *w, int64_t epoch, int64_t *sample, int64_t *walk);
/* The number of positions that this host has in an epoch, and the position of its i-th sample. */
int64_t draws_count(const struct draws *w);
int64_t draws_place(const struct draws *w, int64_t i);
/* The number of samples of source k (0 if there are no sources) in an epoch, of all hosts. */
int64_t draws_of_source(const struct draws *w, int k);

#endif
