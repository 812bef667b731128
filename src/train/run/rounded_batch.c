/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A loader begins to decode before plans are made, and then the type of its batches must be known.
 * So dlx first finds what plans will read, by building their graphs for the transformed samples up
 * to the choice of element types. For deepcam on one core this takes 18 ms for the training plan
 * and 2 ms for evaluation. */
#include "train/run/rounded_batch.h"

#include "base/err.h"
#include "base/mem.h"
#include "data/loader_chains.h"
#include "data/transform.h"
#include "plan/extent/whole.h"
#include "plan/batch/stored_batch.h"

static bool is_needed(const struct session *s, enum plan_mode mode)
{
	static const unsigned need[] = { [PLAN_TRAIN] = SESSION_TRAIN,
		[PLAN_EVALUATE] = SESSION_EVALUATE, [PLAN_PREDICT] = SESSION_PREDICT };
	return s->need & need[mode];
}

/* Whether there are plans of this mode over batches of the loader; without a validation set,
 * evaluations are planned for those of training. */
static bool serves(const struct session *s, const struct loader_options *o, enum plan_mode mode)
{
	if (!is_needed(s, mode))
		return false;
	return mode == PLAN_TRAIN ? o->training : !o->training || !s->validation_set;
}

/* The data as it will be described once all is known: as far as types depend on it. False: with a
 * mistake. */
static bool describe(const struct session *s, const struct loader_options *o,
                    const struct transform_chain *chain, struct plan_data *d)
{
	const struct shape *input = transform_input_shape(chain),
	                   *target = transform_target_shape(chain);
	struct session as_known = *s;
	*d = s->data;
	if (o->training || !d->input.nd) {
		d->input = *input;
		d->target = *target;
	}
	d->classes = session_classes(s, &d->target);
	d->ignore = session_data(s)->target_ignore;
	d->further = true;               /* nothing is reported of these plans */
	if (d->classes < 1)
		return false;
	int64_t *counts = ARENA_ARRAY(s->config->arena, int64_t, d->classes);
	for (int64_t i = 0; i < d->classes; i++)
		counts[i] = 1;
	d->class_counts = counts;
	as_known.data = *d;
	return o->training || whole_field(&as_known, input, target, &d->field) == 0;
}

static bool all_round(const struct session *s, const struct loader_options *o,
                      const struct transform_chain *chain)
{
	struct plan_data data;
	bool all = describe(s, o, chain, &data);
	for (int mode = 0; mode < PLAN_MODES && all; mode++) {
		struct plan_request r =
		    session_request(s, (enum plan_mode)mode, s->config->train.batch_size);

		r.data = &data;
		r.trial = true;
		all = !serves(s, o, (enum plan_mode)mode) || plan_rounds_input(&r);
	}
	return all;
}

/* Of all kinds of batches there are, those that would travel in more than 16 bits. */
static bool ends_round(const struct session *s, struct dataset *set,
                       const struct loader_options *o, struct transform_chain *const *chain)
{
	int *end_of = mem_calloc((size_t)dataset_sizes(set), sizeof *end_of);
	struct loader_end *end;
	const int n = loader_ends_new(&end, chain, dataset_sizes(set), end_of);
	bool all = true;
	for (int k = 0; k < n && all; k++)
		all = end[k].input_size <= sizeof(uint16_t) || all_round(s, o, end[k].chain);
	mem_free(end);
	mem_free(end_of);
	return all;
}

/* Mistakes are found once more, and reported, by what is made for good. */
enum dtype rounded_batch_type(const struct session *s, struct dataset *set,
                              const struct loader_options *o)
{
	const enum dtype type = config_compute(s->config);
	const int mark = err_count();
	struct transform_chain **chain;
	if (!o->stored_input || !dtype_is_16bit(type) ||
	    (o->training && mixup_wanted(&o->config->mixup)))
		return DTYPE_F32;
	const bool rounds = loader_chains_new(&chain, set, o) == 0 && ends_round(s, set, o, chain);
	loader_chains_free(chain, dataset_sizes(set));
	err_truncate(mark);
	return rounds ? type : DTYPE_F32;
}

/* A dump is of what the network reads. */
void rounded_batch_imagine(struct session *s)
{
	const enum dtype type = config_compute(s->config);
	const int mark = err_count();
	if (!stored_batch_wanted(s->dev) || !dtype_is_16bit(type) || s->need & SESSION_DUMP)
		return;
	for (int mode = 0; mode < PLAN_MODES; mode++) {
		struct plan_request r =
		    session_request(s, (enum plan_mode)mode, s->config->train.batch_size);
		struct plan_data data = s->data;
		r.data = &data;
		r.trial = data.further = true;
		if (mode == PLAN_TRAIN && mixup_wanted(&s->config->data.mixup))
			continue;
		if (!is_needed(s, (enum plan_mode)mode) || !plan_rounds_input(&r))
			continue;
		struct transform_rest *rest = ARENA_NEW(s->config->arena, struct transform_rest);
		*rest = (struct transform_rest){ .input = type, .mask = -1,
			.target = loss_wants_labels(&s->config->loss) ? DTYPE_I32 : DTYPE_F32 };
		s->data.rest[mode] = rest;
	}
	err_truncate(mark);
}
