/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dropout (Srivastava et al., JMLR 15, 2014), inverted: y = x / (1 - rate) where a random number
 * says keep, else 0. That number is a pure function of run seed, layer (stream), step, the sample's
 * place among all samples of the step, and the element's place in the sample in channels-last
 * order. So the mask does not depend on layout, threads, ranks or micro-batches, and it is not
 * stored: the gradient is the same op applied to dy, which draws the same mask. Each sample begins
 * with a new block of the generator. A piece of a tensor drops the elements that the whole tensor
 * would drop there.
 *
 * relu_dropout is ReLU and dropout in one loop (made by the pass `fuse`). Its output is positive
 * exactly where x was positive and kept, so its gradient needs no random numbers: dx = dy / (1 -
 * rate) where y > 0, else 0.
 *
 * CPU: tensors are channels-last, so that numbers are drawn in memory order. The rows of a channel
 * slice are gathered into tiles, and the results are scattered. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/round.h"
#include "op/lib/cuda.h"
#include "op/lib/emit.h"
#include "op/lib/elementwise.h"
#include "op/lib/random.h"
#include "op/lib/reads.h"
#include "op/lib/simd.h"
#include "op/lib/walk.h"

/* --- attributes --- */

static const struct field fields[] = {
	FIELD_FLOAT(struct dropout_attr, rate, "0.5", 0, 0.999999, "share of elements that become 0"),
	FIELD_INT(struct dropout_attr, stream, "0", -0x1p63, 0x1p63,
	          "name of the sequence of random numbers"),
	FIELD_INTS(struct dropout_attr, whole, NULL, 1, INT32_MAX,
	           "of a piece: spatial sizes of the whole"),
	FIELD_INTS(struct dropout_attr, at, NULL, 0, INT32_MAX,
	           "of a piece: where it begins in the whole; none: at 0"),
	FIELD_END
};

/* --- shape --- */

static int check_piece(struct graph *g, const struct dropout_attr *at, const struct shape *x)
{
	const int axes = x->nd < 2 ? 0 : x->nd - 2;
	if ((at->whole.n && at->whole.n != axes) || (at->at.n && at->at.n != at->whole.n))
		return ERR(E_CONFIG, &g->cur_loc, "'whole' and 'at' of 'dropout' have %d and %d entries, "
		           "but the input has %d spatial axes", at->whole.n, at->at.n, axes);
	for (int k = 0; k < at->whole.n; k++) {
		const int64_t from = at->at.n ? at->at.v[k] : 0;
		if (from + x->d[k + 2] > at->whole.v[k])
			return ERR(E_SHAPE, &g->cur_loc, "a piece of %lld that begins at %lld is not in a "
			           "whole of %lld", (long long)x->d[k + 2], (long long)from,
			           (long long)at->whole.v[k]);
	}
	return 0;
}

static int shape(struct graph *g, struct node *n)
{
	const struct dropout_attr *at = n->attr;
	const struct tensor *key = graph_t(g, n->in[1]);
	TRY(node_want_float(g, n, 0, "input"));
	if (!(at->rate >= 0 && at->rate < 1))
		return ERR(E_CONFIG, &g->cur_loc, "the rate of 'dropout' must be from 0 to below 1, but is "
		           "%g", at->rate);
	if (key->dtype != DTYPE_I64 || shape_count(&key->shape) != RANDOM_KEY_VALUES)
		return ERR(E_SHAPE, &g->cur_loc, "the key of 'dropout' must be three i64 values");
	TRY(check_piece(g, at, node_in_shape(g, n, 0)));
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, node_in_shape(g, n, 0));
}

/* Makes y and, if the node has a second output, relu(x). */
static int relu_shape(struct graph *g, struct node *n)
{
	TRY(shape(g, n));
	return graph_out(g, n, 1, graph_t(g, n->in[0])->dtype, node_in_shape(g, n, 0));
}

static bool part(struct graph *g, struct node *n, const struct op_part *p)
{
	struct dropout_attr *at = n->attr;
	const struct shape *x = node_in_shape(g, n, 0);
	const int axes = x->nd - 2;
	if (!at->whole.n)
		at->whole = ints_make(g, axes, x->d + 2);
	reads_set(g, &at->whole, axes, p->axis - 2, 1, p->in_all);
	reads_set(g, &at->at, axes, p->axis - 2, 0, p->out_lo);
	return true;
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	dx[1] = NONE;
	return graph_emit1(g, "dropout", n->attr, 2, (tid[]){ dy[0], n->in[1] }, &dx[0]);
}

