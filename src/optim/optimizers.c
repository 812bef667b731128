/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Optimizers as graph: one update node for each bundle of parameters, which writes them and their
 * moments in place. Moments are states named after the parameter ("conv.weight.momentum"), zero at
 * first. */
#include <string.h>

#include "base/err.h"
#include "op/update.h"
#include "optim/optim.h"

struct sgd {
	double learning_rate, momentum;
	bool nesterov;
	double weight_decay;
	bool decoupled;
};
struct adam {
	double learning_rate, beta1, beta2, eps, weight_decay;
	bool decoupled;
};

static const struct field sgd_fields[] = {
	FIELD_FLOAT(struct sgd, learning_rate, "0.01", 0, 1e6, "base rate; the schedule multiplies it"),
	FIELD_FLOAT(struct sgd, momentum, "0", 0, 1, "share of the last update that is kept"),
	FIELD_BOOL(struct sgd, nesterov, "false", "Nesterov's form of momentum"),
	FIELD_FLOAT(struct sgd, weight_decay, "0", 0, 1e6, "pull of every weight towards zero"),
	FIELD_BOOL(struct sgd, decoupled, "false",
	           "decay the weights themselves, not through the gradient"),
	FIELD_END
};
static const struct field adam_fields[] = {
	FIELD_FLOAT(struct adam, learning_rate, "0.001", 0, 1e6,
	            "base rate; the schedule multiplies it"),
	FIELD_FLOAT(struct adam, beta1, "0.9", 0, 0.9999999, "memory of the mean gradient"),
	FIELD_FLOAT(struct adam, beta2, "0.999", 0, 0.9999999, "memory of the mean squared gradient"),
	FIELD_FLOAT(struct adam, eps, "1e-8", 1e-30, 1,
	            "added to the root of the mean squared gradient"),
	FIELD_FLOAT(struct adam, weight_decay, "0", 0, 1e6, "pull of every weight towards zero"),
	FIELD_BOOL(struct adam, decoupled, "false",
	           "decay the weights themselves, not through the gradient (AdamW)"),
	FIELD_END
};

const struct variant optimizer_variants[] = {
	{ "sgd", "stochastic gradient descent, with momentum and weight decay", sgd_fields,
	  sizeof(struct sgd) },
	{ "adam", "Adam (Kingma 2015), AdamW with decoupled weight decay", adam_fields,
	  sizeof(struct adam) },
	{ NULL, NULL, NULL, 0 }
};

static bool is_sgd(const struct variant_value *o)
{
	return strcmp(o->v->name, "sgd") == 0;
}

double optim_learning_rate(const struct variant_value *o)
{
	return is_sgd(o) ? ((const struct sgd *)o->data)->learning_rate
	                 : ((const struct adam *)o->data)->learning_rate;
}

int optim_check(const struct variant_value *o)
{
	const struct sgd *c = o->data;
	if (is_sgd(o) && c->nesterov && c->momentum == 0)
		return ERR(E_CONFIG, &o->loc, "'nesterov' needs a 'momentum' above 0");
	return 0;
}

/* What an optimizer's node is made of. */
struct rule {
	const char *op;
	const void *attr;
	int nmoment;
	const char *const *moment;
};

static struct each_attr each(struct graph *g, double weight_decay, bool decoupled)
{
	double *decay = arena_copy(g->arena, &weight_decay, sizeof weight_decay);
	return (struct each_attr){ .weight_decay = { weight_decay > 0, decay }, .decoupled = decoupled };
}

static struct rule sgd_rule(struct graph *g, const struct sgd *c)
{
	static const char *const moment[] = { "momentum" };
	struct sgd_attr *at = ARENA_NEW(g->arena, struct sgd_attr);
	at->each = each(g, c->weight_decay, c->decoupled);
	at->momentum = c->momentum;
	at->nesterov = c->nesterov;
	return (struct rule){ "sgd", at, c->momentum > 0, moment };
}

static struct rule adam_rule(struct graph *g, const struct adam *c)
{
	static const char *const moment[] = { "first_moment", "second_moment" };
	struct adam_attr *at = ARENA_NEW(g->arena, struct adam_attr);
	at->each = each(g, c->weight_decay, c->decoupled);
	at->beta1 = c->beta1;
	at->beta2 = c->beta2;
	at->eps = c->eps;
	return (struct rule){ "adam", at, 2, moment };
}

static int emit_bundle(struct graph *g, const struct rule *r, const struct bundles *b, int k,
                       const struct optim_input *in)
{
	int n = b->first[k + 1] - b->first[k], each = 2 + r->nmoment;
	tid *arg = ARENA_ARRAY(g->arena, tid, DESCENT_HEAD + n * each);
	arg[DESCENT_RATE] = in->learning_rate;
	arg[DESCENT_STEP] = in->step;
	arg[DESCENT_SCALE] = in->grad_scale;
	arg[DESCENT_APPLY] = arg[DESCENT_TRUST] = NONE;
	for (int i = 0; i < n; i++) {
		tid *member = arg + DESCENT_HEAD + i * each;
		member[0] = b->param[b->first[k] + i];
		member[1] = b->grad[b->first[k] + i];
		for (int m = 0; m < r->nmoment; m++)
			TRY(bundles_state(g, member[0], r->moment[m], &member[2 + m]));
	}
	return graph_emit(g, r->op, r->attr, DESCENT_HEAD + n * each, arg, 0, NULL);
}

int optim_emit(struct graph *g, const struct variant_value *o, const struct bundles *b,
               const struct optim_input *in)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	struct rule r = is_sgd(o) ? sgd_rule(g, o->data) : adam_rule(g, o->data);
	int rc = optim_check(o);
	if (rc == 0)
		rc = bundles_states(g, b, r.nmoment, r.moment);
	g->cur_phase = PHASE_UPDATE;
	for (int k = 0; k < b->n && rc == 0; k++) {
		g->cur_loc = o->loc;
		bundles_enter(g, b, k, "");
		rc = emit_bundle(g, &r, b, k, in);
	}
	graph_leave(g, saved);
	return rc;
}
