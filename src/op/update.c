/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a step does to params and states, in place: the optimizers' updates, the accumulation of
 * gradients over micro-batches, running statistics.
 *
 *   sgd          as PyTorch's: g += wd w; v = m v + g; w -= lr v (nesterov: lr (g + m v))
 *   adam         Kingma, Ba: Adam (ICLR 2015), bias-corrected by step + 1; decoupled decay of
 *                Loshchilov, Hutter (AdamW, ICLR 2019)
 *   accumulate   acc = g for index 0, else acc + g
 *   ema_update   r = (1 - momentum) r + momentum factor x
 *
 * All walk flat buffers, whatever the layout: padding is zero everywhere and stays so. */
#include <math.h>

#include "base/err.h"
#include "op/simd.h"
#include "op/update.h"
#include "op/walk.h"

/* --- attributes --- */

static const struct field sgd_fields[] = {
	FIELD_FLOAT(struct sgd_attr, momentum, "0", 0, 1, "share of the previous update that is kept"),
	FIELD_BOOL(struct sgd_attr, nesterov, "false", "look ahead by one momentum step"),
	FIELD_FLOAT(struct sgd_attr, weight_decay, "0", 0, 1e6,
	            "factor of the weights that is added to the gradient"),
	FIELD_BOOL(struct sgd_attr, decoupled, "false",
	           "decay the weights themselves, apart from the gradient"),
	FIELD_END
};

static const struct field adam_fields[] = {
	FIELD_FLOAT(struct adam_attr, beta1, "0.9", 0, 0.9999999, "decay of the mean of gradients"),
	FIELD_FLOAT(struct adam_attr, beta2, "0.999", 0, 0.9999999,
	            "decay of the mean of squared gradients"),
	FIELD_FLOAT(struct adam_attr, eps, "1e-8", 1e-30, 1e6,
	            "added to the root of the mean of squares"),
	FIELD_FLOAT(struct adam_attr, weight_decay, "0", 0, 1e6,
	            "factor of the weights that is added to the gradient"),
	FIELD_BOOL(struct adam_attr, decoupled, "false",
	           "decay the weights themselves, apart from the gradient (AdamW)"),
	FIELD_END
};

static const struct field ema_update_fields[] = {
	FIELD_FLOAT(struct ema_update_attr, momentum, "0.1", 0, 1, "share of the new value"),
	FIELD_FLOAT(struct ema_update_attr, factor, "1", 0, 1e6,
	            "what the new value is multiplied by first"),
	FIELD_END
};

/* Positions of inputs. */
enum { W, G, LR };
enum { SGD_MOMENTUM = 3, SGD_GRAD_SCALE };
enum { ADAM_STEP = 3, ADAM_M, ADAM_V, ADAM_GRAD_SCALE };

/* --- shape --- */

/* The inputs every optimizer has, and grad_scale at position `scale`. */
static int optimizer_inputs(struct graph *g, const struct node *n, int scale)
{
	TRY(node_want_float(g, n, W, "weight"));
	TRY(node_want_float(g, n, G, "gradient"));
	TRY(node_want_like(g, n, G, W, "gradient"));
	TRY(node_want_float(g, n, LR, "learning rate"));
	TRY(node_want_scalar(g, n, LR, "learning rate"));
	if (!node_has(n, scale))
		return 0;
	TRY(node_want_float(g, n, scale, "grad_scale"));
	return node_want_scalar(g, n, scale, "grad_scale");
}

static int sgd_shape(struct graph *g, struct node *n)
{
	const struct sgd_attr *at = n->attr;

	TRY(optimizer_inputs(g, n, SGD_GRAD_SCALE));
	if (at->nesterov && !(at->momentum > 0))
		return ERR(E_CONFIG, &g->cur_loc, "'nesterov' needs a 'momentum' above 0");
	TRY(graph_out_alias(g, n, 0, W));
	n->out[1] = NONE;
	if (node_has(n, SGD_MOMENTUM)) {
		TRY(node_want_float(g, n, SGD_MOMENTUM, "momentum"));
		TRY(node_want_like(g, n, SGD_MOMENTUM, W, "momentum"));
		return graph_out_alias(g, n, 1, SGD_MOMENTUM);
	}
	if (at->momentum > 0)
		return ERR(E_SHAPE, &g->cur_loc, "'sgd' with a momentum of %g needs a momentum state",
		           at->momentum);
	return 0;
}

