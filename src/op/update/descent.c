/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The optimizers' updates, in place, of many parameters at once (op/update/bundle.h). d is the
 * effective gradient, d = trust (grad_scale g + wd w), where wd is 0 if decay is decoupled:
 *
 *   sgd      as PyTorch's: v = m v + d; u = v (nesterov: d + m v)
 *            rate_inside, as in You, Gitman, Ginsburg (2017): v = m v + lr d; w -= v
 *   adam     Kingma, Ba: Adam (ICLR 2015), bias-corrected by step + 1: u = m^ / (sqrt(v^) + eps)
 *   rmsprop  Tieleman, Hinton (2012): v = a v + (1 - a) d^2; u = d / (sqrt(v) + eps), or
 *            d / sqrt(v + eps); with momentum u = b = m b + that
 *
 * and then w -= lr u, or with decoupled decay (Loshchilov, Hutter: AdamW, ICLR 2019) w -= lr (u +
 * wd w). `direction` gives u + wd w instead of the new w, for trust ratios, which need its norm
 * before the update.
 *
 * If `apply` is given and 0, nothing is written: an overflowed step has no effect. Padding is zero
 * everywhere and stays zero. After the groups there may be copies of the new weights, in the types
 * and layouts that kernels read (pass/copies.c). */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/update/descent.h"
#include "op/update/update.h"

/* --- attributes --- */

#define EACH(s, m, t, ...) FIELD_AT(#m, t, offsetof(s, each.m), __VA_ARGS__)
#define DESCENT_FIELDS(s)                                                                         \
	EACH(s, weight_decay, FT_FLOATS, .min = 0, .max = 1e6,                                        \
	     .doc = "share of the weights that is added; one for each parameter, or one for all"),    \
	EACH(s, rate_factor, FT_FLOATS, .min = 0, .max = 1e6,                                         \
	     .doc = "factor of the learning rate; one for each parameter, or one for all"),           \
	EACH(s, decoupled, FT_BOOL, .dflt = "false",                                                  \
	     .doc = "decay the weights themselves, apart from the gradient"),                         \
	EACH(s, direction, FT_BOOL, .dflt = "false",                                                  \
	     .doc = "give the direction of the step instead of making it"),                           \
	EACH(s, copy_of, FT_INTS, .min = 0, .max = INT_MAX,                                           \
	     .doc = "copies of new weights that follow the groups: which parameter each is of")

static const struct field sgd_fields[] = {
	FIELD_FLOAT(struct sgd_attr, momentum, "0", 0, 1, "share of the previous update that is kept"),
	FIELD_BOOL(struct sgd_attr, nesterov, "false", "look ahead by one momentum step"),
	FIELD_BOOL(struct sgd_attr, rate_inside, "false",
	           "the momentum is one of steps, rates included, not of gradients"),
	DESCENT_FIELDS(struct sgd_attr),
	FIELD_END
};

static const struct field adam_fields[] = {
	FIELD_FLOAT(struct adam_attr, beta1, "0.9", 0, 0.9999999, "decay of the mean of gradients"),
	FIELD_FLOAT(struct adam_attr, beta2, "0.999", 0, 0.9999999,
	            "decay of the mean of squared gradients"),
	FIELD_FLOAT(struct adam_attr, eps, "1e-8", 1e-30, 1e6,
	            "added to the root of the mean of squares"),
	DESCENT_FIELDS(struct adam_attr),
	FIELD_END
};

static const struct field rmsprop_fields[] = {
	FIELD_FLOAT(struct rmsprop_attr, alpha, "0.99", 0, 0.9999999,
	            "decay of the mean of squared gradients"),
	FIELD_FLOAT(struct rmsprop_attr, eps, "1e-8", 1e-30, 1e6,
	            "added to the root of the mean of squares"),
	FIELD_FLOAT(struct rmsprop_attr, momentum, "0", 0, 1,
	            "share of the previous update that is kept"),
	FIELD_BOOL(struct rmsprop_attr, eps_inside, "false", "eps is added under the root"),
	DESCENT_FIELDS(struct rmsprop_attr),
	FIELD_END
};

