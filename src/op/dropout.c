/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dropout (Srivastava et al., JMLR 15, 2014), inverted: y = x / (1 - rate) where a random number
 * says keep, else 0. That number is a pure function of run seed, layer (stream), step and the
 * element's place in the channels-last order, so the mask depends on neither layout, thread nor
 * rank and is not stored: the gradient is the same op on dy, which draws the same mask again.
 *
 * CPU: channels-last, so that elements are drawn in the order in which they lie. */
#include <math.h>

#include "base/err.h"
#include "base/rng.h"
#include "op/elementwise.h"
#include "op/simd.h"
#include "op/walk.h"

/* --- attributes --- */

static const struct field fields[] = {
	FIELD_FLOAT(struct dropout_attr, rate, "0.5", 0, 0.999999, "share of elements that become 0"),
	FIELD_INT(struct dropout_attr, stream, "0", -0x1p63, 0x1p63,
	          "name of the sequence of random numbers"),
	FIELD_END
};

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	const struct dropout_attr *at = n->attr;
	const struct tensor *key = graph_t(g, n->in[1]);

	TRY(node_want_float(g, n, 0, "input"));
	if (!(at->rate >= 0 && at->rate < 1))
		return ERR(E_CONFIG, &g->cur_loc, "the rate of 'dropout' must be from 0 to below 1, but is "
		           "%g", at->rate);
	if (key->dtype != DTYPE_I64 || shape_count(&key->shape) != 2)
		return ERR(E_SHAPE, &g->cur_loc, "the key of 'dropout' must be two i64 values");
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, node_in_shape(g, n, 0));
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	dx[1] = NONE;
	return graph_emit1(g, "dropout", n->attr, 2, (tid[]){ dy[0], n->in[1] }, &dx[0]);
}

/* --- the mask --- */

#define LEVELS 65536         /* 16 random bits an element */

struct mask {
	uint64_t seed, stream, step;
	uint32_t drop;           /* an element is dropped if its 16 bits are below this */
	double scale;            /* what the others are multiplied by, so that the mean stays exactly */
};

static struct mask mask_of(const struct kplan *k, const struct kargs *a)
{
	const struct dropout_attr *at = k->n->attr;
	const int64_t *key = a->in[1];
	uint32_t drop = (uint32_t)lrint(at->rate * LEVELS);

	drop = drop < LEVELS ? drop : LEVELS - 1;
	return (struct mask){
		.seed = (uint64_t)key[0], .step = (uint64_t)key[1], .stream = (uint64_t)at->stream,
		.drop = drop, .scale = LEVELS / (double)(LEVELS - drop),
	};
}

/* --- reference kernel --- */

/* The element of row-major index i as it is numbered: (N, C, ...) in the order (N, ..., C). */
static uint64_t number(const struct shape *s, int64_t i)
{
	int64_t channels = s->nd < 3 ? 1 : s->d[1];
	int64_t places = s->nd < 3 ? 1 : shape_count(s) / (s->d[0] * channels);
	int64_t n = i / (channels * places), c = i / places % channels, p = i % places;

	return (uint64_t)((n * places + p) * channels + c);
}

static int reference(const struct kplan *k, const struct kargs *a)
{
	struct mask m = mask_of(k, a);
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const double *x = a->in[0];
	double *y = a->out[0];
	int64_t n = kplan_out_elements(k, 0);

	for (int64_t i = 0; i < n; i++) {
		uint64_t at = number(s, i);
		uint32_t word = rng_u32(m.seed, m.stream, m.step, at / 2);
		uint32_t bits = at % 2 ? word >> 16 : word & 0xffff;
		y[i] = bits < m.drop ? 0 : m.scale * x[i];
	}
	return 0;
}

/* --- cpu kernel --- */

static int choose(struct kplan *k, struct layout *in, struct layout *out)
{
	in[0] = out[0] = layout_native(node_in_shape(k->g, k->n, 0));
	in[1] = layout_plain(node_in_shape(k->g, k->n, 1));
	return 0;
}

#define TILE 256             /* elements drawn together; a block of the generator serves 8 */

/* What is dropped may be infinite. The lower half of a word is the first of its two elements. */
SIMD_CLONES
static void apply(const struct mask *m, const uint32_t *word, const float *x, float *y, int n)
{
	const uint32_t drop = m->drop;
	const float scale = (float)m->scale;
	uint32_t bits[TILE];

	SIMD_LOOP
	for (int i = 0; i < TILE / 2; i++) {
		bits[2 * i] = word[i] & 0xffff;
		bits[2 * i + 1] = word[i] >> 16;
	}
	SIMD_LOOP
	for (int i = 0; i < n; i++)
		y[i] = simd_select(bits[i] < drop, 0, scale * x[i]);
}

/* lo is a multiple of 8. */
static void range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	struct mask m = mask_of(k, a);
	const float *x = a->in[0];
	float *y = a->out[0];
	uint32_t word[TILE / 2] = { 0 };

	for (int64_t i = lo; i < hi; i += TILE) {
		int n = hi - i < TILE ? (int)(hi - i) : TILE;
		rng_blocks(m.seed, m.stream, m.step, (uint64_t)i / 8, (n + 7) / 8, word);
		apply(&m, word, x + i, y + i, n);
	}
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	walk_run(k, a, kplan_out_elements(k, 0), range);
	return 0;
}

/* --- samples --- */

static const char *const samples[] = {
	"2x3x4x5 2:key", "3x37 2:key; rate: 0.25, stream: 7", "1x19x3x5x5 2:key; rate: 0.9, stream: -3",
	"2x33x67 2:key; rate: 0.1", "7 2:key; rate: 0", "s 2:key", NULL
};

/* --- record --- */

static const struct op op_dropout = {
	.name = "dropout",
	.doc = "zeroes a random share of x and scales up the rest: (x, key) -> y",
	.flags = OP_RANDOM,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct dropout_attr), .attrs = fields,
	.nondiff = 2, .inplace = 1,
	.shape = shape, .grad = grad, .cost = walk_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = reference },
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = choose, .run = cpu,
		                  .bf16_in = 1, .bf16_out = 1 },
	},
	.samples = samples,
};

OPSET(dropout, &op_dropout);
