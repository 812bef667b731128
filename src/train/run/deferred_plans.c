/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An evaluation keeps no activations for a backward pass, and a short batch is smaller than a full
 * one. So both usually need less than the existing arena; if one needs more, the arena grows. If
 * growing could fail, plans are not deferred: under a memory limit, on a device with its own
 * memory, and if two arenas would not fit at once. Ranks may differ in the last condition, so they
 * agree on the decision. */
#include "train/run/deferred_plans.h"

#include "base/err.h"
#include "base/host.h"
#include "base/io.h"
#include "base/trace.h"
#include "plan/extent/whole.h"
#include "plan/extent/whole.h"
#include "train/diagnose/account.h"
#include "train/run/opening.h"
#include "train/run/ranks.h"

/* Whether host memory has room for two arenas: that of the training plan, and a larger one that a
 * deferred plan may need in its place. */
static bool ample(const struct session *s)
{
	const char *by;
	const int ranks = s->host_ranks ? s->host_ranks : s->comm ? s->comm->local_size : 1;
	int64_t have = host_memory(&by) / ranks,
	        arena = (int64_t)s->arena_bytes;
	return have == 0 || arena <= have / 2;
}

bool deferred_wanted(const struct session *s)
{
	const unsigned both = SESSION_TRAIN | SESSION_RUN;
	return (s->need & both) == both && session_plan(s, PLAN_TRAIN) && !s->dev->driver &&
	       s->config->train.memory.limit == INT64_MIN && !whole_differs(s) && s->nsize == 0 &&
	       s->ntrain_size == 0 && ample(s);
}

/* Makes the plans of a mode that are missing, after the others were bound, and binds them. */
static int make_missing(struct session *s, enum plan_mode mode)
{
	double start = io_seconds();
	struct program *made[PROGRAMS_MOST];
	int n = 0;
	for (int i = 0; i < s->nprogram; i++)
		if (s->program[i].mode == mode && !s->program[i].plan) {
			TRY(session_make_plan(s, &s->program[i]));
			made[n++] = &s->program[i];
		}
	if (n == 0)
		return 0;
	const bool room = s->arena_bytes <= s->bound_bytes;
	for (int i = 0; i < n && room; i++)
		TRY(session_bind_program(s, made[i]));
	TRY(room ? account_check(s) : session_bind(s));
	trace_mark(TRACE_RUN, mode == PLAN_TRAIN ? "plan of the short batch" : "plan of evaluations",
	           start);
	return 0;
}

int deferred_make(struct session *s, enum plan_mode mode)
{
	if (s->deferred[mode])
		return 0;
	s->deferred[mode] = true;
	return ranks_agree(s->comm, make_missing(s, mode), mode == PLAN_TRAIN ?
	                   "planning the short batch" : "planning evaluations");
}
