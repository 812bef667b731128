/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the gradients of a batch to new parameters: sums over micro-batches and ranks, what they are
 * scaled by, and the optimizer. */
#include <math.h>

#include "base/err.h"
#include "op/lib/emit.h"
#include "op/update/update.h"
#include "optim/lbfgs.h"
#include "plan/compilation.h"
#include "plan/guard.h"
#include "plan/physics/physics.h"

/* True if gradients are all-reduced; also on one rank with gradient_lag. */
static bool reduced(const struct plan_request *r)
{
	return r->ranks.summed || r->ranks.lag;
}

bool plan_has_batches(const struct plan_request *r)
{
	return reduced(r) || r->config->train.accumulate > 1 || r->config->micros.all > 1;
}

/* Sums micro-batch gradients in states. */
static int emit_accumulation(struct graph *g, struct compilation *c, struct bundles *b)
{
	const struct plan *p = c->p;
	struct shape scalar = { 0 };
	if (p->micro_sums.levels)
		return micro_sums_gradients(g, &p->micro_sums, b);
	if (c->r->config->train.accumulate == 1)
		return 0;
	TRY(graph_input(g, "micro_batch", DTYPE_I64, &scalar, &c->micro));
	return accumulate_emit(g, b, c->micro);
}

/* The divisor of all-reduced values on their way, so that 16 bits do not overflow. With
 * parallel.reproducible they have 32 bits, and are as they would be on one rank. */
static double summands(const struct plan_request *r)
{
	return r->config->micros.all ? 1 : (double)r->ranks.ranks * (double)r->config->train.accumulate;
}

/* Whether the first update needs all gradients: their norm, or that all are finite. */
static bool updates_at_once(const struct compilation *c)
{
	return c->scaling.state != NONE || guard_wanted(c->r->config) ||
	       !isnan(c->r->config->train.clip_norm);
}

/* The all-reduce, and the factor that makes one mean of all batches. */
static int emit_mean(struct graph *g, struct compilation *c, struct bundles *b)
{
	const struct ranks_plan *r = &c->r->ranks;
	struct plan *p = c->p;
	double divided = reduced(c->r) ? summands(c->r) : 1;
	if (!plan_has_batches(c->r))
		return 0;
	g->cur_name = "loss";
	g->cur_phase = PHASE_FORWARD;
	TRY(mean_emit_terms(g, &p->mean, c->loss.loss, c->loss.weight, c->micro));
	if (p->micro_sums.levels)
		TRY(micro_sums_terms(g, &p->micro_sums, &p->mean.terms));
	if (reduced(c->r)) {
		p->buckets = buckets_solve(g, b, r, updates_at_once(c));
		TRY(buckets_emit(g, b, p->buckets, &p->mean, r, divided));
	}
	if (p->micro_sums.levels)
		TRY(micro_sums_statistics(g, &p->micro_sums, p->buckets));
	g->cur_phase = PHASE_UPDATE;
	return mean_emit_factor(g, &p->mean, divided, c->scaling.inverse);
}

/* Gradients that can be read after the step are those of the step's loss itself. */
static int keep_gradients(struct graph *g, struct compilation *c, const struct bundles *b)
{
	struct plan *p = c->p;
	tid factor = plan_has_batches(c->r) ? p->mean.factor : c->scaling.inverse;
	g->cur_phase = factor == c->scaling.inverse ? PHASE_BACKWARD : PHASE_UPDATE;
	const bool keep = c->r->keep_results || c->r->objective->lbfgs;
	for (int i = 0; i < p->nparam && keep; i++) {
		for (int j = 0; j < p->nparam; j++)
			if (b->param[j] == p->param[i])
				p->grad[i] = b->grad[j];
		if (factor != NONE)
			TRY(graph_emit1(g, "scale_by", NULL, 2, (tid[]){ p->grad[i], factor }, &p->grad[i]));
		graph_t(g, p->grad[i])->output = true;
	}
	return 0;
}

/* The factor on gradients in the updates, and whether updates
 * are made: detects that the loss scale was too large. */
static int emit_unscaling(struct graph *g, const struct compilation *c, struct bundles *b,
                          struct optim_input *in)
{
	const struct variant_value *config = &c->r->config->precision.loss_scale;
	in->grad_scale = c->p->mean.factor != NONE ? c->p->mean.factor : c->scaling.inverse;
	if (c->scaling.state == NONE)
		return 0;
	g->cur_phase = PHASE_UPDATE;
	g->cur_name = "loss_scale";
	g->cur_loc = config->loc;
	in->step = c->scaling.step;
	return loss_scaling_update(g, config, b, &c->scaling, &in->apply);
}

