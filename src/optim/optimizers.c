/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Optimizers as graph: one update node for each bundle of parameters, which writes them and their
 * moments in place. Moments are states named after the parameter ("conv.weight.momentum"), zero at
 * first.
 *
 * A trust ratio is two nodes more: the norms of the bundle's weights and
 * gradients, and the ratio, which the update multiplies its gradients by. On the
 * update it is four: the optimizer gives its direction (descent.c), whose norms
 * make the ratio of the plain descent along it. LAMB is Adam's direction with
 * decoupled decay and the ratio |w| / |direction|. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/update/trust.h"
#include "op/update/update.h"
#include "optim/settings.h"

struct sgd {
	struct optimizer common;
	double momentum;
	bool nesterov;
	bool decoupled;
};
struct adam {
	struct optimizer common;
	double beta1, beta2, eps;
	bool decoupled;
};
struct lamb {
	struct optimizer common;
	double beta1, beta2, eps;
};
struct rmsprop {
	struct optimizer common;
	double alpha, eps, momentum;
	bool eps_inside, decoupled;
};

#define MOMENTUM(s) FIELD_FLOAT(s, momentum, "0", 0, 1, "share of the last update that is kept")
#define BETAS(s)                                                                                   \
	FIELD_FLOAT(s, beta1, "0.9", 0, 0.9999999, "memory of the mean gradient"),                     \
	FIELD_FLOAT(s, beta2, "0.999", 0, 0.9999999, "memory of the mean squared gradient")
#define EPS(s, eps_) \
	FIELD_FLOAT(s, eps, eps_, 1e-30, 1, "added to the root of the mean squared gradient")
#define DECOUPLED(s, doc) FIELD_BOOL(s, decoupled, "false", doc)

static const struct field sgd_fields[] = {
	OPTIMIZER_RATE(struct sgd, "0.01"),
	MOMENTUM(struct sgd),
	FIELD_BOOL(struct sgd, nesterov, "false", "Nesterov's form of momentum"),
	OPTIMIZER_DECAY(struct sgd, "0"),
	DECOUPLED(struct sgd, "decay the weights themselves, not through the gradient"),
	OPTIMIZER_TRUST(struct sgd),
	OPTIMIZER_GROUPS(struct sgd),
	FIELD_END
};
static const struct field adam_fields[] = {
	OPTIMIZER_RATE(struct adam, "0.001"),
	BETAS(struct adam),
	EPS(struct adam, "1e-8"),
	OPTIMIZER_DECAY(struct adam, "0"),
	DECOUPLED(struct adam, "decay the weights themselves, not through the gradient (AdamW)"),
	OPTIMIZER_TRUST(struct adam),
	OPTIMIZER_GROUPS(struct adam),
	FIELD_END
};
static const struct field lamb_fields[] = {
	OPTIMIZER_RATE(struct lamb, "0.001"),
	BETAS(struct lamb),
	EPS(struct lamb, "1e-6"),
	OPTIMIZER_DECAY(struct lamb, "0.01"),
	OPTIMIZER_GROUPS(struct lamb),
	FIELD_END
};
static const struct field rmsprop_fields[] = {
	OPTIMIZER_RATE(struct rmsprop, "0.01"),
	FIELD_FLOAT(struct rmsprop, alpha, "0.99", 0, 0.9999999, "memory of the mean squared gradient"),
	EPS(struct rmsprop, "1e-8"),
	FIELD_BOOL(struct rmsprop, eps_inside, "false", "eps is added under the root"),
	MOMENTUM(struct rmsprop),
	OPTIMIZER_DECAY(struct rmsprop, "0"),
	DECOUPLED(struct rmsprop, "decay the weights themselves, not through the gradient"),
	OPTIMIZER_TRUST(struct rmsprop),
	OPTIMIZER_GROUPS(struct rmsprop),
	FIELD_END
};

enum { SGD, ADAM, LAMB, RMSPROP };
const struct variant optimizer_variants[] = {
	[SGD] = { .name = "sgd", .doc = "stochastic gradient descent, with momentum and weight decay",
	  .fields = sgd_fields, .size = sizeof(struct sgd) },
	[ADAM] = { .name = "adam", .doc = "Adam (Kingma 2015), AdamW with decoupled weight decay",
	  .fields = adam_fields, .size = sizeof(struct adam) },
	[LAMB] = { .name = "lamb", .doc = "LAMB (You et al. 2020): AdamW whose steps are as long as "
		"the weights of their tensor",
	  .fields = lamb_fields, .size = sizeof(struct lamb) },
	[RMSPROP] = { .name = "rmsprop", .doc = "RMSProp (Tieleman, Hinton 2012)",
	  .fields = rmsprop_fields, .size = sizeof(struct rmsprop) },
	{ 0 }
};

