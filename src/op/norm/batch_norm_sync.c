/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation by the batches of several ranks, a team (made by the pass `statistics`). Mean
 * and variance are those of all batches together, and so is what comes back through them: with S
 * the sum over the team and n its values,
 *
 *   dx = gamma rstd (dz - S dz / n - xhat S(dz xhat) / n) [+ addend]
 *
 * dgamma and dbeta stay this rank's part: like all gradients of parameters they are summed later.
 * Each node waits for the team once, for one message. The input `share` is 0 where the rank's batch
 * does not count: then it is no part of the statistics, and dx = gamma rstd dz. What is run again
 * in the backward part is batch_norm_again, by the saved statistics.
 *
 * The variance is such that n / (n - 1) times it, with the
 * n of this rank's batch, is that of a sample of all. */
#include "base/err.h"
#include "comm/reducer.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/norm/norm.h"

struct sync_norm {
	double eps, slope;
	int64_t group;
};

#define FIELD_EPS FIELD_FLOAT(struct sync_norm, eps, "1e-5", 1e-12, 1, "added to the variance before the root")
#define FIELD_SLOPE FIELD_FLOAT(struct sync_norm, slope, "0", 0, 1e6, "factor for negative values")
#define FIELD_GROUP FIELD_INT(struct sync_norm, group, "0", 0, INT32_MAX, "group of the statistics' reducer")

static const struct field fields[] = { FIELD_EPS, FIELD_GROUP, FIELD_END };
static const struct field relu_fields[] = { FIELD_EPS, FIELD_SLOPE, FIELD_GROUP, FIELD_END };
static const struct field grad_fields[] = { FIELD_GROUP, FIELD_END };
static const struct field relu_grad_fields[] = { FIELD_SLOPE, FIELD_GROUP, FIELD_END };

/* --- shape --- */

/* Which inputs and outputs are of x's shape. */
enum {
	X = 1,
	RESIDUAL = 1 << 3,                                   /* forward */
	DY = 2, ADDEND = 1 << 5, RELU_ADDEND = 1 << 6,       /* backward */
	Y = 1 << 5, SECOND = 1 << 6, MASKED = 1 << 3         /* backward with a residual */
};

/* The share is the last input; the others are as of the norms of one rank. */
static int team_shape(struct graph *g, struct node *n, unsigned like_in, unsigned like_out)
{
	if (n->nin != n->op->max_in || n->in[n->nin - 1] == NONE)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' needs a share as its last input", n->op->name);
	TRY(node_want_float(g, n, n->nin - 1, "share"));
	TRY(node_want_scalar(g, n, n->nin - 1, "share"));
	n->nin--;
	int rc = norm_shape(g, n, like_in, like_out);
	n->nin++;
	return rc;
}

static int shape(struct graph *g, struct node *n)
{
	return team_shape(g, n, X | RESIDUAL, X);
}

static int grad_shape(struct graph *g, struct node *n)
{
	return team_shape(g, n, X | DY | ADDEND, X);
}

static int relu_grad_shape(struct graph *g, struct node *n)
{
	return team_shape(g, n, X | DY | RELU_ADDEND, X);
}

static int add_grad_shape(struct graph *g, struct node *n)
{
	return team_shape(g, n, X | DY | Y | SECOND, X | MASKED);
}

/* --- once more --- */

static int again(struct graph *g, const struct node *n, const tid *in, tid *out)
{
	if (n->out[1] == NONE || n->out[2] == NONE)
		return 0;
	tid read[] = { in[0], in[1], in[2], n->out[1], n->out[2] };
	return graph_emit1(g, "batch_norm_again", NULL, 5, read, out);
}

static int relu_again(struct graph *g, const struct node *n, const tid *in, tid *out)
{
	const struct sync_norm *at = n->attr;
	if (n->out[1] == NONE || n->out[2] == NONE)
		return 0;
	tid read[] = { in[0], in[1], in[2], n->out[1], n->out[2], in[3] };
	return graph_emit1(g, "batch_norm_relu_again", &at->slope, in[3] == NONE ? 5 : 6, read, out);
}

/* --- kernels --- */

static const struct sync_norm *attr(const struct kplan *k)
{
	return k->n->attr;
}

