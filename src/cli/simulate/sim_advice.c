/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each change is simulated on its own. Times of kernels that were measured hold for their batch
 * alone: rates at another batch are a measurement, not a scaling. */
#include "cli/simulate/sim_advice.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"

#define LEAST 1.005              /* times as many samples/s */

static const struct {
	const char *set, *note;
	bool batch;                  /* set is a format of the batch of a rank */
	int factor;
} changes[] = {
	{ "parallel.grouping=auto", NULL, false, 0 },
	{ "parallel.grouping=none", NULL, false, 0 },
	{ "parallel.grouping=count:1", NULL, false, 0 },
	{ "parallel.grouping=count:4", NULL, false, 0 },
	{ "parallel.grouping=size:32MiB", NULL, false, 0 },
	{ "parallel.gradient_lag=1", "updates are one step late", false, 0 },
	{ "precision.wire=bf16", "gradients are rounded to 16 bits", false, 0 },
	{ "train.batch_size=%" PRId64, "samples a step double", true, 2 },
	{ "train.batch_size=%" PRId64, "four times the samples a step", true, 4 },
};
#define NCHANGES ((int)(sizeof changes / sizeof *changes))

static int by_rate(const void *a, const void *b)
{
	const double x = ((const struct sim_change *)a)->row.samples,
	             y = ((const struct sim_change *)b)->row.samples;
	return (x < y) - (x > y);
}

/* The batch of a rank, with accumulation. */
static int64_t rank_batch(const struct sim_row *r)
{
	return r->batch / r->ranks;
}

/* As far as the device's memory is known. */
static bool fits(const struct sim_result *r, const struct sim_row *row)
{
	return r->cluster->device.memory == 0 || row->memory <= r->cluster->device.memory;
}

void sim_advise(struct sim_result *r, struct sim_given *g)
{
	const struct sim_row *last = &r->row[r->n - 1];
	r->change = ARENA_ARRAY(g->arena, struct sim_change, NCHANGES);
	for (int i = 0; i < NCHANGES && last->ranks > 1; i++) {
		struct sim_change *c = &r->change[r->nchange];
		const int mark = err_count();
		if (changes[i].batch && g->profile)
			continue;
		c->set = changes[i].batch ? arena_printf(g->arena, changes[i].set,
		         changes[i].factor * rank_batch(last)) : changes[i].set;
		c->note = changes[i].note;
		if (sim_row(&c->row, g, last->ranks, c->set) == 0 &&
		    c->row.samples > LEAST * last->samples && fits(r, &c->row))
			r->nchange++;
		err_truncate(mark);
	}
	qsort(r->change, (size_t)r->nchange, sizeof *r->change, by_rate);
}
