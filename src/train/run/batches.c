/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A batch that was taken must be consumed, so none is taken past the last of a run or of a
 * validation. With parallel.reproducible a rank reads its share of a step as one batch, which is
 * divided here. */
#include "train/run/batches.h"

#include "base/err.h"
#include "base/round.h"
#include "train/run/opening.h"

int batches_settle(const struct device *dev)
{
	return dev->driver ? dev->driver->prefetch_ready(dev) : 0;
}

static int load(const struct batches *a, const struct batch **out)
{
	TRY(batches_settle(a->dev));
	return loader_next(a->loader, out);
}

int batches_next(struct batches *a, const struct batch **out)
{
	*out = a->batch;
	a->batch = NULL;
	return *out ? 0 : load(a, out);
}

int batches_take_ahead(struct batches *a)
{
	return a->dev->driver ? load(a, &a->batch) : 0;
}

int batches_forget(const struct session *s, enum plan_mode mode)
{
	for (int i = 0; i < s->nprogram; i++)
		if (s->program[i].mode == mode && s->program[i].plan)
			s->program[i].plan->prefetched = NULL;
	return batches_settle(s->dev);
}

/* --- micro-batches --- */

static int64_t micro_count(int64_t samples, int64_t size)
{
	return ceil_div(samples, size);
}

int micros_begin(struct micros *m, const struct run_config *c, struct batches *from,
                 int64_t batches)
{
	*m = (struct micros){ .from = from, .n = batches, .batches = batches };
	if (!c->micros.all)
		return 0;
	m->size = loader_batch_size(from->loader);
	TRY(batches_next(from, &m->whole));
	m->n = micro_count(m->whole->n, m->size);
	m->all = micro_count(m->whole->all, m->size);
	m->samples = m->whole->all;
	return 0;
}

int micros_next(struct micros *m, const struct batch **b)
{
	if (!m->whole) {
		TRY(batches_next(m->from, b));
		m->samples += (*b)->all;
		return 0;
	}
	int64_t first = m->at++ * m->size, left = m->whole->n - first;
	m->part = *m->whole;
	m->part.n = left < m->size ? left : m->size;
	m->part.first += first;
	for (int i = 0; i < m->part.narrays; i++) {
		struct batch_array *a = &m->part.array[i];
		if (a->data)
			a->data = (const char *)a->data + (size_t)(first * a->each) * dtype_size(a->dtype);
	}
	*b = &m->part;
	return 0;
}