static struct norm_team team_of(const struct kplan *k, const struct kargs *a)
{
	const void *share = a->in[k->n->nin - 1];
	bool wide = graph_t(k->g, k->n->in[k->n->nin - 1])->dtype == DTYPE_F64;
	return (struct norm_team){ a->sums ? a->sums->statistics : NULL, (int)attr(k)->group,
		(wide ? *(const double *)share : *(const float *)share) != 0 };
}

static struct norm_act act_of(const struct kplan *k)
{
	return (struct norm_act){ k->n->op->attrs == relu_fields || k->n->op->attrs == relu_grad_fields, attr(k)->slope };
}

static const struct norm_grad places = {
	.x = 0, .dy = 1, .gamma = 2, .mean = 3, .rstd = 4, .addend = 5,
	.beta = -1, .y = -1, .second = -1, .masked = -1
};
static const struct norm_grad relu_places = {
	.x = 0, .dy = 1, .gamma = 2, .beta = 3, .mean = 4, .rstd = 5, .addend = 6,
	.y = -1, .second = -1, .masked = -1
};
static const struct norm_grad add_places = {
	.x = 0, .dy = 1, .gamma = 2, .mean = 3, .rstd = 4, .y = 5, .second = 6,
	.beta = -1, .addend = -1, .masked = 3
};

static int reference_plan(struct kplan *k)
{
	k->ws_bytes = 2 * (size_t)node_in_shape(k->g, k->n, 0)->d[1] * sizeof(double);
	return 0;
}

static int reference(const struct kplan *k, const struct kargs *a)
{
	struct norm_team t = team_of(k, a);
	return norm_team_forward_reference(k, a, attr(k)->eps, act_of(k), &t);
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	struct norm_team t = team_of(k, a);
	return norm_team_forward_cpu(k, a, attr(k)->eps, act_of(k), &t);
}

#define GRADIENT(id)                                                                      \
	static int id##grad_reference(const struct kplan *k, const struct kargs *a)       \
	{                                                                                 \
		struct norm_team t = team_of(k, a);                                       \
		struct norm_grad at = id##places;                                         \
		at.f = act_of(k);                                                         \
		return norm_team_grad_reference(k, a, &at, &t);                           \
	}                                                                                 \
	static int id##grad_cpu(const struct kplan *k, const struct kargs *a)             \
	{                                                                                 \
		struct norm_team t = team_of(k, a);                                       \
		struct norm_grad at = id##places;                                         \
		at.f = act_of(k);                                                         \
		return norm_team_grad_cpu(k, a, &at, &t);                                 \
	}
GRADIENT()
GRADIENT(relu_)
GRADIENT(add_)

#ifdef HAVE_CUDA
static const float *share_of(const struct kplan *k, const struct kargs *a)
{
	return a->in[k->n->nin - 1];
}

static int cuda(const struct kplan *k, const struct kargs *a)
{
	return norm_team_forward_cuda(k, a, attr(k)->eps, act_of(k), (int)attr(k)->group, share_of(k, a));
}

#define GRADIENT_CUDA(id)                                                                 \
	static int id##grad_cuda(const struct kplan *k, const struct kargs *a)            \
	{                                                                                 \
		struct norm_grad at = id##places;                                         \
		at.f = act_of(k);                                                         \
		return norm_team_grad_cuda(k, a, &at, (int)attr(k)->group, share_of(k, a)); \
	}
GRADIENT_CUDA()
GRADIENT_CUDA(relu_)
GRADIENT_CUDA(add_)
#endif

/* --- samples: one rank alone --- */

static const char *const samples[] = {
	"2x3x5x7 3:positive 3 - s:one", "3x17x3x5 17 17 - s:one; eps: 0.001", "7x5 5 5:positive - s:zero",
	"2x48x21x23 48:positive 48 - s:one", "1x5 5 5 - s:one", NULL
};
static const char *const relu_samples[] = {
	"2x3x5x7 3:positive 3 - s:one", "3x17x3x5 17 17 - s:one; eps: 0.001, slope: 0.3",
	"2x48x21x23 48:positive 48 - s:zero", "3x17x3x5 17 17 3x17x3x5 s:one; slope: 0.3",
	"2x48x21x23 48:positive 48 2x48x21x23 s:one", NULL
};
static const char *const grad_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3:positive - s:one", "2x17x3x3x5 2x17x3x3x5 17 17 17:positive - s:zero",
	"2x48x21x23 2x48x21x23 48 48 48:positive 2x48x21x23 s:one", NULL
};
static const char *const relu_grad_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3 3:positive - s:one",
	"2x17x3x3x5 2x17x3x3x5 17 17 17 17:positive - s:zero; slope: 0.3",
	"2x48x21x23 2x48x21x23 48 48 48 48:positive 2x48x21x23 s:one", NULL
};
static const char *const add_grad_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3:positive 2x3x5x7 - s:one",
	"9x5 9x5 5 5 5:positive 9x5 9x5 s:zero; slope: 0.3",
	"2x48x21x23 2x48x21x23 48 48 48:positive 2x48x21x23 2x48x21x23 s:one", NULL
};