/* Members of a group; inputs and outputs are the same, except that G is an input only. */
enum { W, G, M, V };
static const char *const sgd_member[] = { "weight", "gradient", "momentum" };
static const char *const adam_member[] = { "weight", "gradient", "first moment", "second moment" };

static const char *const rmsprop_member[] = { "weight", "gradient", "mean of squares", "momentum" };

struct bundle_form sgd_form(const struct node *n)
{
	const struct sgd_attr *at = n->attr;
	bool v = at->momentum > 0;
	return (struct bundle_form){ DESCENT_HEAD, 2 + v, 1 + v, sgd_member, at->each.copy_of, G };
}

struct bundle_form adam_form(const struct node *n)
{
	return (struct bundle_form){ DESCENT_HEAD, 4, 3, adam_member,
		((const struct each_attr *)n->attr)->copy_of, G };
}

struct bundle_form rmsprop_form(const struct node *n)
{
	const struct rmsprop_attr *at = n->attr;
	bool b = at->momentum > 0;
	return (struct bundle_form){ DESCENT_HEAD, 3 + b, 2 + b, rmsprop_member, at->each.copy_of, G };
}

bool descent_form(const struct node *n, struct bundle_form *f)
{
	static const struct { const char *name;
		struct bundle_form (*form)(const struct node *n); } kind[] = {
		{ "sgd", sgd_form }, { "adam", adam_form }, { "rmsprop", rmsprop_form } };

	for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
		if (strcmp(n->op->name, kind[i].name) == 0) {
			*f = kind[i].form(n);
			return !((const struct each_attr *)n->attr)->direction;
		}
	return false;
}

/* --- shape --- */

static int want_whole(struct graph *g, const struct node *n, int i, const char *what)
{
	enum dtype t = graph_t(g, n->in[i])->dtype;
	if (t != DTYPE_I64 && t != DTYPE_I32)
		return ERR(E_SHAPE, &g->cur_loc, "the %s of '%s' must be an integer, but is %s", what,
		           n->op->name, dtype_name(t));
	return node_want_scalar(g, n, i, what);
}

static int check_trust(struct graph *g, const struct node *n, int groups)
{
	const struct shape *s = node_in_shape(g, n, DESCENT_TRUST);
	char text[SHAPE_TEXT];
	TRY(node_want_float(g, n, DESCENT_TRUST, "trust"));
	if (s->nd == 1 && s->d[0] == groups)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc,
	           "the trust of '%s' must have one number for each of %d parameters, but has shape %s",
	           n->op->name, groups, shape_text(s, text));
}

static int check_head(struct graph *g, const struct node *n, int groups)
{
	static const int scalar[] = { DESCENT_RATE, DESCENT_SCALE, DESCENT_APPLY };
	static const char *const name[] = { "learning rate", "grad_scale", "apply" };
	for (int i = 0; i < 3; i++)
		if (node_has(n, scalar[i])) {
			TRY(node_want_float(g, n, scalar[i], name[i]));
			TRY(node_want_scalar(g, n, scalar[i], name[i]));
		}
	if (node_has(n, DESCENT_STEP))
		TRY(want_whole(g, n, DESCENT_STEP, "step"));
	return node_has(n, DESCENT_TRUST) ? check_trust(g, n, groups) : 0;
}

static int check_list(struct graph *g, const struct node *n, const struct floats *v,
                      const char *key, int groups)
{
	if (v->n <= 1 || v->n == groups)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "'%s' of '%s' has %d numbers for %d parameters", key,
	           n->op->name, v->n, groups);
}

