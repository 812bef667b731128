/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The batches of a loader, one of which may be prefetched to the device while the step before it
 * runs, and the micro-batches of a step. */
#ifndef DLX_TRAIN_BATCHES_H
#define DLX_TRAIN_BATCHES_H

#include "plan/program.h"

struct batches {
	struct loader *loader;
	const struct device *dev;        /* to which they may travel from the loader's memory */
	const struct batch *batch;       /* taken from the loader already; NULL: none */
};

/* Waits until no batch is on its way to the device: before the loader is asked for the next one or
 * sent elsewhere, since its threads then write to where batches travel from. */
int batches_settle(const struct device *dev);
/* The batch that was taken already, or else the loader's next. Borrowed until another is taken. */
int batches_next(struct batches *a, const struct batch **out);
/* On a device with memory of its own: takes the next batch, which plan_prefetch may send while the
 * launched work runs. Elsewhere does nothing. */
int batches_take_ahead(struct batches *a);
/* Forgets what is on its way for plans of this mode, and waits until it has arrived. */
int batches_forget(const struct session *s, enum plan_mode mode);

/* The micro-batches of a step that are this rank's, reproducible or not. */
struct micros {
	struct batches *from;
	int64_t n, at;                   /* how many; the next one */
	int64_t samples;                 /* of all ranks, so far */
	int64_t batches;                 /* of the loader, in the whole step */
	/* reproducible: */
	int64_t all;                  /* of all ranks; else 0 */
	int64_t size;                    /* samples of a leaf */
	const struct batch *whole;       /* what the loader has for the step */
	struct batch part;
};
/* batches: how many of the loader's the step has. Borrows from. */
int micros_begin(struct micros *m, const struct run_config *c, struct batches *from,
                 int64_t batches);
int micros_next(struct micros *m, const struct batch **b);

#endif