/* --- records --- */

#define KERNELS(id, in, out)                                                              \
	.kernel = {                                                                       \
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = reference_plan,      \
		                        .run = id##reference },                           \
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = id##cpu, \
		                  .slice_in = in, .slice_out = out,                       \
		                  .bf16_in = in, .bf16_out = out, .bf16 = KB_ALIKE },     \
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = norm_cuda_plan, .run = id##cuda, \
		            .slice_in = in, .slice_out = out,                             \
		            .bf16_in = in, .bf16_out = out, .bf16 = KB_ALIKE)             \
	}

static const struct op op_sync_batch_norm = {
	.name = "sync_batch_norm",
	.doc = "batch_norm by the batches of several ranks",
	.flags = OP_ONCE | OP_MEET,
	.min_in = 3, .max_in = 5, .nout = 4,
	.attr_size = sizeof(struct sync_norm), .attrs = fields,
	.inplace = X,
	.shape = shape, .again = again, .cost = norm_cost,
	KERNELS(, X, X),
	.samples = samples,
};

static const struct op op_sync_batch_norm_relu = {
	.name = "sync_batch_norm_relu",
	.doc = "batch_norm_relu by the batches of several ranks",
	.flags = OP_ONCE | OP_MEET,
	.min_in = 3, .max_in = 5, .nout = 4,
	.attr_size = sizeof(struct sync_norm), .attrs = relu_fields,
	.inplace = X | RESIDUAL,
	.shape = shape, .again = relu_again, .cost = norm_cost,
	KERNELS(, X | RESIDUAL, X),
	.samples = relu_samples,
};

static const struct op op_sync_batch_norm_grad = {
	.name = "sync_batch_norm_grad",
	.doc = "gradients of sync_batch_norm for x, gamma and beta",
	.flags = OP_ONCE | OP_MEET,
	.min_in = 5, .max_in = 7, .nout = 3,
	.attr_size = sizeof(struct sync_norm), .attrs = grad_fields,
	.inplace = X | DY | ADDEND,
	.shape = grad_shape, .cost = norm_cost,
	KERNELS(grad_, X | DY | ADDEND, X),
	.samples = grad_samples,
};

static const struct op op_sync_batch_norm_relu_grad = {
	.name = "sync_batch_norm_relu_grad",
	.doc = "gradients of sync_batch_norm_relu for x, gamma and beta",
	.flags = OP_ONCE | OP_MEET,
	.min_in = 6, .max_in = 8, .nout = 3,
	.attr_size = sizeof(struct sync_norm), .attrs = relu_grad_fields,
	.inplace = X | DY | RELU_ADDEND,
	.shape = relu_grad_shape, .cost = norm_cost,
	KERNELS(relu_grad_, X | DY | RELU_ADDEND, X),
	.samples = relu_grad_samples,
};

static const struct op op_sync_batch_norm_add_relu_grad = {
	.name = "sync_batch_norm_add_relu_grad",
	.doc = "gradients of sync_batch_norm_relu with a residual for x, gamma, beta and the residual",
	.flags = OP_ONCE | OP_MEET,
	.min_in = 6, .max_in = 8, .nout = 4,
	.attr_size = sizeof(struct sync_norm), .attrs = relu_grad_fields,
	.inplace = X | DY | SECOND,
	.shape = add_grad_shape, .cost = norm_cost,
	KERNELS(add_grad_, X | DY | Y | SECOND, X | MASKED),
	.samples = add_grad_samples,
};

OPSET(batch_norm_sync, &op_sync_batch_norm, &op_sync_batch_norm_relu, &op_sync_batch_norm_grad,
      &op_sync_batch_norm_relu_grad, &op_sync_batch_norm_add_relu_grad);