static int descent_shape(struct graph *g, struct node *n, struct bundle_form f,
                         const struct each_attr *each)
{
	int groups = bundle_groups(n, f);
	TRY(bundle_check(g, n, f));
	if (each->direction && each->copy_of.n)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' makes no new weights that there could be copies of",
		           n->op->name);
	TRY(check_head(g, n, groups));
	TRY(check_list(g, n, &each->weight_decay, "weight_decay", groups));
	TRY(check_list(g, n, &each->rate_factor, "rate_factor", groups));
	for (int t = 0; t < groups; t++) {
		int w = f.head + t * f.in;
		if (each->direction)
			TRY(graph_out(g, n, t * f.out, DTYPE_F32, node_in_shape(g, n, w)));
		else
			TRY(graph_out_alias(g, n, t * f.out, w));
		for (int i = 1; i < f.out; i++)
			TRY(graph_out_alias(g, n, t * f.out + i, w + 1 + i));
	}
	for (int i = 0; i < f.copy_of.n; i++)
		TRY(graph_out_alias(g, n, bundle_copy_out(n, f, i), bundle_copy_in(n, f, i)));
	return 0;
}

static int sgd_shape(struct graph *g, struct node *n)
{
	const struct sgd_attr *at = n->attr;
	if (at->nesterov && !(at->momentum > 0))
		return ERR(E_CONFIG, &g->cur_loc, "'nesterov' needs a 'momentum' above 0");
	if (at->rate_inside && at->each.direction)
		return ERR(E_CONFIG, &g->cur_loc, "a momentum of steps has no direction apart from them");
	return descent_shape(g, n, sgd_form(n), &at->each);
}

static int adam_shape(struct graph *g, struct node *n)
{
	if (!node_has(n, DESCENT_STEP))
		return ERR(E_SHAPE, &g->cur_loc, "'%s' needs the step", n->op->name);
	return descent_shape(g, n, adam_form(n), &((const struct adam_attr *)n->attr)->each);
}

static int rmsprop_shape(struct graph *g, struct node *n)
{
	return descent_shape(g, n, rmsprop_form(n), &((const struct rmsprop_attr *)n->attr)->each);
}

/* --- cost --- */

static void descent_cost(const struct graph *g, const struct node *n, struct cost *c, int flops)
{
	const struct each_attr *each = n->attr;
	flops += 2 * (each->weight_decay.n > 0) + node_has(n, DESCENT_SCALE) +
	         node_has(n, DESCENT_TRUST);
	for (int i = 0; i < n->nout; i++)
		if (graph_t(g, n->out[i])->alias == NONE ||
		    graph_t(g, graph_t(g, n->out[i])->alias)->role == ROLE_PARAM)
			c->flops += (double)flops * (double)shape_count(node_out_shape(g, n, i));
}

static void sgd_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	const struct sgd_attr *at = n->attr;
	descent_cost(g, n, c, 2 + 2 * (at->momentum > 0) + 2 * at->nesterov);
}

static void adam_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	descent_cost(g, n, c, 12);
}

static void rmsprop_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	descent_cost(g, n, c, 8);
}

/* --- layouts --- */

static int sgd_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, sgd_form(k->n), in, out);
}

static int adam_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, adam_form(k->n), in, out);
}

static int rmsprop_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, rmsprop_form(k->n), in, out);
}

/* --- kernels in double and in float: one source text for both --- */

static double each(const struct floats *v, int t, double absent)
{
	return v->n == 0 ? absent : v->v[v->n == 1 ? 0 : t];
}

/* 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t), computed once in a step, in double. */
struct adam_factors {
	double mean, root;
};

static void adam_factors(const struct kplan *k, const struct kargs *a)
{
	const struct adam_attr *at = k->n->attr;
	struct adam_factors *f = a->ws;
	const void *step = a->in[DESCENT_STEP];
	bool narrow = graph_t(k->g, k->n->in[DESCENT_STEP])->dtype == DTYPE_I32;
	double t = 1 + (narrow ? (double)*(const int32_t *)step : (double)*(const int64_t *)step);
	f->mean = 1 / (1 - pow(at->beta1, t));
	f->root = 1 / sqrt(1 - pow(at->beta2, t));
}

