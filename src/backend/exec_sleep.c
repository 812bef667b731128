/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels that take their planned time and no processor, so that many ranks on a few cores take the
 * times of as many machines. A sleep ends late by some ten microseconds. So nodes have a clock of
 * their own, which the host's follows: a rank sleeps only once it is well ahead of the host's
 * clock, and where a run of the plan ends. Nodes that meet other ranks run. If links are modelled,
 * too, their messages and sums advance the clock (base/model_clock.h); else a rank sleeps before
 * such nodes, and they set the clock to the host's. */
#include <string.h>

#include "backend/exec_state.h"
#include "base/model_clock.h"
#include "graph/attr.h"

#define AHEAD 500000             /* nanoseconds */

static int sleep_node(const struct kplan *k, const struct kargs *a)
{
	struct exec *e = k->env->asleep;
	(void)a;
	e->due += (int64_t)(e->sleep[k->n->id] * 1e9);
	if (e->due - io_nanoseconds() > AHEAD)
		io_sleep_until(e->due);
	return 0;
}

static int meet_modelled(const struct kplan *k, const struct kargs *a)
{
	struct exec *e = k->env->asleep;
	sleep_node(k, a);
	model_clock = e->due;
	int rc = exec_kernel_of(e, k->n)->run(k, a);
	e->due = model_clock;
	return rc;
}

static int meet(const struct kplan *k, const struct kargs *a)
{
	struct exec *e = k->env->asleep;
	if (model_clock_on())
		return meet_modelled(k, a);
	e->due += (int64_t)(e->sleep[k->n->id] * 1e9);
	io_sleep_until(e->due);
	int rc = exec_kernel_of(e, k->n)->run(k, a);
	const int64_t now = io_nanoseconds();
	e->due = e->due > now ? e->due : now;
	return rc;
}

static bool meets(const struct node *n)
{
	return node_meets(n) || (n->op->flags & (OP_BEGINS | OP_AWAITS));
}

void exec_sleep(struct exec *e, const double *seconds)
{
	e->sleep = ARENA_ARRAY(e->arena, double, e->g->nnode);
	memcpy(e->sleep, seconds, (size_t)e->g->nnode * sizeof *e->sleep);
	e->env.asleep = e;
	for (struct exec_step *s = e->step; s < e->step + e->nstep; s++)
		s->run = s->phase_bit >= 1u << PHASE_COUNT ? s->run : meets(s->k->n) ? meet : sleep_node;
}
