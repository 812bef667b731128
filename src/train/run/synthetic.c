/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Synthetic values are uniform instead of normal, since a large batch is then drawn in a fraction
 * of the time. */
#include "train/run/synthetic.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/rng.h"
#include "comm/comm.h"
#include "train/run/batches.h"
#include "train/run/equations.h"
#include "train/run/opening.h"

#define BLOCKS 64    /* of random words at a time, four words each */

static float *fields(struct arena *a, const struct shape *s, uint64_t seed, uint64_t rank,
                     const char *name)
{
	const float scale = 0x1p-31f * SYNTHETIC_MOST;    /* for a variance of 1 */
	int64_t n = shape_count(s);
	float *v = ARENA_ARRAY(a, float, n);
	uint64_t stream = hash_name(name);
	uint32_t word[4 * BLOCKS];
	for (int64_t at = 0; at < n; at += 4 * BLOCKS) {
		rng_blocks(seed, stream, rank, (uint64_t)at / 4, BLOCKS, word);
		for (int64_t i = 0; i < 4 * BLOCKS && at + i < n; i++)
			v[at + i] = ((float)word[i] - 0x1p31f) * scale;
	}
	return v;
}

static int32_t *labels(struct arena *a, const struct shape *s, uint64_t seed, uint64_t rank,
                       int64_t classes)
{
	int64_t n = shape_count(s);
	int32_t *v = ARENA_ARRAY(a, int32_t, n);
	uint64_t stream = hash_name("synthetic.target");
	for (int64_t i = 0; i < n; i++)
		v[i] = (int32_t)(rng_uniform(seed, stream, rank, (uint64_t)i) * (double)classes);
	return v;
}

static float *flags(struct arena *a, const struct shape *s, uint64_t seed, uint64_t rank)
{
	float *v = fields(a, s, seed, rank, "synthetic.target");
	for (int64_t i = 0; i < shape_count(s); i++)
		v[i] = v[i] > 0;
	return v;
}

struct batch synthetic_batch(struct arena *a, const struct session *s, const struct plan *p,
                             uint64_t draw)
{
	uint64_t seed = (uint64_t)s->config->run.seed + draw,
	         rank = s->comm ? (uint64_t)s->comm->rank : 0;
	const struct shape *input = &graph_t(p->g, plan_in(p, "input"))->shape,
	                   *target = &graph_t(p->g, plan_in(p, "target"))->shape;
	struct batch b = { .n = p->batch, .share = 1, .narrays = BATCH_FURTHER };
	struct batch_array *y = &b.array[BATCH_TARGET];
	b.array[BATCH_INPUT] = (struct batch_array){ "input", DTYPE_F32, shape_count(input) / b.n,
		fields(a, input, seed, rank, "synthetic.input") };
	*y = (struct batch_array){ "target", DTYPE_F32, shape_count(target) / b.n, NULL };
	if (loss_wants_labels(&s->config->loss)) {
		y->data = labels(a, target, seed, rank, s->data.classes);
		y->dtype = DTYPE_I32;
	} else if (loss_target(&s->config->loss) == TARGET_FLAGS) {
		y->data = flags(a, target, seed, rank);
	} else {
		y->data = fields(a, target, seed, rank, "synthetic.target");
	}
	b.array[BATCH_MIXUP] = *y;
	b.array[BATCH_MIXUP].name = "mixup_target";
	return b;
}

int session_feed_first(struct session *s, const struct plan_step *step, struct plan **used)
{
	const struct batch *b;
	struct plan_step at = *step;
	struct batches from = { .loader = s->train, .dev = s->dev };
	struct micros m;
	at.all_micros = comm_count(s->comm);
	if (s->train) {
		TRY(loader_seek(s->train, 0, 0));
		TRY(micros_begin(&m, s->config, &from, 1));
		TRY(micros_next(&m, &b));
		*used = session_plan_of(s, 0, b);
		at.first = b->first;
		at.absent = b->absent;
		struct batch points = *b;
		if (s->equations)
			TRY(equations_fill(s->equations, 0, &points));
		return plan_feed(*used, s->config, &points, &at);
	}
	struct arena *a = arena_new();
	*used = session_plan(s, PLAN_TRAIN);
	struct batch made = synthetic_batch(a, s, *used, 0);
	at.first = s->team * made.n;
	int rc = plan_feed(*used, s->config, &made, &at);
	arena_free(a);
	return rc;
}