/* Whether the step is made. The flag is a double on float64 devices, else a float. */
static bool applies(const struct kplan *k, const struct kargs *a)
{
	if (!node_has(k->n, DESCENT_APPLY))
		return true;
	if (graph_t(k->g, k->n->in[DESCENT_APPLY])->dtype == DTYPE_F64)
		return *(const double *)a->in[DESCENT_APPLY] != 0;
	return *(const float *)a->in[DESCENT_APPLY] != 0;
}

#define real double
#define NAME(kernel) kernel##_reference
#define ROOT sqrt
#include "op/update/descent_body.h"

#define real float
#define NAME(kernel) kernel##_cpu
#define ROOT sqrtf
#include "op/update/descent_body.h"

/* --- plan --- */

static int sgd_plan(struct kplan *k)
{
	return bundle_plan(k, sgd_form(k->n));
}

static int adam_plan(struct kplan *k)
{
	k->ws_bytes = sizeof(struct adam_factors);
	return bundle_plan(k, adam_form(k->n));
}

static int rmsprop_plan(struct kplan *k)
{
	return bundle_plan(k, rmsprop_form(k->n));
}

/* --- samples: (rate, step, scale, apply, trust), then the groups --- */

static const char *const sgd_samples[] = {
	"s:positive - - - - 3x5! 3x5",
	"s:positive - s:positive - - 3x5! 3x5; weight_decay: 0.1",
	"s:positive - - - - 7! 7 7@; momentum: 0.9",
	"s:positive - s:positive - - 4x3x3x3! 4x3x3x3 4x3x3x3@; momentum: 0.9, nesterov: true, "
	"weight_decay: 0.02",
	"s:positive - - - - 2x37! 2x37 2x37@; momentum: 0.5, weight_decay: 0.1, decoupled: true",
	"s:positive - - - - s! s; weight_decay: 0.1, decoupled: true",
	"s:positive - s:positive s:one 3:positive 3x5! 3x5 3x5@ 4x2x3x3! 4x2x3x3 4x2x3x3@ s! s s@; "
	"momentum: 0.9, weight_decay: [0.1, 0, 0.2], rate_factor: [1, 0.5, 2]",
	"s:positive - - s:zero - 3x5! 3x5 7! 7",
	"s:positive - - - 2:positive 97x141! 97x141 97x141@ 33! 33 33@; momentum: 0.9, "
	"rate_inside: true, nesterov: true, weight_decay: 0.01",
	"s:positive - - - 2:positive 3x5! 3x5 7! 7; rate_inside: true, weight_decay: 0.01",
	"s:positive - s:positive - - 3x5 3x5 3x5@ 4 4 4@; momentum: 0.9, direction: true, "
	"weight_decay: [0.1, 0], decoupled: true",
	"s:positive - - - - 97x141! 97x141 97x141@ 7! 7 7@ 97x141@ 7@; momentum: 0.9, copy_of: [0, 1]",
	"s:positive - - s:zero - 3x5! 3x5 7! 7 7@; copy_of: [1]",
	NULL
};
static const char *const adam_samples[] = {
	"s:positive s:index5 - - - 3x5! 3x5 3x5@ 3x5:positive@",
	"s:positive s:index5 s:positive - - 4x3x3x3! 4x3x3x3 4x3x3x3@ 4x3x3x3:positive@; "
	"beta1: 0.8, beta2: 0.9, weight_decay: 0.1",
	"s:positive s:index1 - - - 37! 37 37:zero@ 37:zero@; eps: 0.01, weight_decay: 0.1, "
	"decoupled: true",
	"s:positive s:index9 s:positive s:one 2:positive 3x5! 3x5 3x5@ 3x5:positive@ 4x2x3x3! "
	"4x2x3x3 4x2x3x3@ 4x2x3x3:positive@; weight_decay: [0.1, 0], rate_factor: [1, 0.5]",
	"s:positive s:index9 - - - 97x141! 97x141 97x141@ 97x141:positive@ 5! 5 5@ 5:positive@",
	"s:positive s:index5 - - - 3x5 3x5 3x5@ 3x5:positive@; weight_decay: 0.1, decoupled: true, "
	"direction: true",
	"s:positive s:index5 - - - 3x5! 3x5 3x5@ 3x5:positive@ 37! 37 37@ "
	"37:positive@ 37@; copy_of: [1]", NULL
};

