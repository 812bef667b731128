/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation (Ioffe and Szegedy, 2015) over every axis but channels, with an optional
 * epilogue:
 *   y = f(z),   z = gamma (x - mean) rstd + beta [+ residual],   rstd = 1 / sqrt(variance + eps)
 * with the biased variance (divided by n) of the batch. f(z) is z above zero and slope * z below;
 * slope 1 means no activation, and 0 is ReLU (the pass `fuse` sets the slope and the residual).
 * With dz = f'(z) dy and xhat = (x - mean) rstd the gradients are
 *   dbeta = sum dz,   dgamma = sum dz xhat,
 *   dx = gamma rstd (dz - dbeta / n - xhat dgamma / n) [+ addend].
 * The addend is another gradient of x; the sum may overwrite it. With a residual, dz is the
 * residual's gradient and an output, the sign of z is read from y, and dy may be given as two
 * addends. On GPUs the signs of y are stored as bits (pass/signs.c): batch_norm_signs outputs them,
 * and batch_norm_grad_signs reads them instead of y. Without a residual the sign of z is recomputed
 * from x, so that neither z nor y need be kept. Each element's arithmetic is that of separate ops.
 *
 * A node with a `group` (set by the pass `statistics`) normalises over the batches of several
 * ranks. Mean and variance are those of all these batches, and so are n and both sums in dx. dgamma
 * and dbeta are this rank's part, and are summed later like all gradients of parameters. Each node
 * waits for the group once, for one message. The input `share` is 0 if the rank's batch does not
 * count: then the statistics do not include it, and dx = gamma rstd dz. The variance is scaled so
 * that n / (n - 1) times it, with the n of this rank's batch, is the sample variance of all
 * batches. */
#include "base/err.h"
#include "comm/reducer.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/norm/norm.h"

static const struct field fields[] = { NORM_EPS, NORM_SLOPE, NORM_GROUP, FIELD_END };
static const struct field grad_fields[] = { NORM_SLOPE, NORM_GROUP, FIELD_END };

/* Operands with the shape of x, as bits of a mask; other operands (_AT) by their index. */
enum {
	X = 1,
	RESIDUAL = 1 << 3, SHARE_AT = 4,                                    /* forward */
	DY = 2, ADDEND = 1 << 6, Y = 1 << 7, SECOND = 1 << 8, MASKED = 1 << 3, /* backward */
	BETA_AT = 5, Y_AT = 7, SECOND_AT = 8, GRAD_SHARE_AT = 9,
};

static const struct norm_attr *attr_of(const struct node *n)
{
	return n->attr;
}

static bool has(const struct node *n, int i)
{
	return i < n->nin && n->in[i] != NONE;
}

/* --- shape --- */

/* A node with a group has a share, which is its last input. */
static int sync_shape(struct graph *g, struct node *n, int share, unsigned like_in,
                      unsigned like_out, int nout)
{
	const bool synced = attr_of(n)->group >= 0;
	if (synced != has(n, share))
		return ERR(E_SHAPE, &g->cur_loc,
		           "'%s' has a share as input %d if and only if it has a group",
		           n->op->name, share);
	if (synced) {
		TRY(node_want_float(g, n, share, "share"));
		TRY(node_want_scalar(g, n, share, "share"));
	}
	n->nin -= synced;
	int rc = norm_shape(g, n, like_in, like_out, nout);
	n->nin += synced;
	return rc;
}

static int shape(struct graph *g, struct node *n)
{
	TRY(sync_shape(g, n, SHARE_AT, X | RESIDUAL, X, 4));
	return attr_of(n)->group >= 0 || attr_of(n)->cut ? 0 : norm_check_batch(g, n);
}

static int signs_shape(struct graph *g, struct node *n)
{
	TRY(shape(g, n));
	return norm_signs_shape(g, n);
}