/* A whole number: I64, or I32 where that is what the caller has. */
static int want_whole(struct graph *g, const struct node *n, int i, const char *what)
{
	enum dtype t = graph_t(g, n->in[i])->dtype;

	if (t != DTYPE_I64 && t != DTYPE_I32)
		return ERR(E_SHAPE, &g->cur_loc, "the %s of '%s' must be an integer, but is %s", what,
		           n->op->name, dtype_name(t));
	return node_want_scalar(g, n, i, what);
}

static int adam_shape(struct graph *g, struct node *n)
{
	TRY(optimizer_inputs(g, n, ADAM_GRAD_SCALE));
	TRY(want_whole(g, n, ADAM_STEP, "step"));
	for (int i = ADAM_M; i <= ADAM_V; i++) {
		TRY(node_want_float(g, n, i, "moment"));
		TRY(node_want_like(g, n, i, W, "moment"));
	}
	TRY(graph_out_alias(g, n, 0, W));
	TRY(graph_out_alias(g, n, 1, ADAM_M));
	return graph_out_alias(g, n, 2, ADAM_V);
}

static int accumulate_shape(struct graph *g, struct node *n)
{
	TRY(node_want_float(g, n, 0, "accumulator"));
	TRY(node_want_float(g, n, 1, "gradient"));
	TRY(node_want_like(g, n, 1, 0, "gradient"));
	TRY(want_whole(g, n, 2, "index"));
	return graph_out_alias(g, n, 0, 0);
}

static int ema_update_shape(struct graph *g, struct node *n)
{
	TRY(node_want_float(g, n, 0, "running value"));
	TRY(node_want_float(g, n, 1, "new value"));
	TRY(node_want_like(g, n, 1, 0, "new value"));
	return graph_out_alias(g, n, 0, 0);
}

/* --- cost --- */

static void sgd_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	const struct sgd_attr *at = n->attr;
	int ops = 2 + 2 * (at->weight_decay > 0) + 2 * node_has(n, SGD_MOMENTUM) + 2 * at->nesterov
	        + node_has(n, SGD_GRAD_SCALE);

	c->flops += (double)ops * (double)shape_count(node_in_shape(g, n, W));
}

static void adam_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	const struct adam_attr *at = n->attr;
	int ops = 12 + 2 * (at->weight_decay > 0) + node_has(n, ADAM_GRAD_SCALE);

	c->flops += (double)ops * (double)shape_count(node_in_shape(g, n, W));
}

static void accumulate_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops += (double)shape_count(node_in_shape(g, n, 0));
}

static void ema_update_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops += 3 * (double)shape_count(node_in_shape(g, n, 0));
}

/* --- kernels that exist in double and in float: one text for both --- */

static int64_t whole(const struct kplan *k, const struct kargs *a, int i)
{
	return graph_t(k->g, k->n->in[i])->dtype == DTYPE_I32 ? *(const int32_t *)a->in[i]
	                                                      : *(const int64_t *)a->in[i];
}

static void *given(const struct kplan *k, const struct kargs *a, int i)
{
	return node_has(k->n, i) ? a->in[i] : NULL;
}

/* Without decay the factors are exact: 1 * w, 0 * w. v is written only where there is one, so that
 * case has a loop of its own. */
#define SGD(range_name, real)                                                                      \
	static void range_name(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)   \
	{                                                                                              \
		const struct sgd_attr *at = k->n->attr;                                                    \
		const real *g = a->in[G], *gs = given(k, a, SGD_GRAD_SCALE);                               \
		real *w = a->out[0], *v = given(k, a, SGD_MOMENTUM) ? a->out[1] : NULL;                    \
		real lr = *(const real *)a->in[LR], scale = gs ? *gs : 1, m = (real)at->momentum;          \
		real coupled = at->decoupled ? 0 : (real)at->weight_decay;                                 \
		real keep = at->decoupled ? 1 - lr * (real)at->weight_decay : 1;                           \
		real ahead = at->nesterov ? m : 1, now = at->nesterov ? 1 : 0;                             \
		if (v)                                                                                     \
			range_name##_momentum(w, g, v, lr, scale, m, coupled, keep, now, ahead, lo, hi);       \
		else                                                                                       \
			range_name##_plain(w, g, lr, scale, coupled, keep, lo, hi);                            \
	}