static int kind_of(const struct variant_value *o)
{
	return (int)(o->v - optimizer_variants);
}

static const struct optimizer *common(const struct variant_value *o)
{
	return o->data;
}

double optim_learning_rate(const struct variant_value *o)
{
	return common(o)->learning_rate;
}

bool optim_averages(const struct variant_value *o)
{
	return !isnan(common(o)->average.decay);
}

int optim_check(const struct variant_value *o)
{
	const struct sgd *c = o->data;
	if (kind_of(o) == SGD && c->nesterov && c->momentum == 0)
		return ERR(E_CONFIG, &o->loc, "'nesterov' needs a 'momentum' above 0");
	return settings_check(common(o), kind_of(o) == SGD, &o->loc);
}

/* --- rules: what an optimizer's node is made of --- */

struct rule {
	const char *op;
	struct each_attr *attr;      /* the op's attributes, which begin so */
	int nmoment;
	const char *const *moment;
	const struct trust *trust;   /* NULL: none */
};

static struct rule sgd_rule(struct graph *g, const struct sgd *c)
{
	static const char *const moment[] = { "momentum" };
	struct sgd_attr *at = ARENA_NEW(g->arena, struct sgd_attr);
	const struct trust *trust = c->common.trust.data;
	at->momentum = c->momentum;
	at->nesterov = c->nesterov;
	at->each.decoupled = c->decoupled;
	at->rate_inside = trust && trust->momentum == MOMENTUM_STEPS;
	return (struct rule){ "sgd", &at->each, c->momentum > 0, moment, c->common.trust.data };
}

static const char *const adam_moment[] = { "first_moment", "second_moment" };

static struct rule adam_rule(struct graph *g, const struct adam *c)
{
	struct adam_attr *at = ARENA_NEW(g->arena, struct adam_attr);
	at->beta1 = c->beta1;
	at->beta2 = c->beta2;
	at->eps = c->eps;
	at->each.decoupled = c->decoupled;
	return (struct rule){ "adam", &at->each, 2, adam_moment, c->common.trust.data };
}

static struct rule lamb_rule(struct graph *g, const struct lamb *c)
{
	static const struct trust trust = { .eta = 1, .zero = 1, .mode = TRUST_SCALE, .of = OF_UPDATE };
	struct adam_attr *at = ARENA_NEW(g->arena, struct adam_attr);
	at->beta1 = c->beta1;
	at->beta2 = c->beta2;
	at->eps = c->eps;
	at->each.decoupled = true;
	return (struct rule){ "adam", &at->each, 2, adam_moment, &trust };
}

static struct rule rmsprop_rule(struct graph *g, const struct rmsprop *c)
{
	static const char *const moment[] = { "mean_square", "momentum" };
	struct rmsprop_attr *at = ARENA_NEW(g->arena, struct rmsprop_attr);
	at->alpha = c->alpha;
	at->eps = c->eps;
	at->momentum = c->momentum;
	at->eps_inside = c->eps_inside;
	at->each.decoupled = c->decoupled;
	return (struct rule){ "rmsprop", &at->each, 1 + (c->momentum > 0), moment,
		c->common.trust.data };
}

static struct rule rule_of(struct graph *g, const struct variant_value *o)
{
	switch (kind_of(o)) {
	case SGD: return sgd_rule(g, o->data);
	case ADAM: return adam_rule(g, o->data);
	case LAMB: return lamb_rule(g, o->data);
	default: return rmsprop_rule(g, o->data);
	}
}

/* --- one bundle --- */

struct job {
	struct graph *g;
	const struct bundles *b;
	const struct optim_input *in;
	struct rule rule;
	struct setting *setting;         /* of all params, in the bundles' order */
	int k, first, n;                 /* the bundle at hand */
};

/* A list with one number for each parameter, or a single number if all are equal; empty if all are
 * `absent`. */
static struct floats list(const struct job *j, size_t member, double absent)
{
	double *v = ARENA_ARRAY(j->g->arena, double, j->n);
	bool alike = true;
	for (int i = 0; i < j->n; i++) {
		v[i] = *(const double *)((const char *)&j->setting[j->first + i] + member);
		alike &= v[i] == v[0];
	}
	return (struct floats){ alike ? v[0] != absent : j->n, v };
}
#define LIST(j, member, absent) list(j, offsetof(struct setting, member), absent)