/* With gradient_lag, uses the previous step's scale and count; skips the first update. */
static int emit_lag(struct graph *g, struct optim_input *in)
{
	struct shape s = { 1, { 2 } };
	tid state, out[4];
	g->cur_name = "gradient_lag";
	g->cur_phase = PHASE_UPDATE;
	TRY(graph_state(g, "gradient_lag", DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 0 }, &state));
	TRY(graph_emit(g, "mean_lag", NULL, 3, (tid[]){ state, in->grad_scale, in->step }, 4, out));
	in->grad_scale = out[1];
	in->step = out[3];
	if (in->apply == NONE)
		in->apply = out[2];
	else
		TRY(emit_mul(g, in->apply, out[2], &in->apply));
	return 0;
}

/* What an L-BFGS search keeps between steps (optim/lbfgs.h), so that checkpoints have it. */
static int emit_search_state(struct graph *g, const struct compilation *c)
{
	const struct objective *o = c->r->objective;
	const int64_t n = plan_parameters(c->p);
	const struct shape s = { 1, { lbfgs_state_count(n, (int)o->lbfgs->history) } };
	tid state;
	return graph_state(g, arena_printf(g->arena, LBFGS_STATE ".%s", o->name), DTYPE_F64, &s,
	                   (struct init){ INIT_CONSTANT, 0 }, &state);
}

/* Sums of a step have memory of their own for each objective: the reducer's block. */
static void name_sums(struct graph *g, const struct compilation *c)
{
	const int k = (int)(c->r->objective - c->r->config->objectives.v);
	for (tid t = 0; k > 0 && t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t);
		if (x->role == ROLE_STATE && x->use == STATE_OF_STEP && x->alias == NONE)
			graph_rename(g, t, arena_printf(g->arena, "%s.objective_%d", x->name, k));
	}
}

static int emit_update(struct graph *g, struct pass_env *env)
{
	struct compilation *c = env->user;
	const struct run_config *config = c->r->config;
	const struct ranks_plan *ranks = &c->r->ranks;
	struct plan *p = c->p;
	struct shape scalar = { 0 };
	tid rate;
	if (p->mode != PLAN_TRAIN)
		return 0;
	struct bundles *b = bundles_new(g, c->r->objective->optimizer, p->nparam, p->param, p->grad,
	                                env->backend == BACKEND_CUDA ? BUNDLE_LAUNCHED : BUNDLE_CACHED,
	                                ranks->given ? ranks->given->order : NULL);
	if (config->micros.all > 1)
		TRY(micro_sums_begin(g, config->micros.each, &p->micro_sums));
	TRY(emit_accumulation(g, c, b));
	TRY(emit_mean(g, c, b));
	TRY(graph_input(g, "learning_rate", DTYPE_F32, &scalar, &rate));
	struct optim_input in = { rate, c->step, NONE, NONE };
	TRY(keep_gradients(g, c, b));
	if (c->r->objective->lbfgs)          /* the host moves the parameters */
		return emit_search_state(g, c);
	TRY(emit_unscaling(g, c, b, &in));
	if (ranks->lag)
		TRY(emit_lag(g, &in));
	if (guard_wanted(config))
		TRY(guard_emit(g, c, b, &in));
	if (!isnan(config->train.clip_norm))
		TRY(clip_emit(g, config->train.clip_norm, b, in.grad_scale, &in.grad_scale));
	g->cur_phase = PHASE_UPDATE;
	g->cur_name = "optimizer";
	g->cur_loc = c->r->objective->optimizer->loc;
	TRY(optim_emit(g, c->r->objective->optimizer, b, &in));
	return ranks->lag ? buckets_emit_lagged(g, b, p->buckets, ranks, summands(c->r)) : 0;
}

int plan_pass_update(struct graph *g, struct pass_env *env)
{
	const struct compilation *c = env->user;
	TRY(emit_update(g, env));
	if (c->p->mode == PLAN_TRAIN && c->r->config->physics)
		TRY(physics_emit_states(g, c));
	name_sums(g, env->user);
	return 0;
}