#define SGD_LOOPS(range_name, real, CLONES)                                                     \
	CLONES                                                                                      \
	static void range_name##_momentum(real *w, const real *g, real *v, real lr, real scale,     \
	                                  real m, real coupled, real keep, real now, real ahead,    \
	                                  int64_t lo, int64_t hi)                                   \
	{                                                                                           \
		SIMD_LOOP                                                                               \
		for (int64_t i = lo; i < hi; i++) {                                                     \
			real d = g[i] * scale + coupled * w[i];                                             \
			v[i] = m * v[i] + d;                                                                \
			w[i] = w[i] * keep - lr * (now * d + ahead * v[i]);                                 \
		}                                                                                       \
	}                                                                                           \
	CLONES                                                                                      \
	static void range_name##_plain(real *w, const real *g, real lr, real scale, real coupled,   \
	                               real keep, int64_t lo, int64_t hi)                           \
	{                                                                                           \
		SIMD_LOOP                                                                               \
		for (int64_t i = lo; i < hi; i++)                                                       \
			w[i] = w[i] * keep - lr * (g[i] * scale + coupled * w[i]);                          \
	}

#define NO_CLONES
SGD_LOOPS(sgd_range_reference, double, NO_CLONES)
SGD_LOOPS(sgd_range, float, SIMD_CLONES)
SGD(sgd_range_reference, double)
SGD(sgd_range, float)

/* lr / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) once, in double. */
struct adam_factors {
	double rate, root;
};

static struct adam_factors adam_factors(const struct kplan *k, const struct kargs *a, double lr)
{
	const struct adam_attr *at = k->n->attr;
	double t = (double)whole(k, a, ADAM_STEP) + 1;

	return (struct adam_factors){
		.rate = lr / (1 - pow(at->beta1, t)),
		.root = 1 / sqrt(1 - pow(at->beta2, t)),
	};
}

#define ADAM(range_name, real, root_of, CLONES)                                                    \
	CLONES                                                                                         \
	static void range_name(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)   \
	{                                                                                              \
		const struct adam_attr *at = k->n->attr;                                                   \
		const real *g = a->in[G], *gs = given(k, a, ADAM_GRAD_SCALE);                              \
		real *w = a->out[0], *m = a->out[1], *v = a->out[2];                                       \
		real lr = *(const real *)a->in[LR], scale = gs ? *gs : 1;                                  \
		struct adam_factors f = adam_factors(k, a, lr);                                            \
		real rate = (real)f.rate, root = (real)f.root, eps = (real)at->eps;                        \
		real c1 = (real)(1 - at->beta1), b2 = (real)at->beta2, c2 = (real)(1 - at->beta2);         \
		real coupled = at->decoupled ? 0 : (real)at->weight_decay;                                 \
		real keep = at->decoupled ? 1 - lr * (real)at->weight_decay : 1;                           \
		SIMD_LOOP                                                                                  \
		for (int64_t i = lo; i < hi; i++) {                                                        \
			real d = g[i] * scale + coupled * w[i];                                                \
			m[i] = m[i] + c1 * (d - m[i]);                                                         \
			v[i] = b2 * v[i] + c2 * d * d;                                                         \
			w[i] = w[i] * keep - rate * m[i] / (root_of(v[i]) * root + eps);                       \
		}                                                                                          \
	}

ADAM(adam_range_reference, double, sqrt, NO_CLONES)
ADAM(adam_range, float, sqrtf, SIMD_CLONES)

#define ACCUMULATE(range_name, real, CLONES)                                                       \
	CLONES                                                                                         \
	static void range_name(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)   \
	{                                                                                              \
		const real *g = a->in[1];                                                                  \
		real *acc = a->out[0];                                                                     \
		if (whole(k, a, 2) == 0) {       /* acc may be anything: not a factor of 0 */              \
			SIMD_LOOP                                                                              \
			for (int64_t i = lo; i < hi; i++)                                                      \
				acc[i] = g[i];                                                                     \
		} else {                                                                                   \
			SIMD_LOOP                                                                              \
			for (int64_t i = lo; i < hi; i++)                                                      \
				acc[i] = acc[i] + g[i];                                                            \
		}                                                                                          \
	}

ACCUMULATE(accumulate_range_reference, double, NO_CLONES)
ACCUMULATE(accumulate_range, float, SIMD_CLONES)

#define EMA_UPDATE(range_name, real, CLONES)                                                       \
	CLONES                                                                                         \
	static void range_name(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)   \
	{                                                                                              \
		const struct ema_update_attr *at = k->n->attr;                                             \
		const real *x = a->in[1];                                                                  \
		real *r = a->out[0], keep = (real)(1 - at->momentum);                                      \
		real take = (real)(at->momentum * at->factor);                                             \
		SIMD_LOOP                                                                                  \
		for (int64_t i = lo; i < hi; i++)                                                          \
			r[i] = keep * r[i] + take * x[i];                                                      \
	}

