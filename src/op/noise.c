/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tensor of random numbers: normal (mean 0, variance 1) or uniform in [0, 1). Rows are
 * realizations. A number is a function of the run's seed, the step, the row's place among all rows
 * of the step (counted from the key's first sample), the stream, and the element's place in the
 * row. So a realization is the same on every rank, however rows are divided among ranks, and all
 * nodes of a stream give the same numbers. Each row begins with a new pair of the generator. */
#include "op/noise.h"

#include "base/err.h"
#include "base/rng.h"
#include "op/lib/cuda.h"
#include "op/lib/emit.h"
#include "op/lib/random.h"
#include "op/lib/walk.h"

/* --- attributes --- */

struct noise_attr {
	int kind;                    /* enum noise_kind */
	struct ints shape;
	int64_t stream;
};

static const char *const kinds[] = { "normal", "uniform", NULL };

static const struct field fields[] = {
	FIELD_ENUM(struct noise_attr, kind, "normal", kinds, "their distribution"),
	FIELD_INTS(struct noise_attr, shape, NULL, 1, INT32_MAX,
	           "shape of the result, rows first; none given: a scalar"),
	FIELD_INT(struct noise_attr, stream, "0", -0x1p63, 0x1p63,
	          "name of the sequence of random numbers"),
	FIELD_END
};

int noise_emit(struct graph *g, enum noise_kind kind, const struct shape *s, int64_t stream,
               tid *out)
{
	const struct noise_attr at = { (int)kind, ints_make(g, s->nd, s->d), stream };
	tid key;
	TRY(random_key(g, &key));
	return graph_emit1(g, "noise", &at, 1, &key, out);
}

/* --- shape --- */

static int shape(struct graph *g, struct node *n)
{
	const struct noise_attr *at = n->attr;
	const struct tensor *key = graph_t(g, n->in[0]);
	struct shape s;
	if (key->dtype != DTYPE_I64 || shape_count(&key->shape) != RANDOM_KEY_VALUES)
		return ERR(E_SHAPE, &g->cur_loc, "the key of 'noise' must be three i64 values");
	if (at->shape.n > MAXD)
		return ERR(E_SHAPE, &g->cur_loc, "'noise' makes tensors of up to %d axes, not %d", MAXD,
		           at->shape.n);
	s = shape_of(at->shape.n, at->shape.v);
	return graph_out(g, n, 0, DTYPE_F32, &s);
}

/* --- numbers --- */

/* The number of rows, the elements of a row, and these rounded up to pairs. */
struct rows {
	int64_t count, each, padded;
};

static struct rows rows_of(const struct kplan *k)
{
	const struct shape *s = node_out_shape(k->g, k->n, 0);
	const int64_t count = s->nd ? s->d[0] : 1, each = shape_count(s) / count;
	return (struct rows){ count, each, each + each % 2 };
}

typedef double one_number(uint64_t seed, uint64_t stream, uint64_t step, uint64_t index);
typedef void numbers(uint64_t seed, uint64_t stream, uint64_t step, int64_t first, int64_t n,
                     double *out);

/* --- reference kernel --- */

static int reference(const struct kplan *k, const struct kargs *a)
{
	const struct noise_attr *at = k->n->attr;
	const struct rows rows = rows_of(k);
	const int64_t *key = a->in[0];
	one_number *const number = at->kind == NOISE_NORMAL ? rng_normal : rng_uniform;
	double *y = a->out[0];
	for (int64_t r = 0; r < rows.count; r++)
		for (int64_t i = 0; i < rows.each; i++)
			*y++ = number((uint64_t)key[0], (uint64_t)at->stream, (uint64_t)key[1],
			              (uint64_t)((key[2] + r) * rows.padded + i));
	return 0;
}

/* --- cpu kernel --- */

#define TILE 512

/* Numbers lo .. hi - 1 of the rows after rounding up to pairs; lo is even. */
static void range(const struct kplan *k, const struct kargs *a, int64_t lo, int64_t hi)
{
	const struct noise_attr *at = k->n->attr;
	const struct rows rows = rows_of(k);
	const int64_t *key = a->in[0];
	numbers *const draw = at->kind == NOISE_NORMAL ? rng_normals : rng_uniforms;
	float *y = (float *)a->out[0] + lo / rows.padded * rows.each + lo % rows.padded;
	int64_t column = lo % rows.padded;
	double made[TILE];
	for (int64_t i = lo; i < hi; i += TILE) {
		const int64_t n = hi - i < TILE ? hi - i : TILE;
		draw((uint64_t)key[0], (uint64_t)at->stream, (uint64_t)key[1],
		     key[2] * rows.padded + i, n, made);
		for (int64_t j = 0; j < n; j++) {
			if (column < rows.each)
				*y++ = (float)made[j];
			column = column + 1 < rows.padded ? column + 1 : 0;
		}
	}
}

static int cpu(const struct kplan *k, const struct kargs *a)
{
	const struct rows rows = rows_of(k);
	walk_run(k, a, rows.count * rows.padded, range);
	return 0;
}

/* --- cuda kernel --- */

#ifdef HAVE_CUDA
static int cuda(const struct kplan *k, const struct kargs *a)
{
	const struct noise_attr *at = k->n->attr;
	const struct rows rows = rows_of(k);
	const struct k_noise d = { .rows = rows.count, .each = rows.each, .stream = at->stream,
		.normal = at->kind == NOISE_NORMAL };
	return cuda_launched(k, k_noise_run(cuda_stream(k->dev), &d, a->in[0], a->out[0]));
}
#endif

/* --- samples --- */

static const char *const samples[] = {
	"3:key; shape: [6, 4]", "3:key; shape: [5, 3], stream: 7", "3:key; shape: [3, 5, 7]",
	"3:key; shape: [200, 333], stream: -2", "3:key; shape: [257, 1], kind: uniform",
	"3:key; shape: [4, 50], kind: uniform, stream: 3", "3:key; shape: 9, kind: uniform", "3:key",
	NULL
};

/* --- records --- */

static const struct op op_noise = {
	.name = "noise",
	.doc = "random numbers: (key) -> y",
	.flags = OP_RANDOM | OP_NOGRAD,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct noise_attr), .attrs = fields,
	.nondiff = 1,
	.shape = shape, .cost = walk_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = reference },
		[BACKEND_DOUBLE] = { .layouts = KL_PLAIN, .run = reference },
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .run = cpu },
		CUDA_KERNEL(.layouts = KL_PLAIN, .run = cuda)
	},
	.samples = samples,
};

OPSET(noise, &op_noise);
