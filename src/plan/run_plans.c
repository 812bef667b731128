/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training comes first, of the largest samples, then validation: by the first plan the layouts of
 * values and the buckets of gradients are fixed for the others. */
#include "plan/run_plans.h"

#include "comm/comm.h"

bool run_is_export(const struct session *s)
{
	return s->need & SESSION_PREDICT && s->need & SESSION_NO_DATA;
}

/* Where nothing is run, an evaluation is planned without its data too. */
static bool evaluates(const struct session *s)
{
	return s->need & SESSION_EVALUATE &&
	       (s->validation || (!(s->need & SESSION_RUN) && s->config->data.validation.n));
}

static struct run_set evaluation(const struct session *s, int k)
{
	struct run_set set = { .mode = PLAN_EVALUATE, .size = k,
		.loader = k ? s->size[k - 1].loader : s->validation, .data = s->data };
	if (k == 0)
		return set;
	set.data.field = s->size[k - 1].field;
	if (set.data.rest[PLAN_EVALUATE])
		set.data.rest[PLAN_EVALUATE] = loader_rest(set.loader);
	return set;
}

bool run_set(const struct session *s, int i, struct run_set *out)
{
	const int train = s->need & SESSION_TRAIN ? 1 + s->ntrain_size : 0,
	          evaluate = evaluates(s) ? 1 + s->nsize : 0;
	const bool single = run_is_export(s) || s->tiles;
	if (i < train)
		*out = (struct run_set){ .mode = PLAN_TRAIN, .size = i, .loader = s->train,
			.data = session_train_data(s, i) };
	else if (i < train + evaluate)
		*out = evaluation(s, i - train);
	else
		*out = (struct run_set){ .mode = PLAN_PREDICT, .single = single, .loader = s->validation,
			.data = s->data };
	if (out->mode != PLAN_PREDICT)
		return true;
	return i == train + evaluate && (single || (s->validation && s->need & SESSION_PREDICT));
}

/* Several ranks always begin with a full batch's training plan, so that all have its buckets of
 * gradients and its layouts: shares of fewer samples differ. */
bool run_batches(const struct session *s, const struct run_config *c, const struct run_set *set,
                 int64_t batch[2])
{
	const struct loader *l = set->single ? NULL : set->loader;
	const int k = set->mode == PLAN_TRAIN ? set->size : 0;
	const bool micros = c->micros.all && set->mode != PLAN_PREDICT,
	           first = set->mode == PLAN_TRAIN && k == 0;
	struct loader_batch b = { set->single ? 1 : c->train.batch_size, 0 };
	if (l)
		b = loader_batch_of(l, k, set->mode == PLAN_PREDICT ? c->train.batch_size :
		                    config_rank_batch(c));
	const bool whole = !l || loader_size(l, k).samples >= b.size * s->nranks,
	           full = whole || micros || (first && (b.short_batch == 0 || s->nranks > 1));
	const int64_t rest = micros ? b.short_batch % b.size : b.short_batch;
	batch[0] = full ? b.size : rest;
	batch[1] = full && rest != b.size ? rest : 0;
	return whole;
}

struct plan *const *run_set_plans(const struct session *s, const struct run_set *set)
{
	struct plan *const *const first[] = { [PLAN_TRAIN] = s->train_plan,
		[PLAN_EVALUATE] = s->evaluate_plan, [PLAN_PREDICT] = s->predict_plan };
	if (set->size == 0)
		return first[set->mode];
	return set->mode == PLAN_TRAIN ? s->train_size[set->size - 1].plan :
	       s->size[set->size - 1].plan;
}