static const char *name_of(const struct job *j, int i)
{
	return graph_t(j->g, j->b->param[j->first + i])->name;
}

/* For each parameter, the group that shares a trust ratio; -1: it has none. */
static struct ints layers(const struct job *j)
{
	int per = j->rule.trust->per;
	int64_t *v = ARENA_ARRAY(j->g->arena, int64_t, j->n);
	for (int i = 0; i < j->n; i++) {
		size_t n = settings_prefix(name_of(j, i), per);
		v[i] = j->setting[j->first + i].trust ? i : -1;
		for (int k = 0; k < i && v[i] == i; k++)
			if (v[k] >= 0 && settings_prefix(name_of(j, k), per) == n &&
			    strncmp(name_of(j, i), name_of(j, k), n) == 0)
				v[i] = v[k];
	}
	return (struct ints){ j->n, v };
}

static bool has_trust(const struct job *j)
{
	bool any = false;
	for (int i = 0; i < j->n; i++)
		any |= j->setting[j->first + i].trust;
	return j->rule.trust && any;
}

/* The ratios of the bundle's parameters to what[], gradients (times scale) or updates. */
static int emit_trust(const struct job *j, const tid *what, tid scale, tid *out)
{
	const struct trust *t = j->rule.trust;
	bool on_gradient = t->of == OF_GRADIENT && !j->rule.attr->decoupled;
	struct floats decay = on_gradient ? LIST(j, weight_decay, 0) : (struct floats){ 0 },
	              none = { 0 };
	struct norms_attr norms = { t->decay == DECAY_WITHIN ? decay : none };
	struct trust_ratio_attr ratio = { t->eta, t->eps, t->least, t->zero, t->mode == TRUST_CLIP,
		t->limit == LIMIT_RATE, t->decay == DECAY_BESIDE ? decay : none, LIST(j, rate_factor, 1),
		layers(j) };
	tid *in = ARENA_ARRAY(j->g->arena, tid, 1 + 2 * j->n), both[2] = { NONE, j->in->learning_rate };
	in[0] = scale;
	for (int i = 0; i < j->n; i++) {
		in[1 + 2 * i] = j->b->param[j->first + i];
		in[2 + 2 * i] = what[i];
	}
	TRY(graph_emit1(j->g, "norms", &norms, 1 + 2 * j->n, in, &both[0]));
	return graph_emit1(j->g, "trust_ratio", &ratio, 2, both, out);
}

/* Emits the optimizer's node: it writes the new weights to w or, if u is given, the direction to
 * u. */
static int emit_rule(const struct job *j, tid trust, tid *u, tid *w)
{
	const struct rule *r = &j->rule;
	int each = 2 + r->nmoment, nin = DESCENT_HEAD + j->n * each;
	tid *arg = ARENA_ARRAY(j->g->arena, tid, nin);
	tid *out = ARENA_ARRAY(j->g->arena, tid, j->n * (1 + r->nmoment));
	arg[DESCENT_RATE] = j->in->learning_rate;
	arg[DESCENT_STEP] = j->in->step;
	arg[DESCENT_SCALE] = j->in->grad_scale;
	arg[DESCENT_APPLY] = j->in->apply;
	arg[DESCENT_TRUST] = trust;
	for (int i = 0; i < j->n; i++) {
		tid *member = arg + DESCENT_HEAD + i * each;
		member[0] = j->b->param[j->first + i];
		member[1] = j->b->grad[j->first + i];
		for (int m = 0; m < r->nmoment; m++)
			TRY(bundles_state(j->g, member[0], r->moment[m], &member[2 + m]));
	}
	r->attr->weight_decay = LIST(j, weight_decay, 0);
	r->attr->rate_factor = LIST(j, rate_factor, 1);
	r->attr->direction = u != NULL;
	TRY(graph_emit(j->g, r->op, r->attr, nin, arg, j->n * (1 + r->nmoment), out));
	for (int i = 0; i < j->n; i++)
		(u ? u : w)[i] = out[i * (1 + r->nmoment)];
	return 0;
}

