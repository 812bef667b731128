/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The training loop without its files: the only vote is that to stop, and nothing is saved or
 * reported. */
#include "train/diagnose/rerun.h"

#include <math.h>
#include <stdio.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "plan/sums/reduction.h"
#include "train/run/deferred_plans.h"
#include "train/save/interop.h"
#include "train/run/ranks.h"
#include "train/save/replicas.h"
#include "train/run/target.h"

static int begin_weights(struct session *s)
{
	int rc = store_begin_again(s->store);
	if (rc == 0 && comm_first(s->comm))
		rc = interop_init_from(s);
	TRY(ranks_agree(s->comm, rc, "the weights to begin with"));
	TRY(replicas_begin(s->comm, s->store));
	return ranks_agree(s->comm, state_begin_averages(s->store), "the averages to begin with");
}

static int load(struct rerun *r, const char *which)
{
	struct session *s = r->l.s;
	char *dir = io_join(s->config->run.dir, "checkpoints");
	bool found;
	int rc = state_load(s, dir, which, &r->l.clock, &found, r->from);
	mem_free(dir);
	TRY(rc);
	if (!found)
		return ranks_agree(s->comm, ERR(E_NOINPUT, NULL, "no checkpoint in '%s'",
		                                s->config->run.dir), "the checkpoint");
	rc = reduction_resume(&s->reduction, s->store, session_plan(s, PLAN_TRAIN));
	return ranks_agree(s->comm, rc, "the sums of the checkpoint");
}

int rerun_forget_prefetched(struct session *s)
{
	return batches_forget(s, PLAN_TRAIN);
}

/* A rate that falls by validations needs them. */
static int validate(struct loop *l)
{
	struct evaluation e;
	bool larger, reduced;
	TRY(deferred_make(l->s, PLAN_EVALUATE));
	TRY(evaluate(l->s, &e));
	double v = evaluation_find(&e, target_metric(l->c), &larger);
	validations_add(&l->clock.validations, l->c, l->clock.step, larger ? v : -v, true, &reduced);
	l->schedule.reductions = l->clock.validations.plateau.reductions;
	return 0;
}

/* The run that went on from a checkpoint repeated a validation that was cut short. */
static int repeat_validation(struct loop *l)
{
	return loop_validation_missing(l) && schedule_watches(&l->c->schedule) ? validate(l) : 0;
}

int rerun_begin(struct rerun *r, struct session *s, const char *which, int64_t last)
{
	*r = (struct rerun){ .l = { .s = s, .c = s->config, .comm = s->comm, .last = last,
		.saved_at = io_seconds(), .prefetched = { .loader = s->train, .dev = s->dev },
		.clock.metric = NAN } };
	struct loop *l = &r->l;
	validations_begin(&l->clock.validations);
	int rc = rerun_forget_prefetched(s);
	TRY(ranks_agree(s->comm, rc < 0 ? rc : loop_plan_length(l), "the length of the run"));
	TRY(which ? load(r, which) : begin_weights(s));
	l->schedule.reductions = l->clock.validations.plateau.reductions;
	TRY(ranks_agree(s->comm, loader_seek(s->train, l->clock.epoch, l->clock.batch),
	                "reading the data"));
	return repeat_validation(l);
}

static int between(struct loop *l)
{
	const bool validation = loop_validation_due(l);
	const struct ckpt_clock now = { .step = l->clock.step, .epoch = l->clock.epoch,
		.epoch_end = l->clock.batch == 0 };
	const struct ckpt_config *c = &l->c->checkpoint;
	const bool local = c->local.dir && ckpt_due(&c->local.every, &now);
	if (validation || local || ckpt_due(&c->every, &now))
		TRY(replicas_average(l->comm, l->s->store, l->c->parallel.average_statistics));
	return validation && schedule_watches(&l->c->schedule) ? validate(l) : 0;
}

int rerun_step(struct rerun *r, struct plan_result *out)
{
	struct loop *l = &r->l;
	if (l->clock.batch + loop_step_batches(l) == l->batches)
		TRY(deferred_make(l->s, PLAN_TRAIN));
	TRY(loop_submit(l, ++r->made));
	l->nsubmitted = 0;
	TRY(plan_result(l->submitted[0].plan, out));
	if (comm_many(l->comm) ? out->stop : loop_stop_wanted())
		return E_STOPPED;
	return between(l);
}

int rerun_settle(struct rerun *r)
{
	struct session *s = r->l.s;
	TRY(reduction_flush(&s->reduction, s->store, session_plan(s, PLAN_TRAIN)));
	TRY(reduction_keep(&s->reduction));        /* rank 0, which compares, has them still */
	TRY(replicas_compare(s->comm, s->store));
	return replicas_average(s->comm, s->store, s->config->parallel.average_statistics);
}