static int grad_shape(struct graph *g, struct node *n)
{
	if (attr_of(n)->slope != 1 && !has(n, BETA_AT) && !has(n, Y_AT))
		return ERR(E_SHAPE, &g->cur_loc, "'%s' with a slope needs beta or y, for the sign",
		           n->op->name);
	return sync_shape(g, n, GRAD_SHARE_AT, X | DY | ADDEND | Y | SECOND, X | MASKED,
	                  has(n, Y_AT) ? 4 : 3);
}

static int grad_signs_shape(struct graph *g, struct node *n)
{
	TRY(norm_signs_check(g, n, Y_AT));
	const tid signs = n->in[Y_AT];
	n->in[Y_AT] = NONE;
	int rc = sync_shape(g, n, GRAD_SHARE_AT, X | DY | ADDEND | SECOND, X | MASKED, 4);
	n->in[Y_AT] = signs;
	return rc;
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const bool residual = has(n, 3), signs = !residual && attr_of(n)->slope != 1;
	const tid share = has(n, SHARE_AT) ? n->in[SHARE_AT] : NONE;
	for (int i = 1; i < n->nout; i++)
		if (dy[i] != NONE)
			return ERR(E_UNSUPPORTED, &n->loc,
			           "layer '%s': the batch statistics of '%s' have no gradient rule",
			           check_layer(n), n->op->name);
	if (dy[0] == NONE)
		return 0;
	const tid in[] = { n->in[0], dy[0], n->in[1], n->out[1], n->out[2], signs ? n->in[2] : NONE,
		NONE, residual ? n->out[0] : NONE, NONE, share };
	int nin = GRAD_SHARE_AT + 1;
	while (in[nin - 1] == NONE)
		nin--;
	return graph_emit(g, "batch_norm_grad", n->attr, nin, in, residual ? 4 : 3, dx);
}

static int recompute(struct graph *g, const struct node *n, const tid *in, tid *out)
{
	const struct norm_attr at = { .slope = attr_of(n)->slope };
	if (n->out[1] == NONE || n->out[2] == NONE)
		return 0;
	const tid read[] = { in[0], in[1], in[2], n->out[1], n->out[2], has(n, 3) ? in[3] : NONE };
	return graph_emit1(g, "batch_norm_apply", &at, has(n, 3) ? 6 : 5, read, out);
}

/* --- kernels --- */

/* A node with a residual uses the activated form; there a slope of 1 has no effect. */
static struct norm_act act_of(const struct kplan *k, int residual)
{
	const double slope = attr_of(k->n)->slope;
	return (struct norm_act){ slope != 1 || has(k->n, residual), slope };
}

/* Fills *sync for the ranks of the node's group and returns it; NULL: this rank only. */
static const struct norm_sync *sync_of(const struct kplan *k, const struct kargs *a, int share,
                                       struct norm_sync *sync)
{
	if (attr_of(k->n)->group < 0)
		return NULL;
	const bool wide = graph_t(k->g, k->n->in[share])->dtype == DTYPE_F64;
	const bool counts = (wide ? *(const double *)a->in[share] : *(const float *)a->in[share]) != 0;
	*sync = (struct norm_sync){ a->sums ? a->sums->statistics : NULL, (int)attr_of(k->n)->group,
		counts };
	return sync;
}

static int reference_plan(struct kplan *k)
{
	if (attr_of(k->n)->group >= 0)
		k->ws_bytes = 2 * (size_t)node_in_shape(k->g, k->n, 0)->d[1] * sizeof(double);
	return 0;
}

static int reference(const struct kplan *k, const struct kargs *a)
{
	struct norm_sync t;
	return norm_sync_forward_reference(k, a, attr_of(k->n)->eps, act_of(k, 3),
	                            sync_of(k, a, SHARE_AT, &t));
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	struct norm_sync t;
	return norm_sync_forward_cpu(k, a, attr_of(k->n)->eps, act_of(k, 3),
	                            sync_of(k, a, SHARE_AT, &t));
}

