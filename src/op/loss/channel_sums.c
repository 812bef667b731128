/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over a batch, for each channel of a prediction x and a target t of equal shape, from which
 * metrics over a whole data set are made; float64, and by addition independent of how the set was
 * cut into batches:
 *   error_sums    (C, 7): elements that count, sum |d|, sum d^2 with d = x - t, then of the target
 *                 sum t, sum h^2, sum h l, sum l^2, where t = h + l and h is t cut off to its first
 *                 12 bits. A square or product of these has 24 bits, so that sums of targets of
 *                 about one magnitude are exact, and the variance made from them does not suffer
 *                 from a mean far larger than itself
 *   flag_counts   (C, 4): of targets that are flags, how often not set and not predicted, not set
 *                 but predicted, set but not predicted, both. A flag is set above 0.5 and predicted
 *                 at a logit above 0; one that is NaN never counts
 * Tensors of less than two axes have one channel. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/fork.h"
#include "op/loss/pointwise_error.h"

#define ERRORS    7
#define FLAGS     4
#define MOST_SUMS ERRORS
#define PIECE     4096   /* elements of one sum; a fixed number, so that the number of threads does
                          * not change the result */

enum leave_out { LEAVE_NONE, LEAVE_NAN, LEAVE_VALUE };
static const char *const leave_out_names[] = { "none", "nan", "value", NULL };

struct channel_sums_attr {
	int leave_out;
	double value;
};

static const struct field fields[] = {
	FIELD_ENUM(struct channel_sums_attr, leave_out, "none", leave_out_names,
	           "targets that do not count: none, those that are NaN, those that are 'value'"),
	FIELD_FLOAT(struct channel_sums_attr, value, "0", -INFINITY, INFINITY, "see leave_out"),
	FIELD_END
};

/* --- shape --- */

static int64_t channels_of(const struct shape *s)
{
	return s->nd < 2 ? 1 : s->d[1];
}

static int sums_shape(struct graph *g, struct node *n, int64_t sums)
{
	TRY(pointwise_error_check(g, n));
	struct shape s = shape_of(2, (int64_t[]){ channels_of(node_in_shape(g, n, 0)), sums });
	return graph_out(g, n, 0, DTYPE_F64, &s);
}

static int error_shape(struct graph *g, struct node *n)
{
	return sums_shape(g, n, ERRORS);
}

static int flag_shape(struct graph *g, struct node *n)
{
	return sums_shape(g, n, FLAGS);
}

/* --- the contribution of an element --- */

typedef void add_fn(const struct channel_sums_attr *at, double x, double t, double *sum);

static inline float first_bits(float v)
{
	uint32_t bits;
	memcpy(&bits, &v, sizeof bits);
	bits &= 0xfffff000u;
	memcpy(&v, &bits, sizeof bits);
	return v;
}

static inline bool left_out(const struct channel_sums_attr *at, double t)
{
	return (at->leave_out == LEAVE_NAN && isnan(t)) ||
	       (at->leave_out == LEAVE_VALUE && (float)t == (float)at->value);
}

static inline void add_error(const struct channel_sums_attr *at, double x, double t, double *sum)
{
	if (left_out(at, t))
		return;
	const double d = x - t, high = (double)first_bits((float)t), low = (double)(float)t - high;
	sum[0]++;
	sum[1] += fabs(d);
	sum[2] += d * d;
	sum[3] += high + low;
	sum[4] += high * high;
	sum[5] += high * low;
	sum[6] += low * low;
}

static inline void add_flag(const struct channel_sums_attr *at, double x, double t, double *sum)
{
	if (!isnan(t) && !left_out(at, t))
		sum[2 * (t > 0.5) + (x > 0)]++;
}

/* --- reference kernels --- */

static int ref_sums(const struct kplan *k, const struct kargs *a, int sums, add_fn *add)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const int64_t n = shape_count(s), c = channels_of(s);
	const int64_t points = s->nd < 2 ? n : n / s->d[0] / c;
	const double *x = a->in[0], *t = a->in[1];
	double *out = a->out[0];
	for (int64_t i = 0; i < c * sums; i++)
		out[i] = 0;
	for (int64_t i = 0; i < n; i++)
		add(k->n->attr, x[i], t[i], out + i / points % c * sums);
	return 0;
}

static int ref_error_run(const struct kplan *k, const struct kargs *a)
{
	return ref_sums(k, a, ERRORS, add_error);
}

static int ref_flag_run(const struct kplan *k, const struct kargs *a)
{
	return ref_sums(k, a, FLAGS, add_flag);
}

/* --- cpu kernels: channels are neighbours --- */

/* Rows of a piece of a channels-last tensor, at least one. */
static int64_t piece_rows(int64_t c)
{
	return c < PIECE ? PIECE / c : 1;
}

static int64_t pieces_of(const struct shape *s)
{
	const int64_t c = channels_of(s), rows = shape_count(s) / c, each = piece_rows(c);
	return (rows + each - 1) / each;
}

