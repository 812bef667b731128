/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combines the mean losses of many batches: a step's micro-batches, on all ranks. A batch's loss is
 * a mean over a weight w (elements that count, times class weights), so the step's is sum w loss /
 * sum w, and its gradient sum w g / sum w. Therefore the gradient of a batch is computed from the
 * loss times
 *
 *   seed    share scale w / nominal
 *
 * before the sum of all weights is known, and multiplied by
 *
 *   factor  nominal' / (scale sum of w)
 *
 * in the update. `nominal`, the planned weight of a batch, keeps the magnitudes near those of one
 * batch, for the range of 16-bit types; nominal' is nominal times the divisor that the all-reduce
 * applied to the sum. The share is 1, or 0 for a rank that computed a batch only to stay in step
 * with the others. If the loss is a sum over the batch, there is no weight: the seed is share
 * scale, the factor nominal' / scale with a nominal of 1.
 *
 *   mean_terms    adds share (w loss, w) and the rank's votes to the step's terms; index 0 starts
 *                 anew. The votes (to stop, to save) have nothing to do with the mean: they
 *                 travel with its terms so that all ranks get them
 *   mean_seed     as above
 *   mean_factor   as above; 0 if nothing counts
 *   mean_lag      for updates that are one step late: the factor of the step before, whether there
 *                 was one, and the updates made before this one */
#include "op/loss/mean.h"

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/update/bundle_cuda.h"

/* --- attributes --- */

static const struct field fields[] = {
	FIELD_FLOAT(struct mean_attr, nominal, "1", 1e-30, 1e30, "weight of a batch as planned"),
	FIELD_BOOL(struct mean_attr, sum, "false", "the loss is a sum over the batch"),
	FIELD_END
};

/* --- shape --- */

static int want_vector(struct graph *g, const struct node *n, int i, int length, const char *what)
{
	const struct shape *s = node_in_shape(g, n, i);
	TRY(node_want_float(g, n, i, what));
	if (s->nd == 1 && s->d[0] == length)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "the %s of '%s' must have %d numbers", what, n->op->name,
	           length);
}

static int want_number(struct graph *g, const struct node *n, int i, const char *what)
{
	if (!node_has(n, i))
		return 0;
	TRY(node_want_float(g, n, i, what));
	return node_want_scalar(g, n, i, what);
}

static int want_whole(struct graph *g, const struct node *n, int i, const char *what)
{
	enum dtype t;
	if (!node_has(n, i))
		return 0;
	t = graph_t(g, n->in[i])->dtype;
	if (t != DTYPE_I64 && t != DTYPE_I32)
		return ERR(E_SHAPE, &g->cur_loc, "the %s of '%s' must be an integer, but is %s", what,
		           n->op->name, dtype_name(t));
	return node_want_scalar(g, n, i, what);
}

enum { TERMS_STATE, TERMS_LOSS, TERMS_WEIGHT, TERMS_SHARE, TERMS_VOTES, TERMS_INDEX };

static int terms_shape(struct graph *g, struct node *n)
{
	TRY(want_vector(g, n, TERMS_STATE, MEAN_TERMS, "terms"));
	TRY(want_number(g, n, TERMS_LOSS, "loss"));
	TRY(want_number(g, n, TERMS_WEIGHT, "weight"));
	TRY(want_number(g, n, TERMS_SHARE, "share"));
	TRY(want_vector(g, n, TERMS_VOTES, MEAN_VOTES, "votes"));
	TRY(want_whole(g, n, TERMS_INDEX, "index"));
	return graph_out_alias(g, n, 0, TERMS_STATE);
}

static int seed_shape(struct graph *g, struct node *n)
{
	const struct shape scalar = { 0 };
	TRY(want_number(g, n, 0, "weight"));
	TRY(want_number(g, n, 1, "share"));
	TRY(want_number(g, n, 2, "scale"));
	return graph_out(g, n, 0, DTYPE_F32, &scalar);
}

static int factor_shape(struct graph *g, struct node *n)
{
	const struct shape scalar = { 0 };
	TRY(want_vector(g, n, 0, MEAN_TERMS, "terms"));
	TRY(want_number(g, n, 1, "inverse scale"));
	return graph_out(g, n, 0, DTYPE_F32, &scalar);
}

static int lag_shape(struct graph *g, struct node *n)
{
	const struct shape scalar = { 0 };
	TRY(want_vector(g, n, 0, 2, "state"));
	TRY(want_number(g, n, 1, "factor"));
	TRY(want_whole(g, n, 2, "step"));
	TRY(graph_out_alias(g, n, 0, 0));
	TRY(graph_out(g, n, 1, DTYPE_F32, &scalar));
	TRY(graph_out(g, n, 2, DTYPE_F32, &scalar));
	return graph_out(g, n, 3, DTYPE_I64, &scalar);
}

