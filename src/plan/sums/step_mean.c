/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Emits the nodes of op/loss/mean.c. */
#include "plan/sums/step_mean.h"

#include "base/err.h"

int mean_emit_seed(struct graph *g, struct mean *m, tid weight, tid scale, tid *seed)
{
	struct shape scalar = { 0 }, votes = { 1, { MEAN_VOTES } };
	struct mean_attr at = { m->nominal, m->sum };
	TRY(graph_input(g, "share", DTYPE_F32, &scalar, &m->share));
	TRY(graph_input(g, "wishes", DTYPE_F32, &votes, &m->votes));
	return graph_emit1(g, "mean_seed", &at, scale == NONE ? 2 : 3,
	                   (tid[]){ weight, m->share, scale }, seed);
}

int mean_emit_terms(struct graph *g, struct mean *m, tid loss, tid weight, tid micro)
{
	struct shape s = { 1, { MEAN_TERMS } };
	struct mean_attr at = { m->nominal, m->sum };
	tid state;
	TRY(graph_state(g, "mean_terms", DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 0 }, &state));
	graph_t(g, state)->use = STATE_OF_STEP;
	return graph_emit1(g, "mean_terms", &at, micro == NONE ? 5 : 6,
	                   (tid[]){ state, loss, weight, m->share, m->votes, micro }, &m->terms);
}

int mean_emit_factor(struct graph *g, struct mean *m, double divided, tid inverse)
{
	struct mean_attr at = { (m->sum ? 1 : m->nominal) * divided, m->sum };
	return graph_emit1(g, "mean_factor", &at, inverse == NONE ? 1 : 2, (tid[]){ m->terms, inverse },
	                   &m->factor);
}