static const char *const rmsprop_samples[] = {
	"s:positive - - - - 3x5! 3x5 3x5:positive@",
	"s:positive - s:positive s:one 2:positive 4x3x3x3! 4x3x3x3 4x3x3x3:positive@ 7! 7 7:positive@; "
	"alpha: 0.9, eps: 0.01, eps_inside: true, weight_decay: [0.1, 0]",
	"s:positive - - - - 37! 37 37:zero@ 37@ 91x173! 91x173 91x173:positive@ "
	"91x173@; momentum: 0.9, "
	"weight_decay: 0.1, decoupled: true",
	"s:positive - - s:zero - 3x5! 3x5 3x5:positive@",
	"s:positive - - - - 37! 37 37:positive@ 37@ 37@; momentum: 0.9, copy_of: [0]", NULL
};

/* --- records --- */

static const struct op op_sgd = {
	.name = "sgd",
	.doc = "stochastic gradient descent: (lr, -, grad_scale?, apply?, trust?, (w, g, v?)...) -> "
	       "(w', v'?)...",
	.flags = OP_UPDATE | OP_ASIDE,
	.min_in = 1, .max_in = INT_MAX, .nout = -1,
	.attr_size = sizeof(struct sgd_attr), .attrs = sgd_fields,
	.shape = sgd_shape, .cost = sgd_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = sgd_plan, .run = sgd_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = sgd_choose, .plan = sgd_plan,
		                  .run = sgd_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = sgd_choose, .plan = sgd_cuda_plan,
		            .run = sgd_cuda, .takes_narrow = sgd_takes_narrow)
	},
	.samples = sgd_samples,
};

static const struct op op_adam = {
	.name = "adam",
	.doc = "Adam and AdamW: (lr, step, grad_scale?, apply?, trust?, (w, g, m, v)...) -> "
	       "(w', m', v')...",
	.flags = OP_UPDATE | OP_ASIDE,
	.min_in = 1, .max_in = INT_MAX, .nout = -1,
	.attr_size = sizeof(struct adam_attr), .attrs = adam_fields,
	.shape = adam_shape, .cost = adam_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = adam_plan, .run = adam_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = adam_choose, .plan = adam_plan,
		                  .run = adam_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = adam_choose, .plan = adam_cuda_plan,
		            .run = adam_cuda, .takes_narrow = adam_takes_narrow)
	},
	.samples = adam_samples,
};

static const struct op op_rmsprop = {
	.name = "rmsprop",
	.doc = "RMSProp: (lr, -, grad_scale?, apply?, trust?, (w, g, v, b?)...) -> (w', v', b'?)...",
	.flags = OP_UPDATE | OP_ASIDE,
	.min_in = 1, .max_in = INT_MAX, .nout = -1,
	.attr_size = sizeof(struct rmsprop_attr), .attrs = rmsprop_fields,
	.shape = rmsprop_shape, .cost = rmsprop_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = rmsprop_plan, .run = rmsprop_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = rmsprop_choose, .plan = rmsprop_plan,
		                  .run = rmsprop_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = rmsprop_choose, .plan = rmsprop_cuda_plan,
		            .run = rmsprop_cuda, .takes_narrow = rmsprop_takes_narrow)
	},
	.samples = rmsprop_samples,
};

OPSET(descent, &op_sgd, &op_adam, &op_rmsprop);
