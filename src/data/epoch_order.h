/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which samples are in which batch of an epoch, where the samples have one size or several. The
 * epoch's permutation is cut into a run for each size, each run into steps (`each` batches of all
 * ranks), and the steps of all sizes are taken in an order that is drawn too. What is left of a run
 * is a last, shorter step: these follow all others, in a drawn order again. So an epoch has the
 * same numbers of steps and batches whatever was drawn, and all of it is a function of (seed,
 * epoch, index). Of samples of one size it is the permutation, cut. */
#ifndef DLX_DATA_EPOCH_ORDER_H
#define DLX_DATA_EPOCH_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct epoch_order {
	/* Set before epoch_order_init. */
	uint64_t seed;
	bool shuffle, keep_short;    /* false: the given order; batches that are not full are left
	                              * out */
	int64_t global, each;        /* samples of a batch of all ranks; batches of a step */
	int nsize;
	/* Set by it. */
	int64_t *of;                 /* of each size: samples; the caller counts them */
	int64_t samples, whole, steps, batches;   /* whole: steps of `each` full batches */
	/* Of the epoch filled in last. */
	int64_t *sample;             /* by place; the runs of all sizes follow each other */
	int64_t *drawn, *step, *last;
};

struct epoch_batch {
	int size;
	int64_t place;               /* of its first sample in `sample` */
	int64_t first;               /* how many samples the batches before it have */
	int64_t all;                 /* its samples, of all ranks */
};

/* of: the samples of each size, copied. sample[] is 0, 1, 2 ... at first. */
void epoch_order_init(struct epoch_order *o, const int64_t *of);
void epoch_order_release(struct epoch_order *o);
/* Draws an epoch. size_of gives the size of a sample; not called where there is one. */
void epoch_order_fill(struct epoch_order *o, int64_t epoch,
                      int (*size_of)(const void *context, int64_t sample), const void *context);
/* A batch of the epoch filled in last. */
struct epoch_batch epoch_order_batch(const struct epoch_order *o, int64_t epoch, int64_t index);
/* The place where the run of a size begins. */
int64_t epoch_order_run(const struct epoch_order *o, int size);
/* Of any epoch: how many batches are left of the step that batch `index` is in, with it; and the
 * samples of all batches before it, also of index == batches. */
int64_t epoch_order_left(const struct epoch_order *o, int64_t epoch, int64_t index);
int64_t epoch_order_before(const struct epoch_order *o, int64_t epoch, int64_t index);
/* Of a size in each epoch: its batches, and the samples of the one that is not full; 0: all are. */
int64_t epoch_order_batches(const struct epoch_order *o, int size);
int64_t epoch_order_short(const struct epoch_order *o, int size);

/* A rank's share of a batch of `all` samples, as loader.h says; batch_size: of a rank, and leaf as
 * in struct loader_options. */
struct epoch_share {
	int64_t first, n;
	bool absent;
};
struct epoch_share epoch_share(int64_t all, int64_t batch_size, int64_t leaf, int64_t rank,
                               int64_t ranks);

#endif
