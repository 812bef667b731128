/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Powers with a constant exponent, element by element.
 *
 *   pow        x^e        dx = dy e x^(e - 1)
 *
 * As in C, x^0 is 1 for any x, and a negative x has a power only for an integer exponent (else
 * NaN). The gradient uses x itself if e is 2, and no power if e is 1, so that the derivatives of
 * x^2, x^3, ... are polynomials: they are right for x <= 0, and end at order e. The CPU kernel
 * multiplies for integer exponents; x^2 and x^3 have the bits of x * x and x * x * x. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/reads.h"
#include "op/lib/elementwise.h"
#include "op/lib/emit.h"
#include "op/lib/simd.h"
#include "op/lib/walk.h"

/* --- attributes --- */

#define BIG 1e300

static const struct field fields[] = {
	FIELD_SHORT(struct pow_attr, exponent, FT_FLOAT, "", -BIG, BIG, "the exponent"),
	FIELD_END
};

static double exponent_of(const struct kplan *k)
{
	return ((const struct pow_attr *)k->n->attr)->exponent;
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const double e = ((const struct pow_attr *)n->attr)->exponent;
	const struct pow_attr less = { e - 1 };
	tid t = n->in[0];
	dx[0] = NONE;
	if (e == 0)
		return 0;
	if (e == 1) {
		dx[0] = dy[0];
		return 0;
	}
	if (e != 2)
		TRY(graph_emit1(g, "pow", &less, 1, &t, &t));
	TRY(emit_mul(g, dy[0], t, &t));
	return emit_scale(g, t, e, 0, &dx[0]);
}

/* --- reference kernel --- */

static int reference(const struct kplan *k, const struct kargs *a)
{
	const double *x = a->in[0], e = exponent_of(k);
	double *y = a->out[0];
	for (int64_t i = 0; i < kplan_out_elements(k, 0); i++)
		y[i] = pow(x[i], e);
	return 0;
}

/* --- cpu kernel --- */

#define BLOCK 64
#define MOST 16              /* integer exponents up to this are computed by products: at most four
                              * squarings, each of which doubles the relative error */

/* The powers of a block by repeated squaring. Lanes after element n are computed, too, but not
 * used. */
SIMD_CLONES(void, multiply_block, (const float *x, float *y, int64_t n, int e, bool inverse),
            (x, y, n, e, inverse))
{
	float base[BLOCK] = { 0 }, made[BLOCK];
	memcpy(base, x, (size_t)n * sizeof *x);
	SIMD_LOOP
	for (int i = 0; i < BLOCK; i++)
		made[i] = 1;
	for (; e > 0; e /= 2) {
		const int odd = e % 2;
		SIMD_LOOP
		for (int i = 0; i < BLOCK; i++) {
			made[i] = simd_select(odd, made[i] * base[i], made[i]);
			base[i] *= base[i];
		}
	}
	SIMD_LOOP
	for (int i = 0; i < BLOCK; i++)
		made[i] = simd_select(inverse, 1 / made[i], made[i]);
	memcpy(y, made, (size_t)n * sizeof *y);
}

static void range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	const float *x = a->in[0];
	const double e = exponent_of(k);
	float *y = a->out[0];
	if (e == rint(e) && fabs(e) <= MOST) {
		for (int64_t i = lo; i < hi; i += BLOCK)
			multiply_block(x + i, y + i, hi - i < BLOCK ? hi - i : BLOCK, (int)fabs(e), e < 0);
		return;
	}
	for (int64_t i = lo; i < hi; i++)
		y[i] = powf(x[i], (float)e);
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	walk_views(k, a, range);
	return 0;
}

/* --- cuda kernel --- */

#ifdef HAVE_CUDA
CUDA_UNARY(cuda, exponent_of(k) == 2 ? K_SQUARE : K_POW, (float)exponent_of(k), 0)
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x4x5; exponent: 2", "7; exponent: 3", "s; exponent: 5", "3x37:away; exponent: -1",
	"1x3x5x2x3:away; exponent: -2", "3x37; exponent: 1",
	"2x3x4x5:positive; exponent: 0.5", "3x67:positive; exponent: -1.5",
	"7:positive; exponent: 0.3", "7:away; exponent: 7", "7:away; exponent: 17", NULL
};

/* --- records --- */

static const struct op op_pow = {
	.name = "pow",
	.doc = "power of x with a constant exponent",
	.flags = OP_LAYER | OP_ELEMENTWISE,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct pow_attr), .attrs = fields,
	.inplace = 1,
	.shape = walk_shape, .grad = grad, .reads = reads_point, .cost = walk_cost,
	.kernel = {
		WALK_DOUBLE(reference),
		[BACKEND_CPU] = { WALK_DENSE(cpu), WALK_VIEWS },
		CUDA_KERNEL(WALK_DENSE(cuda), CUDA_VIEWS, .bf16 = KB_ALIKE)
	},
	.samples = samples,
};

OPSET(pow, &op_pow);
