/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dropout (Srivastava et al., JMLR 15, 2014), inverted: y = x / (1 - rate) where a random number
 * says keep, else 0. The number of an element is a pure function of run seed, layer (stream), step
 * and row-major index, so the mask depends on neither layout, thread nor rank and is not stored:
 * the gradient is the same op on dy, which draws the same mask again. */
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
	return graph_out(g, n, 0, DTYPE_F32, node_in_shape(g, n, 0));
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	dx[1] = NONE;
	return graph_emit1(g, "dropout", n->attr, 2, (tid[]){ dy[0], n->in[1] }, &dx[0]);
}

/* --- the mask --- */

/* Elements along the row-major order that are drawn together: at most 16 blocks of 4, wherever they
 * start. */
#define TILE 60

struct mask {
	uint64_t seed, stream, step;
	uint32_t drop;           /* an element is dropped if its 32 bits are below this */
	double scale;            /* what the others are multiplied by */
};

static struct mask mask_of(const struct kplan *k, const struct kargs *a)
{
	const struct dropout_attr *at = k->n->attr;
	const int64_t *key = a->in[1];

	return (struct mask){
		.seed = (uint64_t)key[0], .step = (uint64_t)key[1], .stream = (uint64_t)at->stream,
		.drop = (uint32_t)(at->rate * 0x1p32), .scale = 1 / (1 - at->rate),
	};
}

SIMD_CLONES
static void factors(const uint32_t *word, uint32_t drop, float scale, int n, float *factor)
{
	SIMD_LOOP
	for (int i = 0; i < n; i++)
		factor[i] = simd_select(word[i] < drop, 0, scale);
}

/* The factors of elements index .. index + n - 1; n <= TILE. */
static void mask_run(const struct mask *m, uint64_t index, int n, float *factor)
{
	uint32_t word[TILE + 4];
	int skip = (int)(index % 4), blocks = (skip + n + 3) / 4;

	rng_blocks(m->seed, m->stream, m->step, index / 4, blocks, word);
	factors(word + skip, m->drop, (float)m->scale, n, factor);
}

/* --- reference kernel --- */

static int reference(const struct kplan *k, const struct kargs *a)
{
	struct mask m = mask_of(k, a);
	const double *x = a->in[0];
	double *y = a->out[0];
	int64_t n = kplan_out_elements(k, 0);

	for (int64_t i = 0; i < n; i++)
		y[i] = rng_u32(m.seed, m.stream, m.step, (uint64_t)i) < m.drop ? 0 : m.scale * x[i];
	return 0;
}

/* --- cpu kernels --- */

#define TILE_COLUMNS 16      /* channels that share a line of memory */

static int choose(struct kplan *k, struct layout *in, struct layout *out)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);

	if (!in[0].set || !layout_is_plain(&in[0], s))
		in[0] = layout_native(s);
	in[1] = layout_plain(node_in_shape(k->g, k->n, 1));
	out[0] = in[0];
	return 0;
}

/* y = factor * x where factor is not 0: what is dropped may be infinite. */
SIMD_CLONES
static void apply(float *y, const float *x, const float *factor, int n)
{
	SIMD_LOOP
	for (int i = 0; i < n; i++)
		y[i] = simd_select(factor[i] > 0, factor[i] * x[i], 0);
}

static void plain_range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	struct mask m = mask_of(k, a);
	const float *x = a->in[0];
	float *y = a->out[0], factor[TILE];

	for (int64_t i = lo; i < hi; i += TILE) {
		int n = hi - i < TILE ? (int)(hi - i) : TILE;
		mask_run(&m, (uint64_t)i, n, factor);
		apply(y + i, x + i, factor, n);
	}
}

/* Channels-last (N, P, C) of logical (N, C, P): a tile of P x C, its mask drawn along P and turned.
 * */
static void native_tile(const struct mask *m, const float *x, float *y, int64_t n, int64_t channels,
                        int64_t places, int64_t c0, int64_t p0)
{
	int nc = channels - c0 < TILE_COLUMNS ? (int)(channels - c0) : TILE_COLUMNS;
	int np = places - p0 < TILE ? (int)(places - p0) : TILE;
	float run[TILE], factor[TILE][TILE_COLUMNS];

	for (int c = 0; c < nc; c++) {
		mask_run(m, (uint64_t)((n * channels + c0 + c) * places + p0), np, run);
		for (int p = 0; p < np; p++)
			factor[p][c] = run[p];
	}
	for (int p = 0; p < np; p++) {
		int64_t at = (n * places + p0 + p) * channels + c0;
		apply(y + at, x + at, factor[p], nc);
	}
}

static void native_run(const struct kplan *k, const struct kargs *a)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	struct mask m = mask_of(k, a);
	int64_t channels = s->d[1], places = shape_count(s) / (s->d[0] * channels);
	int64_t across = (channels + TILE_COLUMNS - 1) / TILE_COLUMNS;
	int64_t along = (places + TILE - 1) / TILE;
	int64_t tiles = s->d[0] * across * along;

#pragma omp parallel for schedule(static) if (tiles > 4)
	for (int64_t i = 0; i < tiles; i++)
		native_tile(&m, a->in[0], a->out[0], i / (across * along), channels, places,
		            i % across * TILE_COLUMNS, i / across % along * TILE);
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	const struct tensor *x = graph_t(k->g, k->n->in[0]);

	if (layout_is_plain(&x->layout, &x->shape))
		walk_run(k, a, shape_count(&x->shape), plain_range);
	else
		native_run(k, a);
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
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = choose, .run = cpu },
	},
	.samples = samples,
};

OPSET(dropout, &op_dropout);
