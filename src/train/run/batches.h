/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Takes batches from a loader, and divides a step into micro-batches. The next batch may be
 * prefetched to the device while a step runs. */
#ifndef DLX_TRAIN_BATCHES_H
#define DLX_TRAIN_BATCHES_H

#include "plan/program.h"

struct batches {
	struct loader *loader;
	const struct device *dev;        /* device to which batches are prefetched from the loader's
	                                  * memory */
	const struct batch *batch;       /* batch that was already taken from the loader; NULL: none */
};

/* Waits until no batch is being copied to the device. Call it before the loader's next batch is
 * taken or its position is changed, since the loader's threads then overwrite the memory being
 * copied. */
int batches_settle(const struct device *dev);
/* Sets *out to the batch that was already taken, or else to the loader's next batch. It is borrowed
 * until another is taken. */
int batches_next(struct batches *a, const struct batch **out);
/* On a device with its own memory, takes the next batch, so that plan_prefetch can copy it while
 * submitted work runs. On other devices does nothing. */
int batches_take_ahead(struct batches *a);
/* Discards the prefetched batch of all plans of this mode, after waiting until its copy has
 * ended. */
int batches_forget(const struct session *s, enum plan_mode mode);

/* Iterates over this rank's micro-batches of a step. */
struct micros {
	struct batches *from;
	int64_t n, at;                   /* number of micro-batches; index of the next */
	int64_t samples;                 /* samples of all ranks in the micro-batches so far */
	int64_t batches;                 /* number of the loader's batches in the step */
	/* With parallel.reproducible: */
	int64_t all;                  /* micro-batches of all ranks; else 0 */
	int64_t size;                    /* samples of a micro-batch */
	const struct batch *whole;       /* the loader's batch for the step, of which `part` is one
	                                  * micro-batch */
	struct batch part;
};
/* batches: number of the loader's batches in the step. `from` is borrowed. */
int micros_begin(struct micros *m, const struct run_config *c, struct batches *from,
                 int64_t batches);
int micros_next(struct micros *m, const struct batch **b);

#endif