static int relu_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	dx[1] = NONE;
	return graph_emit1(g, "relu_dropout_grad", n->attr, 2, (tid[]){ n->out[0], dy[0] }, &dx[0]);
}

/* --- the mask --- */

#define LEVELS 65536         /* 16 random bits for each element */

struct mask {
	uint64_t seed, stream, step;
	uint64_t first;          /* place of the batch's first sample in the step */
	uint32_t drop;           /* an element is dropped if its 16 bits are below this */
	double scale;            /* factor of the kept elements, which preserves the mean exactly */
};

static struct mask fixed_mask(const struct kplan *k)
{
	const struct dropout_attr *at = k->n->attr;
	uint32_t drop = (uint32_t)lrint(at->rate * LEVELS);
	drop = drop < LEVELS ? drop : LEVELS - 1;
	return (struct mask){
		.stream = (uint64_t)at->stream, .drop = drop,
		.scale = LEVELS / (double)(LEVELS - drop),
	};
}

static struct mask mask_of(const struct kplan *k, const struct kargs *a)
{
	const int64_t *key = a->in[1];
	struct mask m = fixed_mask(k);
	m.seed = (uint64_t)key[0];
	m.step = (uint64_t)key[1];
	m.first = (uint64_t)key[2];
	return m;
}

#define BLOCK 8              /* elements that one block of the generator serves */

/* The numbering of the elements of a sample: channels-last order, by their place in the whole
 * tensor. */
struct samples {
	int64_t each;                        /* elements of a sample */
	int64_t padded;                      /* numbers of a sample: those of the whole tensor, rounded
	                                      * up to full blocks */
	int64_t run;                         /* elements with consecutive numbers, from each multiple of
	                                      * this on */
	int axes;                            /* spatial axes if the tensor is a piece; else 0 */
	int64_t c, d[MAXD], whole[MAXD], at[MAXD];
};

static struct samples samples_of(const struct kplan *k)
{
	const struct dropout_attr *at = k->n->attr;
	const struct shape *x = node_in_shape(k->g, k->n, 0);
	const int64_t n = x->nd ? x->d[0] : 1, each = n ? shape_count(x) / n : 0;
	struct samples s = { .each = each, .run = each, .axes = at->whole.n };
	int64_t all = each;
	if (s.axes)
		s.c = all = x->d[1];
	for (int a = 0; a < s.axes; a++) {
		s.d[a] = x->d[a + 2];
		s.whole[a] = at->whole.v[a];
		s.at[a] = at->at.n ? at->at.v[a] : 0;
		s.run = s.c * s.d[a];
		all *= s.whole[a];
	}
	s.padded = ceil_div(all, BLOCK) * BLOCK;
	return s;
}

/* The number of element i of sample n. */
static uint64_t number_of(const struct samples *s, uint64_t n, int64_t i)
{
	int64_t place = 0, left = s->each, rest = i;
	for (int a = 0; a < s->axes; a++) {
		left /= s->d[a];
		place = place * s->whole[a] + s->at[a] + rest / left;
		rest %= left;
	}
	return n * (uint64_t)s->padded + (uint64_t)(s->axes ? place * s->c + rest : i);
}

/* --- reference kernels --- */

/* The number of the element with row-major index i: (N, C, ...) is numbered in the order (N, ...,
 * C). */
static uint64_t number(const struct mask *m, const struct samples *of, const struct shape *s,
                       int64_t i)
{
	int64_t channels = s->nd < 3 ? 1 : s->d[1], places = of->each / channels;
	int64_t n = i / of->each, at = i % of->each, c = at / places, p = at % places;
	return number_of(of, m->first + (uint64_t)n, s->nd < 3 ? at : p * channels + c);
}

static bool is_dropped(const struct mask *m, const struct samples *of, const struct shape *s,
                       int64_t i)
{
	uint64_t at = number(m, of, s, i);
	uint32_t word = rng_u32(m->seed, m->stream, m->step, at / 2);
	return (at % 2 ? word >> 16 : word & 0xffff) < m->drop;
}

static int reference(const struct kplan *k, const struct kargs *a)
{
	struct mask m = mask_of(k, a);
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const struct samples of = samples_of(k);
	const double *x = a->in[0];
	double *y = a->out[0];
	int64_t n = kplan_out_elements(k, 0);
	for (int64_t i = 0; i < n; i++)
		y[i] = is_dropped(&m, &of, s, i) ? 0 : m.scale * x[i];
	return 0;
}

