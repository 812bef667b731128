/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An evaluation keeps no activations for a backward pass, and a short batch is smaller than a full
 * one, so both take less than the arena that is there already; should one take more, the arena
 * grows. Where that could fail they are planned with the rest: under a memory limit, on a device
 * with memory of its own, and where two arenas would not fit. Ranks may differ in that, so the
 * agreement does not depend on it. */
#include "train/deferred_plans.h"

#include "base/err.h"
#include "base/host.h"
#include "base/io.h"
#include "base/trace.h"
#include "plan/micro_tree.h"
#include "plan/whole.h"
#include "train/account.h"
#include "train/opening.h"
#include "train/ranks.h"

/* Whether host memory has room for two arenas: that of the training plan, and a larger one that a
 * deferred plan may need in its place. */
static bool ample(const struct session *s)
{
	const char *by;
	int64_t have = host_memory(&by) / (s->comm ? s->comm->local_size : 1),
	        arena = (int64_t)s->arena_bytes;
	return have == 0 || arena <= have / 2;
}

bool deferred_wanted(const struct session *s)
{
	const unsigned both = SESSION_TRAIN | SESSION_RUN;
	return (s->need & both) == both && s->train_plan[0] && !s->dev->driver &&
	       s->config->train.memory.limit == INT64_MIN && !whole_differs(s) && s->nsize == 0 &&
	       s->ntrain_size == 0 &&
	       ample(s);
}

/* Binds a plan that was made after the others were bound. */
static int bind(struct session *s, struct plan *const plans[2])
{
	if (s->arena_bytes > s->bound_bytes)
		return session_bind(s);
	for (int i = 0; i < 2; i++)
		if (plans[i])
			TRY(exec_bind(plans[i]->exec, s->store, s->arena, &s->reduction.sums));
	return account_check(s);
}

static int plan_evaluation(struct session *s)
{
	double start = io_seconds();
	if (s->evaluate_plan[0])
		return 0;
	TRY(session_plan_set(s, &(struct run_set){ .mode = PLAN_EVALUATE, .loader = s->validation,
	                                           .data = s->data }));
	TRY(bind(s, s->evaluate_plan));
	trace_mark(TRACE_RUN, "plan of evaluations", start);
	return 0;
}

int deferred_evaluation(struct session *s)
{
	if (s->deferred_evaluation)
		return 0;
	s->deferred_evaluation = true;
	return ranks_agree(s->comm, plan_evaluation(s), "planning evaluations");
}

static int plan_short_batch(struct session *s)
{
	int64_t rest = micro_tree_rest(s->config, loader_short_batch(s->train));
	double start = io_seconds();
	if (s->ntrain_size || rest == 0 || rest == s->train_plan[0]->batch || s->train_plan[1])
		return 0;
	TRY(session_plan_batch(s, &s->train_plan[1], PLAN_TRAIN, rest));
	TRY(bind(s, (struct plan *const[2]){ s->train_plan[1] }));
	trace_mark(TRACE_RUN, "plan of the short batch", start);
	return 0;
}

int deferred_short_batch(struct session *s)
{
	if (s->deferred_short_batch)
		return 0;
	s->deferred_short_batch = true;
	return ranks_agree(s->comm, plan_short_batch(s), "planning the short batch");
}
