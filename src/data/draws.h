/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which samples an epoch of training has, and in which order, where it is not simply a permutation
 * of all: sources with weights, and hosts that have a share of the samples each. All of it is a
 * pure function of (seed, epoch, index), and of the host where there are several.
 *
 * An epoch has as many samples as the set (windows count as samples). Of these each source has its
 * share by weight, the same number in each epoch, rounded to whole samples (largest remainder). A
 * source walks: each of its walks is a permutation of all its samples, and where one epoch stops
 * the next goes on, so that no sample comes again before all of its source have come. The draws of
 * a source are spread evenly over the epoch, each at a random place in its own part of it: so any
 * stretch of the order has about each source's share.
 *
 * Of H hosts, host h has the samples floor(h N / H) .. floor((h + 1) N / H) - 1 of the N samples of
 * the set, or of each source, and draws from these alone. Of each batch of all ranks it has the
 * places h / H .. (h + 1) / H. */
#ifndef DLX_DATA_DRAWS_H
#define DLX_DATA_DRAWS_H

#include "data/loader.h"

struct draws_options {
	uint64_t seed;
	bool shuffle;                /* false: each source in its given order */
	int64_t windows;             /* of each sample: window w of sample i of n is i + w n */
	int64_t global;              /* samples of a batch of all ranks */
	int host, hosts;             /* hosts 0: they do not matter */
	const struct loc *loc;       /* of what asks for hosts */
};

struct draws;

/* *out is NULL where the order is a permutation of all. E_CONFIG where a source would have no
 * sample in an epoch, or there are fewer than hosts. */
int draws_new(struct draws **out, const struct dataset *d, const struct draws_options *o);
void draws_free(struct draws *w);                   /* NULL is fine */
/* Fills in the places of an epoch that are this host's: samples, and the number of the walk of its
 * source that each belongs to, which is the epoch's where there is one source. */
void draws_fill(struct draws *w, int64_t epoch, int64_t *sample, int64_t *walk);
/* How many draws this host has in an epoch, and the place of draw i of them. */
int64_t draws_count(const struct draws *w);
int64_t draws_place(const struct draws *w, int64_t i);
/* Of source k (0 where there are none): its samples in an epoch, of all hosts. */
int64_t draws_of_source(const struct draws *w, int k);

#endif
