/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element-wise derivatives of silu and gelu. Each order is one node; if they were composed of other
 * ops, each derivative would have more products than the last.
 *
 *   slope      f^(k)(x)        dx = dy f^(k+1)(x)
 *
 * Each f is x s(x), so f^(k) = x s^(k) + k s^(k-1), and the derivatives of s come from a recurrence
 * of its Taylor coefficients (slope_body.h). */
#include "op/slope.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/emit.h"
#include "op/lib/simd.h"
#include "op/lib/walk.h"

/* --- attributes --- */

static const char *const names[] = { "silu", "gelu", "gelu_tanh", NULL };

struct slope_attr {
	int of;
	int64_t order;
};
static const struct field fields[] = {
	FIELD_ENUM(struct slope_attr, of, "silu", names, "the function"),
	FIELD_INT(struct slope_attr, order, "1", 1, SLOPE_MOST, "order of the derivative"),
	FIELD_END
};

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	const struct slope_attr *at = n->attr;
	if (at->order > SLOPE_MOST)
		return ERR(E_UNSUPPORTED, &g->cur_loc, "'%s' has derivatives up to order %d", names[at->of],
		           SLOPE_MOST);
	return walk_shape(g, n);
}

/* --- grad --- */

int slope_emit(struct graph *g, enum slope_of of, int order, tid x, tid *out)
{
	const struct slope_attr at = { (int)of, order };
	return graph_emit1(g, "slope", &at, 1, &x, out);
}

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct slope_attr *at = n->attr;
	tid t;
	TRY(slope_emit(g, (enum slope_of)at->of, (int)at->order + 1, n->in[0], &t));
	return emit_mul(g, dy[0], t, &dx[0]);
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	const double order = (double)((const struct slope_attr *)n->attr)->order;
	c->flops += order * (order + 1) * (double)shape_count(node_out_shape(g, n, 0));
}

/* --- kernels --- */

#define BLOCK 64

#define real double
#define NAME(f) f##_double
#define LOGISTIC(x) (1 / (1 + exp(-(x))))
#define TANH(x) tanh(x)
#define EXP(x) exp(x)
#define DISTRIBUTION(x) (0.5 * erfc(-(x) * SQRT_HALF))
#include "op/slope_body.h"

#define real float
#define NAME(f) f##_float
#define LOGISTIC(x) simd_sigmoid(x)
#define TANH(x) simd_tanh(x)
#define EXP(x) simd_exp(x)
#define DISTRIBUTION(x) (0.5f + 0.5f * simd_erf((x) * (float)SQRT_HALF))
#include "op/slope_body.h"

/* Computes a block. Lanes after element n are computed, too, but not used. */
static void block_reference(const struct slope_attr *at, const double *x, double *y, int64_t n)
{
	double from[BLOCK] = { 0 }, to[BLOCK];
	memcpy(from, x, (size_t)n * sizeof *x);
	slope_block_double((enum slope_of)at->of, (int)at->order, from, to);
	memcpy(y, to, (size_t)n * sizeof *y);
}

SIMD_CLONES(void, block_cpu, (const struct slope_attr *at, const float *x, float *y, int64_t n),
            (at, x, y, n))
{
	float from[BLOCK] = { 0 }, to[BLOCK];
	memcpy(from, x, (size_t)n * sizeof *x);
	slope_block_float((enum slope_of)at->of, (int)at->order, from, to);
	memcpy(y, to, (size_t)n * sizeof *y);
}

static int64_t up_to_block(int64_t n)
{
	return n < BLOCK ? n : BLOCK;
}

static int reference(const struct kplan *k, const struct kargs *a)
{
	const int64_t n = kplan_out_elements(k, 0);
	const double *x = a->in[0];
	double *y = a->out[0];
	for (int64_t i = 0; i < n; i += BLOCK)
		block_reference(k->n->attr, x + i, y + i, up_to_block(n - i));
	return 0;
}

static void range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	const float *x = a->in[0];
	float *y = a->out[0];
	for (int64_t i = lo; i < hi; i += BLOCK)
		block_cpu(k->n->attr, x + i, y + i, up_to_block(hi - i));
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, range);
	return 0;
}

#ifdef HAVE_CUDA
_Static_assert((int)K_SLOPE_GELU - (int)K_SLOPE_SILU == SLOPE_GELU &&
               (int)K_SLOPE_GELU_TANH - (int)K_SLOPE_SILU == SLOPE_GELU_TANH &&
               K_SLOPE_MOST == SLOPE_MOST, "alike");
CUDA_UNARY(cuda, K_SLOPE_SILU + ((const struct slope_attr *)k->n->attr)->of,
           (float)((const struct slope_attr *)k->n->attr)->order, 0)
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x4x5", "7; order: 2", "s; order: 3", "3x67; order: 4", "1x3x5x2x3; order: 5",
	"2x3x4x5; of: gelu", "3x67; of: gelu, order: 2", "7; of: gelu, order: 3",
	"7; of: gelu, order: 4", "7; of: gelu, order: 6", "2x3x4x5; of: gelu_tanh",
	"3x67; of: gelu_tanh, order: 2", "7; of: gelu_tanh, order: 3", "7; of: gelu_tanh, order: 4",
	NULL
};

/* --- records --- */

static const struct op op_slope = {
	.name = "slope",
	.doc = "derivative of an activation, of any order",
	.flags = OP_ELEMENTWISE,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct slope_attr), .attrs = fields,
	.inplace = 1,
	.shape = shape, .grad = grad, .cost = cost,
	.kernel = {
		WALK_DOUBLE(reference),
		[BACKEND_CPU] = { WALK_DENSE(cpu), WALK_VIEWS },
		CUDA_KERNEL(WALK_DENSE(cuda), CUDA_VIEWS, .bf16 = KB_ALIKE)
	},
	.samples = samples,
};

OPSET(slope, &op_slope);
