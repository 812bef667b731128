/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Limits a step relative to the size of the weights that it changes (layer-wise adaptive rates):
 *
 *   norms        (s?, (a, b)...) -> ||a|| of each group, then ||s b + decay a|| of each
 *   trust_ratio  the factor of each gradient (or update) from the norms of its weights and its own:
 *
 *       r = eta ||w|| / (||g|| + decay ||w|| + eps)      one of the two decays is 0
 *       clip against the rate    min(max(r / lr, least), 1)    the rate comes to min(r, lr)
 *       clip against one         min(max(r, least), 1)
 *       scale                    max(r, least)
 *
 * See You, Gitman, Ginsburg: arXiv:1708.03888 (LARS), and their LARC, which every implementation
 * defines differently. With eta 1 and the update in place of g this is LAMB (You et al., ICLR
 * 2020). Tensors that count as one (`layer`) share the root of the sums of their squares. */
#include <limits.h>
#include <math.h>

#include "base/err.h"
#include "base/simd.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/update/bundle_cuda.h"
#include "op/update/trust.h"

/* --- attributes --- */

#define PER_GROUP(s, m, doc) FIELD_FLOATS(s, m, NULL, 0, 1e6, doc)

static const struct field norms_fields[] = {
	PER_GROUP(struct norms_attr, decay, "share of the first that is added to the second"),
	FIELD_END
};

static const struct field trust_ratio_fields[] = {
	FIELD_FLOAT(struct trust_ratio_attr, eta, "0.001", 1e-12, 1e6, "trust in a step"),
	FIELD_FLOAT(struct trust_ratio_attr, eps, "0", 0, 1e6, "added to the gradient's norm"),
	FIELD_FLOAT(struct trust_ratio_attr, least, "0", 0, 1e6, "smallest factor"),
	FIELD(struct trust_ratio_attr, zero, FT_FLOAT, .dflt = "1", .min = 0, .max = 1e6,
	      .flags = FIELD_NULLABLE,
	      .doc = "factor where a norm is 0; null: what the formula gives"),
	FIELD_BOOL(struct trust_ratio_attr, clip, "false", "no factor above 1"),
	FIELD_BOOL(struct trust_ratio_attr, by_rate, "false",
	           "the ratio counts against the learning rate"),
	PER_GROUP(struct trust_ratio_attr, decay, "share of ||w|| that is added to ||g||"),
	PER_GROUP(struct trust_ratio_attr, rate_factor, "factor of the learning rate"),
	FIELD_INTS(struct trust_ratio_attr, layer, NULL, -1, 1 << 24,
	           "which groups count as one; -1: the factor is 1"),
	FIELD_END
};

static const char *const norms_member[] = { "first tensor", "second tensor" };
static const struct bundle_form norms_form = { 1, 2, 0, norms_member, .gradient = 1 };

/* --- shape --- */

static int check_list(struct graph *g, const struct node *n, const char *key, int have, int groups)
{
	if (have <= 1 || have == groups)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "'%s' of '%s' has %d numbers for %d groups", key, n->op->name,
	           have, groups);
}

static int norms_shape(struct graph *g, struct node *n)
{
	const struct norms_attr *at = n->attr;
	int groups = bundle_groups(n, norms_form);
	struct shape s = { 2, { 2, groups } };
	TRY(bundle_check(g, n, norms_form));
	TRY(check_list(g, n, "decay", at->decay.n, groups));
	if (node_has(n, 0)) {
		TRY(node_want_float(g, n, 0, "scale"));
		TRY(node_want_scalar(g, n, 0, "scale"));
	}
	return graph_out(g, n, 0, DTYPE_F32, &s);
}