/* w -= rate trust u. */
static int emit_descent(const struct job *j, tid trust, const tid *u, tid *w)
{
	struct sgd_attr at = { .each = { .rate_factor = LIST(j, rate_factor, 1) } };
	int nin = DESCENT_HEAD + 2 * j->n;
	tid *arg = ARENA_ARRAY(j->g->arena, tid, nin);
	arg[DESCENT_RATE] = j->in->learning_rate;
	arg[DESCENT_STEP] = arg[DESCENT_SCALE] = NONE;
	arg[DESCENT_APPLY] = j->in->apply;
	arg[DESCENT_TRUST] = trust;
	for (int i = 0; i < j->n; i++) {
		arg[DESCENT_HEAD + 2 * i] = j->b->param[j->first + i];
		arg[DESCENT_HEAD + 2 * i + 1] = u[i];
	}
	return graph_emit(j->g, "sgd", &at, nin, arg, j->n, w);
}

static int emit_update(const struct job *j, tid *w)
{
	tid trust = NONE, *u = ARENA_ARRAY(j->g->arena, tid, j->n);
	if (!has_trust(j))
		return emit_rule(j, NONE, NULL, w);
	if (j->rule.trust->of == OF_GRADIENT) {
		TRY(emit_trust(j, j->b->grad + j->first, j->in->grad_scale, &trust));
		return emit_rule(j, trust, NULL, w);
	}
	TRY(emit_rule(j, NONE, u, NULL));
	TRY(emit_trust(j, u, NONE, &trust));
	return emit_descent(j, trust, u, w);
}

/* Right after the update, while the bundle is in the cache. */
static int emit_average(const struct job *j, const struct average *c, const tid *w)
{
	struct weight_average_attr at = { c->decay, c->warmup, c->start };
	int nin = 2 + 2 * j->n;
	tid *in = ARENA_ARRAY(j->g->arena, tid, nin);
	in[0] = j->in->step;
	in[1] = j->in->apply;
	for (int i = 0; i < j->n; i++) {
		in[2 + 2 * i] = w[i];
		TRY(bundles_state(j->g, j->b->param[j->first + i], AVERAGE_LEAF, &in[3 + 2 * i]));
	}
	bundles_enter(j->g, j->b, j->k, "." AVERAGE_LEAF);
	return graph_emit(j->g, "weight_average", &at, nin, in, 0, NULL);
}

static int emit_bundle(const struct job *j, const struct average *average)
{
	tid *w = ARENA_ARRAY(j->g->arena, tid, j->n);
	TRY(emit_update(j, w));
	return isnan(average->decay) ? 0 : emit_average(j, average, w);
}

bool optim_freezes(const struct variant_value *o, const struct tensor *param)
{
	return settings_of(common(o), param).rate_factor == 0;
}

int optim_drop_frozen(struct graph *g, const struct variant_value *o, int *n, tid *param)
{
	int left = 0;
	TRY(settings_match(g, common(o), *n, param));
	if (rule_of(g, o).trust || optim_averages(o))
		return 0;
	for (int i = 0; i < *n; i++)
		if (!optim_freezes(o, graph_t(g, param[i])))
			param[left++] = param[i];
	*n = left;
	return 0;
}

static int emit_all(struct job *j, const struct variant_value *o)
{
	TRY(optim_check(o));
	j->setting = ARENA_ARRAY(j->g->arena, struct setting, j->b->nparam);
	for (int i = 0; i < j->b->nparam; i++)
		j->setting[i] = settings_of(common(o), graph_t(j->g, j->b->param[i]));
	TRY(bundles_states(j->g, j->b, j->rule.nmoment, j->rule.moment));
	if (optim_averages(o))
		TRY(bundles_states(j->g, j->b, 1, (const char *[]){ AVERAGE_LEAF }));
	for (int k = 0; k < j->b->n; k++) {
		j->g->cur_loc = o->loc;
		bundles_enter(j->g, j->b, k, "");
		j->k = k;
		j->first = j->b->first[k];
		j->n = j->b->first[k + 1] - j->first;
		TRY(emit_bundle(j, &common(o)->average));
	}
	return 0;
}

int optim_emit(struct graph *g, const struct variant_value *o, const struct bundles *b,
               const struct optim_input *in)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	struct job j = { .g = g, .b = b, .in = in, .rule = rule_of(g, o) };
	g->cur_phase = PHASE_UPDATE;
	int rc = emit_all(&j, o);
	graph_leave(g, saved);
	return rc;
}

/* --- bundles --- */

static int per_of(const struct variant_value *o)
{
	const struct trust *t = o ? common(o)->trust.data : NULL;
	return t ? t->per : PER_TENSOR;
}

/* The length of the name's prefix within which parameters
 * share a trust ratio and must not be separated. */
size_t optim_prefix(const struct variant_value *o, const char *name)
{
	return settings_prefix(name, per_of(o));
}