EMA_UPDATE(ema_update_range_reference, double, NO_CLONES)
EMA_UPDATE(ema_update_range, float, SIMD_CLONES)

#define RUN(name)                                                               \
	static int name##_reference(const struct kplan *k, const struct kargs *a)   \
	{                                                                           \
		walk_run(k, a, kplan_out_elements(k, 0), name##_range_reference);       \
		return 0;                                                               \
	}                                                                           \
	static int name##_cpu(const struct kplan *k, const struct kargs *a)         \
	{                                                                           \
		walk_run(k, a, kplan_out_elements(k, 0), name##_range);                 \
		return 0;                                                               \
	}

RUN(sgd)
RUN(adam)
RUN(accumulate)
RUN(ema_update)

/* --- samples --- */

static const char *const sgd_samples[] = {
	"3x5! 3x5 s:positive",
	"3x5! 3x5 s:positive - s:positive; weight_decay: 0.1",
	"7! 7 s:positive 7@; momentum: 0.9",
	"4x3x3x3! 4x3x3x3 s:positive 4x3x3x3@ s:positive; momentum: 0.9, nesterov: true,"
	" weight_decay: 0.02",
	"2x37! 2x37 s:positive 2x37@; momentum: 0.5, weight_decay: 0.1, decoupled: true",
	"s! s s:positive; weight_decay: 0.1, decoupled: true",
	NULL
};
static const char *const adam_samples[] = {
	"3x5! 3x5 s:positive s:index5 3x5@ 3x5:positive@",
	"4x3x3x3! 4x3x3x3 s:positive s:index5 4x3x3x3@ 4x3x3x3:positive@ s:positive; "
	"beta1: 0.8, beta2: 0.9, weight_decay: 0.1",
	"37! 37 s:positive s:index1 37:zero@ 37:zero@; eps: 0.01, weight_decay: 0.1, decoupled: true",
	NULL
};
static const char *const accumulate_samples[] = {
	"3x5@ 3x5 s:index1", "7@ 7 s:index9", "2x3x4x5@ 2x3x4x5 s:index9", "s@ s s:index9", NULL
};
static const char *const ema_update_samples[] = {
	"5@ 5", "33@ 33; momentum: 0.3, factor: 1.25", "1@ 1; momentum: 1", "s@ s", NULL
};
/* --- records --- */

static const struct op op_sgd = {
	.name = "sgd",
	.doc = "stochastic gradient descent: (w, g, lr, momentum?, grad_scale?) -> w', momentum'",
	.flags = OP_UPDATE,
	.min_in = 3, .max_in = 5, .nout = 2,
	.attr_size = sizeof(struct sgd_attr), .attrs = sgd_fields,
	.shape = sgd_shape, .cost = sgd_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = sgd_reference },
		[BACKEND_CPU] = { .layouts = KL_SAME, .run = sgd_cpu },
	},
	.samples = sgd_samples,
};

static const struct op op_adam = {
	.name = "adam",
	.doc = "Adam and AdamW: (w, g, lr, step, m, v, grad_scale?) -> w', m', v'",
	.flags = OP_UPDATE,
	.min_in = 6, .max_in = 7, .nout = 3,
	.attr_size = sizeof(struct adam_attr), .attrs = adam_fields,
	.shape = adam_shape, .cost = adam_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = adam_reference },
		[BACKEND_CPU] = { .layouts = KL_SAME, .run = adam_cpu },
	},
	.samples = adam_samples,
};

static const struct op op_accumulate = {
	.name = "accumulate",
	.doc = "sum over micro-batches: (acc, g, index) -> g if the index is 0, else acc + g",
	.flags = OP_UPDATE,
	.min_in = 3, .max_in = 3, .nout = 1,
	.shape = accumulate_shape, .cost = accumulate_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = accumulate_reference },
		[BACKEND_CPU] = { .layouts = KL_SAME, .run = accumulate_cpu },
	},
	.samples = accumulate_samples,
};

static const struct op op_ema_update = {
	.name = "ema_update",
	.doc = "exponential moving average: (running, x) -> (1 - momentum) running + momentum factor x",
	.flags = OP_UPDATE,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct ema_update_attr), .attrs = ema_update_fields,
	.shape = ema_update_shape, .cost = ema_update_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ema_update_reference },
		[BACKEND_CPU] = { .layouts = KL_SAME, .run = ema_update_cpu },
	},
	.samples = ema_update_samples,
};

OPSET(update, &op_sgd, &op_adam, &op_accumulate, &op_ema_update);