static int trust_ratio_shape(struct graph *g, struct node *n)
{
	const struct trust_ratio_attr *at = n->attr;
	const struct shape *in = node_in_shape(g, n, 0);
	struct shape s = { 1, { in->d[1] } };
	char text[SHAPE_TEXT];
	TRY(node_want_float(g, n, 0, "input"));
	if (in->nd != 2 || in->d[0] != 2)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' needs two norms for each group, not %s", n->op->name,
		           shape_text(in, text));
	TRY(node_want_float(g, n, 1, "learning rate"));
	TRY(node_want_scalar(g, n, 1, "learning rate"));
	TRY(check_list(g, n, "decay", at->decay.n, (int)in->d[1]));
	TRY(check_list(g, n, "rate_factor", at->rate_factor.n, (int)in->d[1]));
	if (at->layer.n && at->layer.n != in->d[1])
		return ERR(E_SHAPE, &g->cur_loc, "'layer' of '%s' has %d numbers for %d groups",
		           n->op->name, at->layer.n, (int)in->d[1]);
	return graph_out(g, n, 0, DTYPE_F32, &s);
}

/* --- cost --- */

static void norms_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	for (int i = 1; i < n->nin; i++)
		c->flops += 3 * (double)shape_count(node_in_shape(g, n, i));
}

/* --- layouts --- */

static int norms_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return bundle_choose(k, norms_form, in, out);
}

/* --- kernels: sums over pieces of fixed size, which one thread adds in order --- */

struct sums {
	double a, b;
};

static double each(const struct floats *v, int t, double absent)
{
	return v->n == 0 ? absent : v->v[v->n == 1 ? 0 : t];
}

static int norms_plan(struct kplan *k)
{
	TRY(bundle_plan(k, norms_form));
	k->ws_bytes = (size_t)bundle_pieces(k) * sizeof(struct sums);
	return 0;
}

/* w and g: norms; g includes the decay. */
static double ratio(const struct trust_ratio_attr *at, double w, double g, double rate)
{
	double r;
	if ((w == 0 || g == 0) && !isnan(at->zero))
		return at->zero;
	r = g + at->eps > 0 ? at->eta * w / (g + at->eps) : 1;
	if (at->clip && at->by_rate)
		r /= rate;
	r = r > at->least ? r : at->least;
	return at->clip && r > 1 ? 1 : r;
}

static bool same_layer(const struct trust_ratio_attr *at, int i, int t)
{
	return i == t || (at->layer.n && at->layer.v[i] == at->layer.v[t]);
}

#define real double
#define NAME(kernel) kernel##_reference
#define CLONES(type, name, params, args) static type name params
#include "op/update/trust_body.h"

#define real float
#define NAME(kernel) kernel##_cpu
#define CLONES SIMD_CLONES
#include "op/update/trust_body.h"

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
static int norms_cuda_plan(struct kplan *k)
{
	TRY(bundle_cuda_plan(k, norms_form));
	k->ws_bytes = (size_t)bundle_cuda_blocks(k) * sizeof(struct sums);
	return 0;
}

static bool norms_takes_narrow(const struct node *n, int i)
{
	return bundle_is_gradient(n, norms_form, i);
}

static void norms_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                       int row, int t)
{
	const struct norms_attr *at = k->n->attr;
	table->p[0][row] = a->in[1 + 2 * t];
	table->p[1][row] = a->in[2 + 2 * t];
	table->decay[row] = (float)each(&at->decay, t, 0);
}

static int norms_launch(const struct kplan *k, const struct kargs *a, const struct k_table *table,
                        int group, int64_t block)
{
	double *part = (double *)a->ws + 2 * block;
	float *out = (float *)a->out[0] + group;
	TRY(cuda_launched(k, k_bundle_parts(cuda_stream(k->dev), K_NORMS, table, a->in[0], part)));
	return cuda_launched(k, k_bundle_norms(cuda_stream(k->dev), table, part, out,
	                                       out + bundle_groups(k->n, norms_form)));
}

static int norms_cuda(const struct kplan *k, const struct kargs *a)
{
	return bundle_cuda_run(k, a, &(struct bundle_launch){ norms_fill, norms_launch });
}

