/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts samples from the form in which a record stores them (integers or short floats, channels
 * first) to the network's input: floats, channels-last. On a GPU this is the first node of a step,
 * so that the batch is transferred in its stored type, and a single kernel converts, normalises,
 * rounds to 16 bits and transposes it.
 *
 *   y = x;  then for each step s:  y = (y - centre[s][c]) * scale[s][c];
 *                                  y = 0  where masked[s][c] > 0 and x[mask] == 0
 *
 * in float32, each operation rounded once, as data/transform_value.c does: float32 inputs have the
 * same bits as on the CPU. Steps are not merged into one, since that would round differently.
 *
 * DeepCAM's batch of 8 (768x1152x16) is 233 MB in i16 with labels in u8, and 481 MB in float32 with
 * labels in i32. zstd is decoded on the CPU: its threads overlap the step and decode 1.0 to 1.2
 * GB/s of samples each (noisy 768x1152x16 fields in i16 and f32, with both hashes checked). */
#include "op/normalize_input.h"

#include <string.h>

#include "backend/device.h"
#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/reads.h"

static const struct field fields[] = {
	FIELD_INT(struct normalize_input, mask, "-1", -1, INT32_MAX,
	          "channel that is 0 where others are missing; -1: none"),
	FIELD_END
};

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	const struct normalize_input *at = n->attr;
	const struct shape *x = node_in_shape(g, n, 0);
	if (x->nd < 2)
		return ERR(E_SHAPE, &g->cur_loc, "'%s': samples have one axis at least", check_layer(n));
	if (at->mask >= x->d[1])
		return ERR(E_SHAPE, &g->cur_loc, "'%s': no channel %lld to be the mask, there are %lld",
		           check_layer(n), (long long)at->mask, (long long)x->d[1]);
	if (n->nin > 1 && n->in[1] != NONE) {
		struct shape table = { 3, { node_in_shape(g, n, 1)->d[0], INPUT_ROWS, x->d[1] } };
		TRY(check_rank(g, n, 1, 3, 3));
		TRY(check_shape(g, n, 1, &table));
	}
	return graph_out(g, n, 0, DTYPE_F32, x);
}

/* Output points read the same points of the samples (input 0). The table is indexed by channel, so
 * it has no such range. */
static bool reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                  int64_t *hi)
{
	return i == 0 && reads_point(g, n, i, axis, lo, hi);
}

int emit_normalize_input(struct graph *g, tid x, int64_t mask, int64_t steps,
                         const float *table, tid *y)
{
	struct normalize_input at = { mask };
	struct shape s = { 3, { steps, INPUT_ROWS, graph_t(g, x)->shape.d[1] } };
	tid in[2] = { x, steps ? graph_constant(g, DTYPE_F32, &s, table) : NONE };
	return graph_emit1(g, "normalize_input", &at, 2, in, y);
}

/* --- what all kernels ask --- */

struct place {
	int64_t n, c, points;            /* samples, channels, elements of one channel */
	int64_t steps, mask;
};

static struct place place_of(const struct kplan *k)
{
	const struct shape *x = node_in_shape(k->g, k->n, 0);
	bool table = k->n->nin > 1 && k->n->in[1] != NONE;
	struct place p = { x->d[0], x->d[1], 1, table ? node_in_shape(k->g, k->n, 1)->d[0] : 0,
		((const struct normalize_input *)k->n->attr)->mask };
	for (int i = 2; i < x->nd; i++)
		p.points *= x->d[i];
	return p;
}

static int choose(struct kplan *k, struct layout *in, struct layout *out)
{
	for (int i = 0; i < k->n->nin; i++)
		if (k->n->in[i] != NONE)
			in[i] = layout_plain(node_in_shape(k->g, k->n, i));
	out[0] = layout_native(node_out_shape(k->g, k->n, 0));
	return 0;
}

/* --- reference kernel --- */

static double reference_value(const struct place *p, enum dtype type, const void *x,
                              const double *table, int64_t i)
{
	const int64_t c = i / p->points % p->c, sample = i / p->points / p->c;
	double v = dtype_get(type, x, i);
	bool valid = p->mask < 0 ||
	             dtype_get(type, x, (sample * p->c + p->mask) * p->points + i % p->points) != 0;
	for (int64_t s = 0; s < p->steps; s++) {
		const double *row = table + s * INPUT_ROWS * p->c + c;
		v = (v - row[INPUT_CENTRE * p->c]) * row[INPUT_SCALE * p->c];
		if (!valid && row[INPUT_MASKED * p->c] > 0)
			v = 0;
	}
	return v;
}

