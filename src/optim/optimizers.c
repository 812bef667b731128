/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Optimizers as graph: one update node for each parameter, which writes the parameter and its
 * moments in place. Moments are states named after the parameter ("conv.weight.momentum"), zero at
 * first. */
#include <string.h>

#include "base/err.h"
#include "model/op_attr.h"
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

/* A state of p's shape, named "P.leaf". */
static int moment(struct graph *g, tid p, const char *leaf, tid *out)
{
	const struct tensor *t = graph_t(g, p);
	return graph_state(g, arena_printf(g->arena, "%s.%s", t->name, leaf), t->dtype, &t->shape,
	                   (struct init){ INIT_CONSTANT, 0 }, out);
}

static struct op_attr sgd_attr(struct graph *g, const struct sgd *c)
{
	struct op_attr t = op_attr_new(g->arena, "sgd");
	op_attr_float(&t, "momentum", c->momentum);
	op_attr_int(&t, "nesterov", c->nesterov);
	op_attr_float(&t, "weight_decay", c->weight_decay);
	op_attr_int(&t, "decoupled", c->decoupled);
	return t;
}

static struct op_attr adam_attr(struct graph *g, const struct adam *c)
{
	struct op_attr t = op_attr_new(g->arena, "adam");
	op_attr_float(&t, "beta1", c->beta1);
	op_attr_float(&t, "beta2", c->beta2);
	op_attr_float(&t, "eps", c->eps);
	op_attr_float(&t, "weight_decay", c->weight_decay);
	op_attr_int(&t, "decoupled", c->decoupled);
	return t;
}

static int emit_sgd(struct graph *g, const struct op_attr *t, bool momentum, tid w, tid grad,
                    const struct optim_input *in)
{
	tid arg[5] = { w, grad, in->learning_rate, NONE, in->grad_scale }, out[2];
	if (momentum)
		TRY(moment(g, w, "momentum", &arg[3]));
	return graph_emit(g, "sgd", t->data, 5, arg, 2, out);
}

static int emit_adam(struct graph *g, const struct op_attr *t, tid w, tid grad,
                     const struct optim_input *in)
{
	tid arg[7] = { w, grad, in->learning_rate, in->step, NONE, NONE, in->grad_scale }, out[3];
	TRY(moment(g, w, "first_moment", &arg[4]));
	TRY(moment(g, w, "second_moment", &arg[5]));
	return graph_emit(g, "adam", t->data, 7, arg, 3, out);
}

int optim_emit(struct graph *g, const struct variant_value *o, int n, const tid *param,
               const tid *grad, const struct optim_input *in)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	struct op_attr t = is_sgd(o) ? sgd_attr(g, o->data) : adam_attr(g, o->data);
	int rc = optim_check(o);
	g->cur_phase = PHASE_UPDATE;
	for (int i = 0; i < n && rc == 0; i++) {
		const struct tensor *w = graph_t(g, param[i]);
		g->cur_name = w->name;
		g->cur_loc = w->loc.file ? w->loc : o->loc;
		rc = is_sgd(o) ? emit_sgd(g, &t, ((const struct sgd *)o->data)->momentum > 0, param[i],
		                          grad[i], in)
		               : emit_adam(g, &t, param[i], grad[i], in);
	}
	graph_leave(g, saved);
	return rc;
}
