/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Running the passes of the graph folder on graphs of toy ops; short forms for their attributes. */
#ifndef DLX_TEST_TOY_PASSES_H
#define DLX_TEST_TOY_PASSES_H

#include "toy_ops.h"

#include "base/rng.h"
#include "graph/memplan.h"
#include "pass/pass.h"

static inline int place_all(struct graph *g, struct pass_env *env)
{
	return memplan(g, NULL);
}

static const struct pass compile[] = {
	{ "fold", "", pass_fold, STAGE_BUILT },        { "dce", "", pass_dce, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT }, { "sched", "", pass_sched, STAGE_LAID_OUT },
	{ "memplan", "", place_all, STAGE_PLANNED },
};
#define NPASS ((int)(sizeof compile / sizeof *compile))

static inline void run(struct graph *g, int from, int to)
{
	struct pass_env env = { .backend = BACKEND_CPU };
	if (pass_run(g, compile + from, to - from, &env) < 0)
		fail_msg("%s (%s)", toy_error(), err_get(err_count() - 1)->context[0]);
}

static inline tid scale(struct graph *g, tid x, double factor, double shift)
{
	return toy_emit(g, "scale", &(struct scale_attr){ factor, shift }, 1, &x);
}
static inline tid fill(struct graph *g, double value, const char *dims)
{
	struct shape s = toy_dims(dims);
	return toy_emit(g, "fill", &(struct fill_attr){ value, { s.nd, s.d } }, 0, NULL);
}
static inline tid reshape(struct graph *g, tid x, const char *dims)
{
	struct shape s = toy_dims(dims);
	return toy_emit(g, "reshape", &(struct shape_attr){ { s.nd, s.d } }, 1, &x);
}
static inline tid transpose(struct graph *g, tid x, int n, const int64_t *perm)
{
	return toy_emit(g, "transpose", &(struct transpose_attr){ { n, perm } }, 1, &x);
}

static uint64_t rng_at;
static inline int dice(int n)
{
	return (int)(rng_u32(3, 1, 0, rng_at++) % (uint32_t)n);
}

#endif