static int relu_reference(const struct kplan *k, const struct kargs *a)
{
	struct mask m = mask_of(k, a);
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const struct samples of = samples_of(k);
	const double *x = a->in[0];
	double *y = a->out[0], *z = a->out[1];
	int64_t n = kplan_out_elements(k, 0);
	for (int64_t i = 0; i < n; i++) {
		double v = x[i] < 0 ? 0 : x[i];
		y[i] = is_dropped(&m, &of, s, i) ? 0 : m.scale * v;
		if (z)
			z[i] = v;
	}
	return 0;
}

static int relu_grad_reference(const struct kplan *k, const struct kargs *a)
{
	struct mask m = fixed_mask(k);
	const double *y = a->in[0], *dy = a->in[1];
	double *dx = a->out[0];
	int64_t n = kplan_out_elements(k, 0);
	for (int64_t i = 0; i < n; i++)
		dx[i] = y[i] > 0 ? m.scale * dy[i] : 0;
	return 0;
}

/* --- cpu kernels --- */

#define TILE 512             /* elements drawn together; a block of the generator serves 8 */

/* The tensors of the node in memory: rows of c elements, `stride` apart; one row if contiguous. */
struct rows {
	int64_t c, in[2], out[2];
};

static int choose(struct kplan *k, struct layout *in, struct layout *out)
{
	for (int i = 0; i < k->n->nin; i++)
		in[i] = layout_native(node_in_shape(k->g, k->n, i));
	for (int i = 0; i < k->n->nout; i++)
		if (k->n->out[i] != NONE)
			out[i] = layout_native(node_out_shape(k->g, k->n, i));
	return 0;
}

/* bf16 is converted by contiguous runs only, so a slice must be float32. */
static bool takes_slice(const struct kplan *k, bool output, int i)
{
	return graph_t(k->g, output ? k->n->out[i] : k->n->in[i])->dtype == DTYPE_F32;
}

static int64_t stride_of(const struct kplan *k, tid t, int64_t c)
{
	struct layout_rows rows;
	if (t == NONE || !layout_rows(&graph_t(k->g, t)->layout, &graph_t(k->g, t)->shape, &rows))
		return c;
	return rows.stride;
}

static int plan(struct kplan *k)
{
	struct rows *r = k->state = ARENA_NEW(k->arena, struct rows);
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	r->c = s->nd < 2 ? shape_count(s) : s->d[1];
	for (int i = 0; i < 2; i++) {
		r->in[i] = stride_of(k, k->n->in[i], r->c);
		r->out[i] = i < k->n->nout ? stride_of(k, k->n->out[i], r->c) : r->c;
	}
	return 0;
}

/* Copies elements i .. i + n of rows `stride` apart to or from a dense run. */
static void move(float *rows, int64_t c, int64_t stride, int64_t i, int n, float *run, bool gather)
{
	for (int at = 0; at < n;) {
		int64_t row = (i + at) / c, from = (i + at) % c;
		int length = c - from < n - at ? (int)(c - from) : n - at;
		float *p = rows + row * stride + from;
		memcpy(gather ? run + at : p, gather ? p : run + at, sizeof *p * (size_t)length);
		at += length;
	}
}

/* Elements i .. i + n as a contiguous run: in place, or gathered into `room`. */
static const float *fetch(const float *p, int64_t c, int64_t stride, int64_t i, int n, float *room)
{
	if (stride == c)
		return p + i;
	move((float *)p, c, stride, i, n, room, true);
	return room;
}

/* Dropped values may be infinite, so they are selected, not multiplied by 0. The lower half of a
 * random word belongs to the first of its two elements; the first `skip` elements belong to another
 * tile. */
SIMD_CLONES(void, apply,
            (const struct mask *m, const uint32_t *word, int skip, const float *x, float *y,
             int n), (m, word, skip, x, y, n))
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
		y[i] = simd_select(bits[skip + i] < drop, 0, scale * x[i]);
}

SIMD_CLONES(void, positive, (const float *x, float *z, int n), (x, z, n))
{
	SIMD_LOOP
	for (int i = 0; i < n; i++)
		z[i] = simd_select(x[i] < 0, 0, x[i]);
}

SIMD_CLONES(void, scale_positive, (float scale, const float *y, const float *dy, float *dx, int n),
            (scale, y, dy, dx, n))
{
	SIMD_LOOP
	for (int i = 0; i < n; i++)
		dx[i] = simd_select(y[i] > 0, scale * dy[i], 0);
}