static struct norm_grad places(const struct kplan *k)
{
	const bool residual = has(k->n, Y_AT);
	return (struct norm_grad){
		.x = 0, .dy = 1, .gamma = 2, .mean = 3, .rstd = 4, .beta = BETA_AT, .addend = 6,
		.y = residual ? Y_AT : -1,
		.signs = residual && graph_t(k->g, k->n->in[Y_AT])->dtype == DTYPE_U8,
		.second = residual ? SECOND_AT : -1, .masked = residual ? 3 : -1,
		.f = act_of(k, Y_AT),
	};
}

static int grad_reference(const struct kplan *k, const struct kargs *a)
{
	const struct norm_grad at = places(k);
	struct norm_sync t;
	return norm_sync_grad_reference(k, a, &at, sync_of(k, a, GRAD_SHARE_AT, &t));
}

static int grad_cpu(const struct kplan *k, const struct kargs *a)
{
	const struct norm_grad at = places(k);
	struct norm_sync t;
	return norm_sync_grad_cpu(k, a, &at, sync_of(k, a, GRAD_SHARE_AT, &t));
}

#ifdef HAVE_CUDA
static int cuda(const struct kplan *k, const struct kargs *a)
{
	const struct norm_attr *at = attr_of(k->n);
	if (at->group < 0)
		return norm_forward_cuda(k, a, at->eps, act_of(k, 3));
	return norm_sync_forward_cuda(k, a, at->eps, act_of(k, 3), (int)at->group, a->in[SHARE_AT]);
}

static int grad_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct norm_grad at = places(k);
	const int64_t group = attr_of(k->n)->group;
	if (group < 0)
		return norm_grad_cuda(k, a, &at);
	return norm_sync_grad_cuda(k, a, &at, (int)group, a->in[GRAD_SHARE_AT]);
}
#endif

/* --- samples: a group here has one rank --- */