static int keep_list(struct kplan *k, const struct floats *v, int n, double absent,
                     const double **out)
{
	double *all = ARENA_ARRAY(k->arena, double, n);
	void *kept;
	for (int t = 0; t < n; t++)
		all[t] = each(v, t, absent);
	TRY(cuda_keep(k, all, sizeof *all * (size_t)n, &kept));
	*out = kept;
	return 0;
}

static int trust_ratio_cuda_plan(struct kplan *k)
{
	const struct trust_ratio_attr *at = k->n->attr;
	const int n = (int)node_in_shape(k->g, k->n, 0)->d[1];
	int32_t *layer = ARENA_ARRAY(k->arena, int32_t, n);
	struct k_trust *s = k->state = ARENA_NEW(k->arena, struct k_trust);
	void *kept;
	*s = (struct k_trust){ .n = n, .clip = at->clip, .by_rate = at->by_rate, .eta = at->eta,
		.eps = at->eps,
		.least = at->least, .zero = at->zero };
	TRY(keep_list(k, &at->decay, n, 0, &s->decay));
	TRY(keep_list(k, &at->rate_factor, n, 1, &s->rate_factor));
	if (!at->layer.n)
		return 0;
	for (int t = 0; t < n; t++)
		layer[t] = (int32_t)at->layer.v[t];
	TRY(cuda_keep(k, layer, sizeof *layer * (size_t)n, &kept));
	s->layer = kept;
	return 0;
}

static int trust_ratio_cuda(const struct kplan *k, const struct kargs *a)
{
	return cuda_launched(k, k_trust_ratio(cuda_stream(k->dev), k->state, a->in[0], a->in[1],
	                                      a->out[0]));
}
#endif

/* --- samples --- */

static const char *const norms_samples[] = {
	"- 3x5 3x5", "s:positive 4x2x3x3 4x2x3x3 7 7; decay: [0.1, 0]",
	"- s s 151x173 151x173; decay: 0.5", NULL
};
static const char *const trust_ratio_samples[] = {
	"2x3:positive s:positive", "2x4:positive s:positive; eta: 2, clip: true, by_rate: true",
	"2x4:positive s:positive; eta: 0.5, clip: true, decay: [0.1, 0, 0.2, 0.3], eps: 0.01",
	"2x5:positive s:positive; layer: [0, 1, 0, -1, 1], rate_factor: 0.5, clip: true, by_rate: true",
	"2x3:zero s:positive", "2x3:zero s:positive; zero: null, least: 0.25, eps: 1e-7", NULL
};

/* --- records --- */

static const struct op op_norms = {
	.name = "norms",
	.doc = "(scale?, (a, b)...) -> ||a|| and ||scale b + decay a|| of each group",
	.flags = OP_NOGRAD,
	.min_in = 0, .max_in = INT_MAX, .nout = 1,
	.attr_size = sizeof(struct norms_attr), .attrs = norms_fields,
	.shape = norms_shape, .cost = norms_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = norms_plan, .run = norms_reference),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = norms_choose, .plan = norms_plan,
		                  .run = norms_cpu },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = norms_choose, .plan = norms_cuda_plan,
		            .run = norms_cuda, .takes_narrow = norms_takes_narrow)
	},
	.samples = norms_samples,
};

static const struct op op_trust_ratio = {
	.name = "trust_ratio",
	.doc = "(norms of weights and gradients, learning rate) -> factor of each "
	       "gradient (LARS, LARC, LAMB)",
	.flags = OP_NOGRAD,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct trust_ratio_attr), .attrs = trust_ratio_fields,
	.shape = trust_ratio_shape,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = trust_ratio_reference),
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .run = trust_ratio_cpu },
		CUDA_KERNEL(.layouts = KL_PLAIN, .plan = trust_ratio_cuda_plan, .run = trust_ratio_cuda)
	},
	.samples = trust_ratio_samples,
};

OPSET(trust, &op_norms, &op_trust_ratio);