static int reference_run(const struct kplan *k, const struct kargs *a)
{
	const struct place p = place_of(k);
	const enum dtype type = device_dtype(k->dev, graph_t(k->g, k->n->in[0])->dtype);
	double *y = a->out[0];
	for (int64_t i = 0; i < p.n * p.c * p.points; i++)
		y[i] = reference_value(&p, type, a->in[0], p.steps ? a->in[1] : NULL, i);
	return 0;
}

/* --- cpu kernel --- */

#define TILE 64                 /* points converted at a time */

static void cpu_step(float *v, const float *valid, int64_t n, float centre, float scale)
{
	for (int64_t i = 0; i < n; i++)
		v[i] = (v[i] - centre) * scale;
	for (int64_t i = 0; valid && i < n; i++)
		v[i] = valid[i] != 0 ? v[i] : 0;
}

/* Converts points at .. at + n - 1 of a sample whose values begin at element `base`. */
static void cpu_tile(const struct kplan *k, const struct kargs *a, const struct place *p,
                     int64_t base, int64_t at, int64_t n)
{
	const enum dtype from = graph_t(k->g, k->n->in[0])->dtype,
	                 to = graph_t(k->g, k->n->out[0])->dtype;
	const size_t fs = dtype_size(from), ts = dtype_size(to);
	const char *x = (const char *)a->in[0] + (size_t)(base + at) * fs;
	char *y = (char *)a->out[0] + (size_t)(base + at * p->c) * ts;
	float v[TILE], valid[TILE], made[TILE];
	if (p->mask >= 0)
		dtype_convert(DTYPE_F32, valid, from, x + (size_t)(p->mask * p->points) * fs, n);
	for (int64_t c = 0; c < p->c; c++) {
		dtype_convert(DTYPE_F32, v, from, x + (size_t)(c * p->points) * fs, n);
		for (int64_t s = 0; s < p->steps; s++) {
			const float *row = (const float *)a->in[1] + s * INPUT_ROWS * p->c + c;
			cpu_step(v, p->mask >= 0 && row[INPUT_MASKED * p->c] > 0 ? valid : NULL, n,
			         row[INPUT_CENTRE * p->c], row[INPUT_SCALE * p->c]);
		}
		dtype_convert(to, made, DTYPE_F32, v, n);
		for (int64_t i = 0; i < n; i++)
			memcpy(y + (size_t)(i * p->c + c) * ts, (const char *)made + (size_t)i * ts, ts);
	}
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	const struct place p = place_of(k);
	const int64_t tiles = (p.points + TILE - 1) / TILE;
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < p.n * tiles; i++) {
		const int64_t at = i % tiles * TILE, left = p.points - at;
		cpu_tile(k, a, &p, i / tiles * p.c * p.points, at, left < TILE ? left : TILE);
	}
	return 0;
}

/* --- cuda kernel --- */

#ifdef HAVE_CUDA
static int cuda_run(const struct kplan *k, const struct kargs *a)
{
	const struct place p = place_of(k);
	const struct k_samples s = { .from = cuda_in_type(k, 0), .to = cuda_out_type(k, 0), .n = p.n,
		.c = p.c, .points = p.points,
		.steps = (int)p.steps, .mask = p.mask, .table = p.steps ? a->in[1] : NULL };
	return cuda_launched(k, k_normalize_input(cuda_stream(k->dev), &s, a->in[0], a->out[0]));
}
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x5x7:u8 1x3x3", "2x3x13x11:i16 2x3x3 ; mask: 1", "2x4x5x6x7:f32 1x3x4 ; mask: 3",
	"1x16x9x31:u16 3x3x16", "2x40x5x27:i16 1x3x40 ; mask: 39", "3x37x10x14:i8 1x3x37 ; mask: 36",
	"2x2x65x3:bf16", "2x5x129:f16 1x3x5", "2x5x5:f16 1x3x5", "3x70:u8 2x3x70 ; mask: 0",
	"2x1x8x8:i32 1x3x1",
	"2x3x5x7:u8 -", NULL
};

/* --- records --- */

static const struct op normalize_input = {
	.name = "normalize_input",
	.doc = "stored samples as floats: (x - centre) * scale of each channel, 0 where "
	       "a mask says so, in steps",
	.flags = OP_NOGRAD,
	.min_in = 1, .max_in = 2, .nout = 1, .nondiff = 3,
	.attr_size = sizeof(struct normalize_input), .attrs = fields,
	.shape = shape, .reads = reads,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = reference_run),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = choose, .run = cpu_run,
		                  .bf16_in = 1, .bf16_out = 1, .bf16 = KB_SOURCE },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = choose, .run = cuda_run,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_SOURCE)
	},
	.samples = samples,
};

OPSET(normalize_input, &normalize_input);