static const char *const samples[] = {
	"2x3x5x7 3:positive 3", "3x17x3x5 17 17; eps: 0.001", "2x1x4x3x5 1 1", "7x5 5 5:positive",
	"2x48x21x23 48:positive 48", "2x36x3x5 36:positive 36", "1x728x2x3 728:positive 728",
	"1x8x33x37 8:positive 8",
	/* activated */
	"1x12x33x37 12 12:positive; slope: 0.3",
	"2x3x5x7 3:positive 3; slope: 0", "3x17x3x5 17 17; eps: 0.001, slope: 0.3",
	"2x1x4x3x5 1 1; slope: 0", "7x5 5 5:positive; slope: 0.01",
	"2x48x21x23 48:positive 48; slope: 0", "2x3x5x7 3:positive 3 2x3x5x7; slope: 0",
	"3x17x3x5 17 17 3x17x3x5; slope: 0.3", "2x48x21x23 48:positive 48 2x48x21x23; slope: 0",
	"2x3x5x7 3:positive 3 2x3x5x7",
	/* with a group */
	"2x3x5x7 3:positive 3 - s:one; group: 0", "3x17x3x5 17 17 - s:one; eps: 0.001, group: 1",
	"7x5 5 5:positive - s:zero; group: 0", "2x48x21x23 48:positive 48 - s:one; group: 0",
	"2x3x5x7 3:positive 3 - s:one; slope: 0, group: 0",
	"3x17x3x5 17 17 - s:one; eps: 0.001, slope: 0.3, group: 0",
	"2x48x21x23 48:positive 48 - s:zero; slope: 0, group: 0",
	"3x17x3x5 17 17 3x17x3x5 s:one; slope: 0.3, group: 0",
	"2x48x21x23 48:positive 48 2x48x21x23 s:one; slope: 0, group: 0", NULL
};
static const char *const grad_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3:positive", "2x17x3x3x5 2x17x3x3x5 17 17 17:positive",
	"9x5 9x5 5 5 5:positive", "2x48x21x23 2x48x21x23 48 48 48:positive",
	"2x3x5x7 2x3x5x7 3 3 3:positive - 2x3x5x7",
	"2x48x21x23 2x48x21x23 48 48 48:positive - 2x48x21x23",
	/* activated; the sign comes from x */
	"2x3x5x7 2x3x5x7 3 3 3:positive 3; slope: 0",
	"2x17x3x3x5 2x17x3x3x5 17 17 17:positive 17; slope: 0.3",
	"9x5 9x5 5 5 5:positive 5 9x5; slope: 0",
	"2x48x21x23 2x48x21x23 48 48 48:positive 48 2x48x21x23; slope: 0",
	/* the sign comes from y */
	"2x3x5x7 2x3x5x7 3 3 3:positive - - 2x3x5x7; slope: 0",
	"2x17x3x3x5 2x17x3x3x5 17 17 17:positive - - 2x17x3x3x5; slope: 0.3",
	"9x5 9x5 5 5 5:positive - - 9x5 9x5; slope: 0",
	"2x48x21x23 2x48x21x23 48 48 48:positive - - 2x48x21x23 2x48x21x23; slope: 0",
	"2x1x4x3 2x1x4x3 1 1 1:positive - - 2x1x4x3 2x1x4x3; slope: 0",
	"3x12x7x5 3x12x7x5 12 12 12:positive - 3x12x7x5 3x12x7x5 3x12x7x5; slope: 0.3",
	"2x36x5x7 2x36x5x7 36 36 36:positive - - 2x36x5x7 2x36x5x7; slope: 0",
	"1x728x3x5 1x728x3x5 728 728 728:positive - - 1x728x3x5 1x728x3x5; slope: 0",
	/* few rows, which one kernel handles, and many */
	"1x16x6x7 1x16x6x7 16 16 16:positive 16 1x16x6x7; slope: 0",
	"2x24x5x7 2x24x5x7 24 24 24:positive - 2x24x5x7 2x24x5x7 2x24x5x7; slope: 0.3",
	"1x12x33x37 1x12x33x37 12 12 12:positive",
	"1x8x33x37 1x8x33x37 8 8 8:positive 8 1x8x33x37; slope: 0",
	"1x8x33x37 1x8x33x37 8 8 8:positive - - 1x8x33x37 1x8x33x37; slope: 0",
	/* with a group */
	"2x3x5x7 2x3x5x7 3 3 3:positive - - - - s:one; group: 0",
	"2x17x3x3x5 2x17x3x3x5 17 17 17:positive - - - - s:zero; group: 0",
	"2x48x21x23 2x48x21x23 48 48 48:positive - 2x48x21x23 - - s:one; group: 0",
	"2x3x5x7 2x3x5x7 3 3 3:positive 3 - - - s:one; slope: 0, group: 0",
	"2x17x3x3x5 2x17x3x3x5 17 17 17:positive 17 - - - s:zero; slope: 0.3, group: 0",
	"2x48x21x23 2x48x21x23 48 48 48:positive 48 2x48x21x23 - - s:one; slope: 0, group: 0",
	"2x3x5x7 2x3x5x7 3 3 3:positive - - 2x3x5x7 - s:one; slope: 0, group: 0",
	"9x5 9x5 5 5 5:positive - - 9x5 9x5 s:zero; slope: 0.3, group: 0",
	"2x48x21x23 2x48x21x23 48 48 48:positive - - 2x48x21x23 2x48x21x23 s:one; slope: 0, group: 0",
	NULL
};

