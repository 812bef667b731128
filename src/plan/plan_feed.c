/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a plan's host does in a step: the inputs it writes and the results it reads. */
#include <string.h>

#include "base/err.h"
#include "op/lib/random.h"
#include "op/update/update.h"
#include "plan/mixed_loss.h"
#include "plan/plan.h"

static int feed_leaf(struct plan *p, const struct plan_step *s)
{
	int64_t place[SUM_VALUES] = { s->micro, s->micro + 1 == s->micros, s->absent };
	double inverse = s->all_micros ? 1 / (double)s->all_micros : 1;
	if (p->micro_sums.inverse != NONE)
		TRY(exec_write(p->exec, p->micro_sums.inverse, DTYPE_F64, &inverse));
	return exec_write(p->exec, p->micro_sums.place, DTYPE_I64, place);
}

static int feed_step(struct plan *p, const struct run_config *c, const struct plan_step *s)
{
	int64_t key[RANDOM_KEY_VALUES] = { c->run.seed, s->step, s->first };
	double share = s->absent ? 0 : 1, votes[MEAN_VOTES] = { [VOTE_STOP] = s->stop,
		[VOTE_FIRST] = (s->save ? FIRST_SAVE : 0) + (s->report ? FIRST_REPORT : 0) +
		               (s->save_local ? FIRST_SAVE_LOCAL : 0) };
	if (p->random_key != NONE)
		TRY(exec_write(p->exec, p->random_key, DTYPE_I64, key));
	if (p->micro != NONE)
		TRY(exec_write(p->exec, p->micro, DTYPE_I64, &s->micro));
	if (p->micro_sums.levels)
		TRY(feed_leaf(p, s));
	if (p->mean.terms != NONE) {
		TRY(exec_write(p->exec, p->mean.share, DTYPE_F64, &share));
		TRY(exec_write(p->exec, p->mean.votes, DTYPE_F64, votes));
	}
	TRY(exec_write(p->exec, p->learning_rate, DTYPE_F64, &s->rate));
	return exec_write(p->exec, p->step, DTYPE_I64, &s->step);
}

int plan_ask(const struct plan *p)
{
	return readback_request(p->readback, p->exec);
}

int plan_result(const struct plan *p, struct plan_result *r)
{
	double terms[MEAN_TERMS];
	*r = (struct plan_result){ .weight = 1 };
	TRY(readback_wait(p->readback));
	if (p->scaling.state != NONE)
		readback_get(p->readback, READ_SCALING, DTYPE_F64, r->scaling);
	if (p->guard != NONE) {
		readback_get(p->readback, READ_GUARD, DTYPE_F64, p->guarded);
		memcpy(r->guard, p->guarded, sizeof r->guard);
	}
	if (p->mean.terms == NONE) {
		readback_get(p->readback, READ_MEAN, DTYPE_F64, &r->loss);
		return 0;
	}
	readback_get(p->readback, READ_MEAN, DTYPE_F64, terms);
	r->weight = terms[MEAN_WEIGHT];
	r->stop = terms[MEAN_VOTE + VOTE_STOP] > 0;
	r->save = (int)terms[MEAN_VOTE + VOTE_FIRST] & FIRST_SAVE;
	r->save_local = (int)terms[MEAN_VOTE + VOTE_FIRST] & FIRST_SAVE_LOCAL;
	r->report = (int)terms[MEAN_VOTE + VOTE_FIRST] & FIRST_REPORT;
	r->loss = p->mean.sum ? terms[MEAN_LOSS] : r->weight != 0 ? terms[MEAN_LOSS] / r->weight : 0;
	return 0;
}

int plan_prefetch(struct plan *p, const struct batch *b)
{
	p->prefetched = b;
	const struct host_values
		input = { b->input_dtype, b->input, b->memory, b->memory_bytes },
		target = { b->target_dtype, b->target, b->memory, b->memory_bytes };
	TRY(exec_prefetch_begin(p->exec));
	TRY(exec_prefetch(p->exec, p->input, &input));
	return exec_prefetch(p->exec, p->target, &target);
}

static int take(struct plan *p)
{
	p->prefetched = NULL;
	TRY(exec_take(p->exec, p->input));
	return exec_take(p->exec, p->target);
}

/* A batch for training that was not ahead takes the same way. */
static int feed_batch(struct plan *p, const struct batch *b)
{
	if (graph_t(p->g, p->input)->prefetched) {
		TRY(plan_prefetch(p, b));
		return take(p);
	}
	TRY(exec_write(p->exec, p->input, b->input_dtype, b->input));
	return p->target == NONE ? 0 : exec_write(p->exec, p->target, b->target_dtype, b->target);
}

int plan_feed(struct plan *p, const struct run_config *c, const struct batch *b,
              const struct plan_step *step)
{
	TRY(p->prefetched == b ? take(p) : feed_batch(p, b));
	TRY(mixed_loss_feed(p, b));
	return step ? feed_step(p, c, step) : 0;
}
