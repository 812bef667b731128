/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values are drawn as floats, with which a step is well conditioned. Samples in their stored form
 * have about those values of which the first nodes make these floats. */
#include "train/diagnose/verify_batch.h"

#include "base/hash.h"
#include "base/rng.h"
#include "op/normalize_input.h"
#include "train/run/synthetic.h"

#define LEFT_OUT 0.03                /* part of the targets that do not count */
#define MASKED 0.15                  /* part of the range of a mask's values that are 0 */

/* Gives the samples different means. If they were equal, a network that takes means over all
 * positions and normalises these over samples would amplify rounding. */
static void shift_samples(struct batch *b, struct arena *a)
{
	struct batch_array *x = &b->array[BATCH_INPUT];
	float *v = arena_copy(a, x->data, (size_t)(b->n * x->each) * sizeof *v);
	for (int64_t i = 0; i < b->n * x->each; i++)
		v[i] += (float)(i / x->each);
	x->data = v;
}

/* The value of channel c that the steps make v of, or the nearest one of the stored type. */
static double stored_value(const struct transform_rest *rest, int64_t c, int64_t channels, double v)
{
	double stored;
	for (int64_t s = rest->steps; s-- > 0;) {
		const float *row = rest->table + s * INPUT_ROWS * channels + c;
		const double scale = row[INPUT_SCALE * channels];
		v = (scale != 0 ? v / scale : 0) + row[INPUT_CENTRE * channels];
	}
	dtype_set(rest->input, &stored, 0, v);
	return dtype_get(rest->input, &stored, 0);
}

/* Makes samples of the stored type. The range of values is that of the floats if the type has it,
 * else the part of it that the type has. Of the mask some points of the first sample are 0. */
static void store_input(const struct transform_rest *rest, struct batch *b, int64_t channels,
                        struct arena *a)
{
	struct batch_array *x = &b->array[BATCH_INPUT];
	const double lo = -SYNTHETIC_MOST, range = 2 * SYNTHETIC_MOST + (double)(b->n - 1);
	const int64_t points = x->each / channels;
	const float *v = x->data;
	void *stored = arena_alloc(a, (size_t)(b->n * x->each) * dtype_size(rest->input));
	for (int64_t row = 0; row < b->n * channels; row++) {
		const int64_t c = row % channels;
		const double least = stored_value(rest, c, channels, lo),
		             most = stored_value(rest, c, channels, lo + range);
		for (int64_t i = row * points; i < (row + 1) * points; i++) {
			const double at = ((double)v[i] - lo) / range;
			dtype_set(rest->input, stored, i,
			          c == rest->mask ? at > MASKED : least + at * (most - least));
		}
	}
	x->data = stored;
	x->dtype = rest->input;
}

/* Makes some targets such that do not count, if there is a value that says so. */
static void leave_out(const struct verify_run *r, struct batch *b, struct arena *a)
{
	const struct variant_value *loss = &r->config.loss;
	struct batch_array *y = &b->array[BATCH_TARGET];
	const int64_t ignore = loss_ignore(loss, r->data.ignore), n = b->n * y->each;
	double value = (double)ignore;
	if (loss_target(loss) == TARGET_VALUES ? !loss_mask(loss, &value) : ignore == INT64_MIN)
		return;
	void *v = arena_copy(a, y->data, (size_t)n * dtype_size(y->dtype));
	for (int64_t i = 0; i < n; i++)
		if (rng_uniform((uint64_t)r->config.run.seed + r->draw, hash_name("left out"), 0,
		                (uint64_t)i) < LEFT_OUT)
			dtype_set(y->dtype, v, i, value);
	y->data = v;
}

static void store_target(enum dtype type, struct batch *b, struct arena *a)
{
	struct batch_array *y = &b->array[BATCH_TARGET];
	void *stored = arena_alloc(a, (size_t)(b->n * y->each) * dtype_size(type));
	dtype_convert(type, stored, y->dtype, y->data, b->n * y->each);
	y->data = stored;
	y->dtype = type;
}

void verify_batch(struct verify_run *r, const struct plan *p)
{
	arena_free(r->arena);
	r->arena = arena_new();
	r->batch = synthetic_batch(r->arena, r->s, p, r->draw);
	shift_samples(&r->batch, r->arena);
	leave_out(r, &r->batch, r->arena);
	r->shape[0] = graph_t(p->g, plan_in(p, "input"))->shape;
	r->shape[1] = graph_t(p->g, plan_in(p, "target"))->shape;
	if (r->rest.values)
		store_input(&r->rest, &r->batch, r->shape[0].d[1], r->arena);
	if (r->data.rest[PLAN_TRAIN])
		store_target(r->rest.target, &r->batch, r->arena);
}