static const char *const signs_samples[] = {
	"2x8x5x7 8:positive 8 2x8x5x7; slope: 0", "3x24x3x5 24 24 3x24x3x5; slope: 0.3",
	"7x16 16 16:positive 7x16; slope: 0", "2x48x21x23 48:positive 48 2x48x21x23; slope: 0",
	"1x728x2x3 728:positive 728 1x728x2x3; slope: 0", "2x8x1x4x3 8 8; slope: 0",
	"2x48x21x23 48:positive 48 2x48x21x23 s:one; slope: 0, group: 0", NULL
};
static const char *const grad_signs_samples[] = {
	"2x8x5x7 2x8x5x7 8 8 8:positive - - 2x1x5x7:u8; slope: 0",
	"2x24x3x3x5 2x24x3x3x5 24 24 24:positive - - 2x3x3x3x5:u8; slope: 0.3",
	"9x16 9x16 16 16 16:positive - - 9x2:u8 9x16; slope: 0",
	"2x48x21x23 2x48x21x23 48 48 48:positive - - 2x6x21x23:u8 2x48x21x23; slope: 0",
	"3x40x7x5 3x40x7x5 40 40 40:positive - 3x40x7x5 3x5x7x5:u8 3x40x7x5; slope: 0.3",
	"1x728x3x5 1x728x3x5 728 728 728:positive - - 1x91x3x5:u8; slope: 0",
	"2x40x5x7 2x40x5x7 40 40 40:positive - 2x40x5x7 2x5x5x7:u8 2x40x5x7; slope: 0.3",
	"1x8x33x37 1x8x33x37 8 8 8:positive - 1x8x33x37 1x1x33x37:u8; slope: 0",
	"2x48x21x23 2x48x21x23 48 48 48:positive - - 2x6x21x23:u8 2x48x21x23 s:one; slope: 0, group: 0",
	NULL
};

/* --- records --- */

static const struct op op_batch_norm = {
	.name = "batch_norm",
	.doc = "normalises channels by the batch's mean and variance, which it also "
	       "gives; may add and activate",
	.flags = OP_MEET,
	.min_in = 3, .max_in = 5, .nout = 4,
	.attr_size = sizeof(struct norm_attr), .attrs = fields,
	.nondiff = 1u << SHARE_AT, .inplace = X | RESIDUAL,
	.shape = shape, .grad = grad, .recompute = recompute, .cost = norm_cost,
	NORM_KERNELS(, reference_plan, X | RESIDUAL, X),
	.samples = samples,
};

static const struct op op_batch_norm_grad = {
	.name = "batch_norm_grad",
	.doc = "gradients of batch_norm for x, gamma, beta and a residual, by its statistics",
	.flags = OP_ONCE | OP_MEET,
	.min_in = 5, .max_in = 10, .nout = -1,
	.attr_size = sizeof(struct norm_attr), .attrs = grad_fields,
	.inplace = X | DY | ADDEND | SECOND,
	.shape = grad_shape, .cost = norm_cost,
	NORM_KERNELS(grad_, reference_plan, X | DY | ADDEND | Y | SECOND, X | MASKED),
	.samples = grad_samples,
};

static const struct op op_batch_norm_signs = {
	.name = "batch_norm_signs",
	.doc = "batch_norm that also gives the signs of its result, as bits",
	.flags = OP_ONCE | OP_MEET,
	.min_in = 3, .max_in = 5, .nout = 5,
	.attr_size = sizeof(struct norm_attr), .attrs = fields,
	.nondiff = 1u << SHARE_AT, .inplace = X | RESIDUAL,
	.shape = signs_shape, .recompute = recompute, .cost = norm_cost,
	NORM_GPU_KERNELS(, reference_plan, X | RESIDUAL, X),
	.samples = signs_samples,
};

static const struct op op_batch_norm_grad_signs = {
	.name = "batch_norm_grad_signs",
	.doc = "batch_norm_grad that reads the signs of y for y",
	.flags = OP_ONCE | OP_MEET,
	.min_in = 5, .max_in = 10, .nout = 4,
	.attr_size = sizeof(struct norm_attr), .attrs = grad_fields,
	.inplace = X | DY | ADDEND | SECOND,
	.shape = grad_signs_shape, .cost = norm_cost,
	NORM_GPU_KERNELS(grad_, reference_plan, X | DY | ADDEND | SECOND, X | MASKED),
	.samples = grad_signs_samples,
};

OPSET(batch_norm, &op_batch_norm, &op_batch_norm_grad, &op_batch_norm_signs,
      &op_batch_norm_grad_signs);
