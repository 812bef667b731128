/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each change is simulated on its own. Times of kernels that were measured hold for their batch
 * alone: rates at another batch are a measurement, not a scaling. */
#include "cli/simulate/sim_advice.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/round.h"
#include "cli/simulate/sim_cut.h"

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

static void try_change(struct sim_result *r, struct sim_given *g, int i)
{
	const struct sim_row *last = &r->row[r->n - 1];
	struct sim_change *c = &r->change[r->nchange];
	const int mark = err_count();
	if (changes[i].batch && g->profile)
		return;
	c->set = changes[i].batch ? arena_printf(g->arena, changes[i].set,
	         changes[i].factor * last->micro_batch) : changes[i].set;
	c->note = changes[i].note;
	if (sim_row(&c->row, g, last->ranks, c->set) == 0 &&
	    c->row.samples > LEAST * last->samples && sim_fits(r->cluster, &c->row))
		r->nchange++;
	err_truncate(mark);
}

/* On the same ranks a cut computes no more samples/s than whole samples do: each rank has halos to
 * receive. It is of use where whole samples do not fit. A rank of P has at least a P-th of the
 * bytes. */
static void try_cut(struct sim_result *r, struct sim_given *g)
{
	const struct sim_row *last = &r->row[r->n - 1];
	struct sim_change *c = &r->change[r->nchange];
	if (sim_fits(r->cluster, last) || last->parts > 1 || g->profile)
		return;
	c->note = "fits, unlike whole samples";
	r->nchange += sim_cut(c, g, r->cluster, last->ranks,
	                      ceil_div(last->memory, r->cluster->device.memory));
}

void sim_advise(struct sim_result *r, struct sim_given *g)
{
	r->change = ARENA_ARRAY(g->arena, struct sim_change, NCHANGES + 1);
	for (int i = 0; i < NCHANGES && r->row[r->n - 1].ranks > 1; i++)
		try_change(r, g, i);
	if (r->row[r->n - 1].ranks > 1)
		try_cut(r, g);
	qsort(r->change, (size_t)r->nchange, sizeof *r->change, by_rate);
}