/* tile returns the buffer for a tile of output o; store writes it to the output. */
static float *tile(const struct kargs *a, const struct rows *r, int o, int64_t i, float *room)
{
	return r->out[o] == r->c ? (float *)a->out[o] + i : room;
}

static void store(const struct kargs *a, const struct rows *r, int o, int64_t i, int n, float *run)
{
	if (r->out[o] != r->c)
		move(a->out[o], r->c, r->out[o], i, n, run, false);
}

/* n elements of one sample, from i on. Their random numbers begin `skip` elements after the start
 * of a Philox block. */
static void drop_tile(const struct kplan *k, const struct kargs *a, const struct mask *m, int64_t i,
                      int n, uint64_t block, int skip, bool relu)
{
	const struct rows *r = k->state;
	uint32_t word[TILE / 2] = { 0 };
	float gathered[TILE], made[TILE], rectified[TILE];
	const float *x = fetch(a->in[0], r->c, r->in[0], i, n, gathered);
	float *y = tile(a, r, 0, i, made);
	rng_blocks(m->seed, m->stream, m->step, block, (skip + n + BLOCK - 1) / BLOCK, word);
	if (relu) {
		float *z = a->out[1] ? tile(a, r, 1, i, rectified) : rectified;
		positive(x, z, n);
		if (a->out[1])
			store(a, r, 1, i, n, z);
		x = z;
	}
	apply(m, word, skip, x, y, n);
	store(a, r, 0, i, n, y);
}

static void drop_range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi,
                       bool relu)
{
	const struct samples s = samples_of(k);
	struct mask m = mask_of(k, a);
	for (int64_t i = lo, n; i < hi; i += n) {
		const int64_t at = i % s.each, left = s.run - at % s.run;
		const uint64_t number = number_of(&s, m.first + (uint64_t)(i / s.each), at);
		const int skip = (int)(number % BLOCK);
		n = left < hi - i ? left : hi - i;
		if (n > TILE - skip)
			n = TILE - skip;
		drop_tile(k, a, &m, i, (int)n, number / BLOCK, skip, relu);
	}
}

static void range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	drop_range(k, a, lo, hi, false);
}

static void relu_range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	drop_range(k, a, lo, hi, true);
}

static void relu_grad_range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	const struct rows *r = k->state;
	float scale = (float)fixed_mask(k).scale, room[3][TILE];
	for (int64_t i = lo; i < hi; i += TILE) {
		int n = hi - i < TILE ? (int)(hi - i) : TILE;
		const float *y = fetch(a->in[0], r->c, r->in[0], i, n, room[0]);
		const float *dy = fetch(a->in[1], r->c, r->in[1], i, n, room[1]);
		float *dx = tile(a, r, 0, i, room[2]);
		scale_positive(scale, y, dy, dx, n);
		store(a, r, 0, i, n, dx);
	}
}

static int64_t elements(const struct kplan *k)
{
	return shape_count(node_out_shape(k->g, k->n, 0));
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	walk_run(k, a, elements(k), range);
	return 0;
}

static int relu_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_run(k, a, elements(k), relu_range);
	return 0;
}

static int relu_grad_cpu(const struct kplan *k, const struct kargs *a)
{
	walk_run(k, a, elements(k), relu_grad_range);
	return 0;
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
/* Any float type may be a slice. Predicted, not measured: 29 concats of tiramisu in bf16 then need
 * no copy of relu_dropout's output, which saves 4.4 GB, or 1.0 ms at 4.3 TB/s, in a step of two
 * samples. */
static bool cuda_takes_slice(const struct kplan *k, bool output, int i)
{
	return dtype_is_float(graph_t(k->g, output ? k->n->out[i] : k->n->in[i])->dtype);
}

static struct k_dropout drawing(const struct kplan *k, bool relu)
{
	const struct rows *r = k->state;
	const struct mask m = fixed_mask(k);
	const struct samples s = samples_of(k);
	struct k_dropout d = { .n = elements(k), .each = s.each, .c = r->c, .x = r->in[0],
		.y = r->out[0], .z = r->out[1], .padded = s.padded, .axes = s.axes,
		.stream = (int64_t)m.stream, .drop = m.drop, .scale = (float)m.scale, .relu = relu };
	for (int a = 0; a < s.axes; a++) {
		d.d[a] = s.d[a];
		d.whole[a] = s.whole[a];
		d.at[a] = s.at[a];
	}
	return d;
}

static int cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_dropout d = drawing(k, false);
	return cuda_launched(k, k_dropout_run(cuda_stream(k->dev), cuda_out_type(k, 0), &d, a->in[1],
	                                      a->in[0], a->out[0], NULL));
}