static int sums_plan(struct kplan *k)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	k->ws_bytes = sizeof(double) * (size_t)(pieces_of(s) * channels_of(s)) * MOST_SUMS;
	return 0;
}

/* Sums over `rows` rows of c channels, `sums` numbers for each channel. */
static inline void sum_piece(const struct channel_sums_attr *at, int64_t rows, int64_t c,
                             const float *x, const float *t, int sums, add_fn *add, double *out)
{
	for (int64_t j = 0; j < c; j++, out += sums) {
		double sum[MOST_SUMS] = { 0 };
		for (int64_t i = j; i < rows * c; i += c)
			add(at, (double)x[i], (double)t[i], sum);
		memcpy(out, sum, (size_t)sums * sizeof *sum);
	}
}

static inline int cpu_sums(const struct kplan *k, const struct kargs *a, int sums, add_fn *add)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const int64_t c = channels_of(s), rows = shape_count(s) / c, each = piece_rows(c),
	              pieces = pieces_of(s);
	const float *x = a->in[0], *t = a->in[1];
	double *part = a->ws, *out = a->out[0];
#pragma omp parallel for schedule(static) if (rows * c > FORK_FLOATS)
	for (int64_t p = 0; p < pieces; p++) {
		const int64_t at = p * each, n = rows - at < each ? rows - at : each;
		sum_piece(k->n->attr, n, c, x + at * c, t + at * c, sums, add, part + p * c * sums);
	}
	for (int64_t i = 0; i < c * sums; i++) {
		out[i] = 0;
		for (int64_t p = 0; p < pieces; p++)
			out[i] += part[p * c * sums + i];
	}
	return 0;
}

static int error_run(const struct kplan *k, const struct kargs *a)
{
	return cpu_sums(k, a, ERRORS, add_error);
}

static int flag_run(const struct kplan *k, const struct kargs *a)
{
	return cpu_sums(k, a, FLAGS, add_flag);
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA
_Static_assert((int)LEAVE_NAN == K_LEAVE_NAN && (int)LEAVE_VALUE == K_LEAVE_VALUE,
               "cuda/kernels.h numbers what is left out otherwise");

static struct k_channel_sums cuda_sums(const struct kplan *k)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	const struct channel_sums_attr *at = k->n->attr;
	const int64_t c = channels_of(s);
	return (struct k_channel_sums){ shape_count(s) / c, c, at->leave_out, (float)at->value };
}

static int sums_cuda_plan(struct kplan *k)
{
	const struct k_channel_sums s = cuda_sums(k);
	if (s.channels > INT32_MAX)
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU takes up to %d channels",
		           k->n->op->name, INT32_MAX);
	k->ws_bytes = (size_t)k_channel_sums_workspace(&s);
	return 0;
}

static int error_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_channel_sums s = cuda_sums(k);
	return cuda_launched(k, k_error_sums(cuda_stream(k->dev), cuda_in_type(k, 0), &s, a->in[0],
	                                     a->in[1], a->out[0], a->ws));
}

static int flag_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_channel_sums s = cuda_sums(k);
	return cuda_launched(k, k_flag_counts(cuda_stream(k->dev), cuda_in_type(k, 0), &s, a->in[0],
	                                      a->in[1], a->out[0], a->ws));
}
#endif

/* --- samples --- */

static const char *const error_samples[] = {
	"2x3x5x7 2x3x5x7", "4x1 4x1", "s s", "9 9", "2x2x9x21x23 2x2x9x21x23", "700x5 700x5",
	"2x4200x3 2x4200x3", "3x2x9 3x2x9:zero; leave_out: value, value: 0",
	"3x2x9 3x2x9; leave_out: nan", NULL
};
static const char *const flag_samples[] = {
	"2x3x5x7 2x3x5x7", "4x1 4x1", "9 9", "2x2x9x21x23 2x2x9x21x23", "700x5 700x5",
	"3x2x9 3x2x9:zero; leave_out: value, value: 0", NULL
};

/* --- records --- */

static const struct op op_error_sums = {
	.name = "error_sums",
	.doc = "sums of errors by channel, and of targets",
	.flags = OP_NOGRAD,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct channel_sums_attr), .attrs = fields,
	.nondiff = 3,
	.shape = error_shape, .cost = pointwise_error_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = ref_error_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = sums_plan, .run = error_run },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = sums_cuda_plan, .run = error_cuda,
		            .bf16_in = 1)
	},
	.samples = error_samples,
};

static const struct op op_flag_counts = {
	.name = "flag_counts",
	.doc = "counts of (flag, predicted flag) by channel",
	.flags = OP_NOGRAD,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct channel_sums_attr), .attrs = fields,
	.nondiff = 3,
	.shape = flag_shape, .cost = pointwise_error_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = ref_flag_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = sums_plan, .run = flag_run },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = sums_cuda_plan, .run = flag_cuda,
		            .bf16_in = 1)
	},
	.samples = flag_samples,
};

OPSET(channel_sums, &op_error_sums, &op_flag_counts);