/* --- kernels: a few numbers, in double and in float --- */

static int64_t whole(const struct kplan *k, const struct kargs *a, int i)
{
	return graph_t(k->g, k->n->in[i])->dtype == DTYPE_I32 ? *(const int32_t *)a->in[i]
	                                                      : *(const int64_t *)a->in[i];
}

#define real double
#define NAME(kernel) reference_##kernel
#include "op/loss/mean_body.h"

#define real float
#define NAME(kernel) cpu_##kernel
#include "op/loss/mean_body.h"

#ifdef HAVE_CUDA
static int terms_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct mean_attr *at = k->n->attr;
	bool index = node_has(k->n, TERMS_INDEX);
	return cuda_launched(k, k_mean_terms(cuda_stream(k->dev), at->sum, a->in[TERMS_LOSS],
	                                     a->in[TERMS_WEIGHT], a->in[TERMS_SHARE],
	                                     a->in[TERMS_VOTES], kargs_in(k, a, TERMS_INDEX), index &&
	                                     cuda_wide(k, TERMS_INDEX), a->out[0]));
}

static int seed_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct mean_attr *at = k->n->attr;
	return cuda_launched(k, k_mean_seed(cuda_stream(k->dev), at->sum, (float)at->nominal, a->in[0],
	                                    a->in[1], kargs_in(k, a, 2), a->out[0]));
}

static int factor_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct mean_attr *at = k->n->attr;
	return cuda_launched(k, k_mean_factor(cuda_stream(k->dev), at->sum, (float)at->nominal,
	                                      a->in[0], kargs_in(k, a, 1), a->out[0]));
}

static int lag_cuda(const struct kplan *k, const struct kargs *a)
{
	return cuda_launched(k, k_mean_lag(cuda_stream(k->dev), a->in[1], a->in[2], cuda_wide(k, 2),
	                                   a->out[0], a->out[1], a->out[2], a->out[3]));
}
#endif

/* --- samples --- */

static const char *const terms_samples[] = {
	"4@ s s:positive s:one 2:zero", "4@ s s:positive s:one 2:one s:index9",
	"4@ s s:positive s:zero 2:zero", "4@ s s:positive s:one 2:zero s:index1; sum: true, nominal: 4",
	NULL
};
static const char *const seed_samples[] = {
	"s:positive s:one; nominal: 3", "s:positive s:one s:positive; nominal: 0.3",
	"s:positive s:one s; sum: true", NULL
};
static const char *const factor_samples[] = {
	"4:positive; nominal: 3", "4:positive s:positive; nominal: 0.3", "4:zero",
	"4:positive s; sum: true", NULL
};
static const char *const lag_samples[] = { "2@ s s:index9", "2:zero@ s s:index1", NULL };

/* --- records --- */

#define KERNELS(name)                                                                    \
	.kernel = {                                                                          \
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = reference_##name),              \
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .run = cpu_##name },                      \
		CUDA_KERNEL(.layouts = KL_PLAIN, .run = name##_cuda)                             \
	}

static const struct op op_terms = {
	.name = "mean_terms",
	.doc = "(terms, loss, weight, share, votes, index) -> terms + (share weight "
	       "loss, share weight, votes)",
	.flags = OP_UPDATE, .min_in = 5, .max_in = 6, .nout = 1,
	.attr_size = sizeof(struct mean_attr), .attrs = fields,
	.shape = terms_shape, KERNELS(terms), .samples = terms_samples,
};

static const struct op op_seed = {
	.name = "mean_seed",
	.doc = "(weight, share, scale) -> share scale weight / nominal: what "
	       "the gradient of the loss is",
	.flags = OP_NOGRAD, .min_in = 2, .max_in = 3, .nout = 1,
	.attr_size = sizeof(struct mean_attr), .attrs = fields,
	.shape = seed_shape, KERNELS(seed), .samples = seed_samples,
};

static const struct op op_factor = {
	.name = "mean_factor",
	.doc = "(terms, 1 / scale) -> nominal / (scale weight): what sums of "
	       "gradients are multiplied by",
	.flags = OP_NOGRAD, .min_in = 1, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct mean_attr), .attrs = fields,
	.shape = factor_shape, KERNELS(factor), .samples = factor_samples,
};

static const struct op op_lag = {
	.name = "mean_lag",
	.doc = "(state, factor, step) -> state', the factor before, 1 if there was one, updates made",
	.flags = OP_UPDATE, .min_in = 3, .max_in = 3, .nout = 4,
	.shape = lag_shape, KERNELS(lag), .samples = lag_samples,
};

OPSET(mean, &op_terms, &op_seed, &op_factor, &op_lag);
