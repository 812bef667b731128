/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which samples are in which batch of an epoch, for samples of one size or several. The epoch's
 * permutation is split into a run for each size, and each run into steps (`each` global batches).
 * The steps of all sizes are then put in random order. The remainder of a run is one shorter step;
 * these shorter steps come last, in random order too. So the numbers of steps and batches are the
 * same in each epoch, and the order is a pure function of (seed, epoch, index). With samples of one
 * size it is simply the permutation, split into batches. */
#ifndef DLX_DATA_EPOCH_ORDER_H
#define DLX_DATA_EPOCH_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct epoch_order {
	/* Set before epoch_order_init. */
	uint64_t seed;
	bool shuffle, keep_short;    /* false: the samples stay in the given order; short batches are
	                              * left out */
	int64_t global, each;        /* samples of a global batch (of all ranks); batches of a step */
	int nsize;
	/* Set by epoch_order_init. */
	int64_t *of;                 /* number of samples of each size, which the caller counts */
	int64_t samples, whole, steps, batches;   /* whole: steps of `each` full batches */
	/* The epoch of the last epoch_order_fill. */
	int64_t *sample;             /* sample number by position; the runs of all sizes follow each
	                              * other */
	int64_t *drawn, *step, *last;
};

struct epoch_batch {
	int size;
	int64_t place;               /* index of its first sample in `sample` */
	int64_t first;               /* number of samples of the batches before it */
	int64_t all;                 /* number of its samples, of all ranks */
};

/* of: number of samples of each size; copied. sample[] starts as 0, 1, 2 ... */
void epoch_order_init(struct epoch_order *o, const int64_t *of);
void epoch_order_release(struct epoch_order *o);
/* Draws the order of an epoch. size_of returns the size of a sample; it is not called if there is
 * only one size. */
void epoch_order_fill(struct epoch_order *o, int64_t epoch,
                      int (*size_of)(const void *context, int64_t sample), const void *context);
/* A batch of the epoch filled in last. */
struct epoch_batch epoch_order_batch(const struct epoch_order *o, int64_t epoch, int64_t index);
/* The index in `sample` at which the run of a size begins. */
int64_t epoch_order_run(const struct epoch_order *o, int size);
/* epoch_order_left: the number of batches from batch `index` to the end of its step.
 * epoch_order_before: the number of samples in all batches before `index`, which may be the number
 * of batches. Both for any epoch. */
int64_t epoch_order_left(const struct epoch_order *o, int64_t epoch, int64_t index);
int64_t epoch_order_before(const struct epoch_order *o, int64_t epoch, int64_t index);
/* For a size, in any epoch: the number of its batches, and the samples of its short batch (0: all
 * are full). */
int64_t epoch_order_batches(const struct epoch_order *o, int size);
int64_t epoch_order_short(const struct epoch_order *o, int size);

/* A rank's share of a global batch of `all` samples, as loader.h describes. batch_size: of one
 * rank; leaf: `micro` of struct loader_options. */
struct epoch_share {
	int64_t first, n;
	bool absent;
};
struct epoch_share epoch_share(int64_t all, int64_t batch_size, int64_t leaf, int64_t rank,
                               int64_t ranks);

#endif