static int relu_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_dropout d = drawing(k, true);
	return cuda_launched(k, k_dropout_run(cuda_stream(k->dev), cuda_out_type(k, 0), &d, a->in[1],
	                                      a->in[0], a->out[0], a->out[1]));
}

static int relu_grad_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct rows *r = k->state;
	const bool flat = r->in[0] == r->c && r->in[1] == r->c && r->out[0] == r->c;
	const struct k_walk w = { .n = elements(k), .c = flat ? 0 : r->c, .x = r->in[0], .y = r->in[1],
		.z = r->out[0] };
	return cuda_launched(k, k_binary(cuda_stream(k->dev), K_SCALED_RELU_GRAD, cuda_out_type(k, 0),
	                                 &w, (float)fixed_mask(k).scale, a->in[0], a->in[1],
	                                 a->out[0]));
}
#endif

/* --- samples --- */

static const char *const samples[] = {
	"2x3x4x5 3:key", "3x37 3:key; rate: 0.25, stream: 7", "1x19x3x5x5 3:key; rate: 0.9, stream: -3",
	"2x33x67 3:key; rate: 0.1", "2x12x5x5 3:key; rate: 0.3", "7 3:key; rate: 0", "s 3:key",
	"2x3x4x5 3:key; whole: [9, 7], at: [2, 1]", "2x16x2x3x5 3:key; whole: [5, 3, 6]", NULL
};

static const char *const relu_samples[] = {
	"2x3x4x5:away 3:key", "3x37:away 3:key; rate: 0.25, stream: 7",
	"1x19x3x5x5:away 3:key; rate: 0.9, stream: -3", "2x33x67:away 3:key; rate: 0.1",
	"2x12x5x5:away 3:key; rate: 0.3", "7:away 3:key; rate: 0", "s:away 3:key", NULL
};
static const char *const relu_grad_samples[] = {
	"2x3x4x5:away 2x3x4x5", "3x37:away 3x37; rate: 0.25", "1x19x3x5x5:away 1x19x3x5x5; rate: 0.9",
	"2x33x67:away 2x33x67; rate: 0.1", "7:away 7; rate: 0", "s:away s", NULL
};

/* --- records --- */

#define KERNELS(id, in, out)                                                           \
	.kernel = {                                                                    \
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = id##reference),   \
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = choose, .plan = plan, \
		                  .run = id##cpu, .takes_slice = takes_slice,          \
		                  .bf16_in = in, .bf16_out = out },                    \
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = choose, .plan = plan, \
		            .run = id##cuda, .takes_slice = cuda_takes_slice,          \
		            .bf16_in = in, .bf16_out = out, .bf16 = KB_ALIKE)          \
	}

static const struct op op_dropout = {
	.name = "dropout",
	.doc = "zeroes a random share of x and scales up the rest: (x, key) -> y",
	.flags = OP_RANDOM,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct dropout_attr), .attrs = fields,
	.nondiff = 2, .inplace = 1,
	.shape = shape, .grad = grad, .reads = reads_point, .part = part, .cost = walk_cost,
	KERNELS(, 1, 1),
	.samples = samples,
};

static const struct op op_relu_dropout = {
	.name = "relu_dropout",
	.doc = "dropout of relu(x), and relu(x): (x, key) -> y, z",
	.flags = OP_RANDOM,
	.min_in = 2, .max_in = 2, .nout = 2,
	.attr_size = sizeof(struct dropout_attr), .attrs = fields,
	.nondiff = 2, .inplace = 1,
	.shape = relu_shape, .grad = relu_grad, .reads = reads_point, .part = part, .cost = walk_cost,
	KERNELS(relu_, 1, 3),
	.samples = relu_samples,
};

static const struct op op_relu_dropout_grad = {
	.name = "relu_dropout_grad",
	.doc = "gradient of relu_dropout from its output y and dy",
	.flags = OP_ONCE,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct dropout_attr), .attrs = fields,
	.nondiff = 1, .inplace = 3,
	.shape = walk_shape, .cost = walk_cost,
	KERNELS(relu_grad_, 3, 1),
	.samples = relu_grad_samples,
};

OPSET(dropout, &op_dropout, &op_relu_dropout, &op_relu_dropout_grad);
