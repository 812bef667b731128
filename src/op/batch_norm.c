/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation (Ioffe and Szegedy, 2015) over every axis but channels:
 *   y = gamma * (x - mean) * rstd + beta,   rstd = 1 / sqrt(variance + eps)
 * with the biased variance (divided by n). Training uses the batch's statistics, inference the
 * running ones. With xhat = (x - mean) * rstd the gradients are
 *   dbeta = sum dy,   dgamma = sum dy xhat,
 *   dx = gamma rstd (dy - dbeta / n - xhat dgamma / n).
 *
 * CPU: x is a matrix of rows x C, cut into blocks of about 32 KiB whatever the number of threads.
 * Each block sums in float around a shift of its own (the mean of its first rows, which bounds the
 * cancellation), and blocks are joined in order in double, as in Chan, Golub and LeVeque (1983). */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/check.h"
#include "op/grid.h"
#include "op/simd.h"

struct batch_norm {
	double eps;
};

static const struct field fields[] = {
	FIELD_FLOAT(struct batch_norm, eps, "1e-5", 1e-12, 1, "added to the variance before the root"),
	FIELD_END
};

/* --- shape --- */

static int vectors_shape(struct graph *g, struct node *n, int first)
{
	for (int i = first; i < n->nin; i++) {
		TRY(check_dtype(g, n, i, DTYPE_F32));
		TRY(check_vector(g, n, i, node_in_shape(g, n, 0)->d[1]));
	}
	return 0;
}

static int channel_outputs(struct graph *g, struct node *n, int first)
{
	struct shape c = shape_of(1, &node_in_shape(g, n, 0)->d[1]);
	for (int i = first; i < n->op->nout; i++)
		TRY(graph_out(g, n, i, DTYPE_F32, &c));
	return 0;
}

static int input_shape(struct graph *g, struct node *n)
{
	TRY(check_dtype(g, n, 0, DTYPE_F32));
	return check_rank(g, n, 0, 2, 5);
}

static int shape(struct graph *g, struct node *n)
{
	TRY(input_shape(g, n));
	TRY(vectors_shape(g, n, 1));
	struct shape x = *node_in_shape(g, n, 0);
	if (shape_count(&x) / x.d[1] < 2) {
		char text[SHAPE_TEXT];
		return ERR(E_SHAPE, &g->cur_loc,
		           "layer '%s': '%s' of %s has one value per channel, which has no "
		           "variance; use a larger batch",
		           check_layer(n), n->op->name, shape_text(&x, text));
	}
	TRY(graph_out(g, n, 0, DTYPE_F32, &x));
	return channel_outputs(g, n, 1);
}

static int grad_shape(struct graph *g, struct node *n)
{
	TRY(input_shape(g, n));
	TRY(check_equal(g, n, 0, 1));
	TRY(vectors_shape(g, n, 2));
	struct shape x = *node_in_shape(g, n, 0);
	TRY(graph_out(g, n, 0, DTYPE_F32, &x));
	return channel_outputs(g, n, 1);
}

static int inference_shape(struct graph *g, struct node *n)
{
	TRY(input_shape(g, n));
	TRY(vectors_shape(g, n, 1));
	struct shape x = *node_in_shape(g, n, 0);
	return graph_out(g, n, 0, DTYPE_F32, &x);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	for (int i = 1; i < n->nout; i++)
		if (dy[i] != NONE)
			return ERR(E_UNSUPPORTED, &n->loc,
			           "layer '%s': the batch statistics of '%s' have no gradient rule",
			           check_layer(n), n->op->name);
	if (dy[0] == NONE)
		return 0;
	tid in[] = { n->in[0], dy[0], n->in[1], n->out[1], n->out[2] };
	return graph_emit(g, "batch_norm_grad", NULL, 5, in, 3, dx);
}

static int inference_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (dy[0] == NONE)
		return 0;
	tid in[] = { n->in[0], dy[0], n->in[1], n->in[3], n->in[4] };
	return graph_emit(g, "batch_norm_inference_grad", n->attr, 5, in, 3, dx);
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 8.0 * (double)shape_count(node_in_shape(g, n, 0));
}

static void inference_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 2.0 * (double)shape_count(node_in_shape(g, n, 0));
}

/* --- reference kernels --- */

/* x (N, C, points) in row-major order. */
struct planes {
	int64_t n, c, points;
};

static struct planes planes_of(const struct kplan *k)
{
	struct grid x = grid_of(node_in_shape(k->g, k->n, 0));
	return (struct planes){ x.n, x.c, grid_points(&x) };
}

#define EACH_VALUE(p, c_, i)                                                              \
	for (int64_t n_ = 0; n_ < (p).n; n_++)                                            \
		for (int64_t i = (n_ * (p).c + (c_)) * (p).points, end_ = i + (p).points; \
		     i < end_; i++)

static void ref_normalise(struct planes p, int64_t c, const double *x, double mean, double a,
                          double b, double *y)
{
	EACH_VALUE (p, c, i)
		y[i] = (x[i] - mean) * a + b;
}

static int ref_run(const struct kplan *k, const struct kargs *a)
{
	struct planes p = planes_of(k);
	const struct batch_norm *at = k->n->attr;
	const double *x = a->in[0], *gamma = a->in[1], *beta = a->in[2];
	double *mean = a->out[1], *rstd = a->out[2], *variance = a->out[3],
	       count = (double)(p.n * p.points);
	for (int64_t c = 0; c < p.c; c++) {
		double sum = 0, squares = 0;
		EACH_VALUE (p, c, i)
			sum += x[i];
		double m = sum / count;
		EACH_VALUE (p, c, i)
			squares += (x[i] - m) * (x[i] - m);
		double r = 1 / sqrt(squares / count + at->eps);
		ref_normalise(p, c, x, m, gamma[c] * r, beta[c], a->out[0]);
		if (mean)
			mean[c] = m;
		if (rstd)
			rstd[c] = r;
		if (variance)
			variance[c] = squares / count;
	}
	return 0;
}

static int ref_grad_run(const struct kplan *k, const struct kargs *a)
{
	struct planes p = planes_of(k);
	const double *x = a->in[0], *dy = a->in[1], *gamma = a->in[2], *mean = a->in[3],
		     *rstd = a->in[4];
	double *dx = a->out[0], *dgamma = a->out[1], *dbeta = a->out[2],
	       count = (double)(p.n * p.points);
	for (int64_t c = 0; c < p.c; c++) {
		double db = 0, dg = 0;
		EACH_VALUE (p, c, i) {
			db += dy[i];
			dg += dy[i] * (x[i] - mean[c]) * rstd[c];
		}
		EACH_VALUE (p, c, i) {
			double xhat = (x[i] - mean[c]) * rstd[c];
			dx[i] = gamma[c] * rstd[c] * (dy[i] - db / count - xhat * dg / count);
		}
		dgamma[c] = dg;
		dbeta[c] = db;
	}
	return 0;
}

static int ref_inference_run(const struct kplan *k, const struct kargs *a)
{
	struct planes p = planes_of(k);
	const struct batch_norm *at = k->n->attr;
	const double *gamma = a->in[1], *beta = a->in[2], *mean = a->in[3], *variance = a->in[4];
	for (int64_t c = 0; c < p.c; c++)
		ref_normalise(p, c, a->in[0], mean[c], gamma[c] / sqrt(variance[c] + at->eps),
		              beta[c], a->out[0]);
	return 0;
}

static int ref_inference_grad_run(const struct kplan *k, const struct kargs *a)
{
	struct planes p = planes_of(k);
	const struct batch_norm *at = k->n->attr;
	const double *x = a->in[0], *dy = a->in[1], *gamma = a->in[2], *mean = a->in[3],
		     *variance = a->in[4];
	double *dx = a->out[0], *dgamma = a->out[1], *dbeta = a->out[2];
	for (int64_t c = 0; c < p.c; c++) {
		double db = 0, dg = 0, r = 1 / sqrt(variance[c] + at->eps);
		EACH_VALUE (p, c, i) {
			db += dy[i];
			dg += dy[i] * (x[i] - mean[c]) * r;
			dx[i] = dy[i] * gamma[c] * r;
		}
		dgamma[c] = dg;
		dbeta[c] = db;
	}
	return 0;
}

/* --- cpu kernels --- */

#define BLOCK_FLOATS   8192 /* 32 KiB */
#define BLOCK_MIN_ROWS 32
#define SHIFT_ROWS     8
#define FORK_FLOATS    16384 /* below this a fork costs more than it gains */

struct blocks {
	int64_t rows, c;  /* the matrix */
	int64_t block, n; /* rows in a block, blocks */
};

/* Workspace: n blocks of 3 * c floats, then 2 * c doubles, then 4 * c floats. */
static float *block_part(const struct blocks *b, void *ws, int64_t i)
{
	return (float *)((double *)ws + 2 * b->c) + 4 * b->c + i * 3 * b->c;
}

static float *vector_part(const struct blocks *b, void *ws, int i)
{
	return (float *)((double *)ws + 2 * b->c) + i * b->c;
}

static int cpu_plan(struct kplan *k)
{
	const struct shape *x = node_in_shape(k->g, k->n, 0);
	struct blocks *b = k->state = ARENA_NEW(k->arena, struct blocks);
	b->c = x->d[1];
	b->rows = shape_count(x) / b->c;
	b->block = BLOCK_FLOATS / b->c > BLOCK_MIN_ROWS ? BLOCK_FLOATS / b->c : BLOCK_MIN_ROWS;
	b->n = (b->rows + b->block - 1) / b->block;
	k->ws_bytes = (size_t)b->c * (2 * sizeof(double) + (4 + 3 * (size_t)b->n) * sizeof(float));
	return 0;
}

static int64_t block_rows(const struct blocks *b, int64_t i)
{
	int64_t left = b->rows - i * b->block;
	return left < b->block ? left : b->block;
}

/* s1 = sum (x - shift), s2 = sum (x - shift)^2 over the rows, with the shift chosen here. part:
 * shift, s1, s2 of c each. */
SIMD_CLONES static void sum_block(const float *x, int64_t rows, int64_t c, float *part)
{
	float *shift = part, *s1 = part + c, *s2 = part + 2 * c;
	int64_t head = rows < SHIFT_ROWS ? rows : SHIFT_ROWS, r = 0;
	float share = 1.0f / (float)head;
	memset(part, 0, sizeof *part * 3 * (size_t)c);
	for (int64_t i = 0; i < head; i++)
#pragma omp simd
		for (int64_t j = 0; j < c; j++)
			shift[j] += x[i * c + j] * share;
	for (; r + 4 <= rows; r += 4, x += 4 * c)
#pragma omp simd
		for (int64_t j = 0; j < c; j++) {
			float m = shift[j], d0 = x[j] - m, d1 = x[c + j] - m, d2 = x[2 * c + j] - m,
			      d3 = x[3 * c + j] - m;
			s1[j] += (d0 + d1) + (d2 + d3);
			s2[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
		}
	for (; r < rows; r++, x += c)
#pragma omp simd
		for (int64_t j = 0; j < c; j++) {
			float d = x[j] - shift[j];
			s1[j] += d;
			s2[j] += d * d;
		}
}

/* s1 += sum dy, s2 += sum dy (x - mean). */
SIMD_CLONES static void sum_grad_block(const float *x, const float *dy, const float *mean,
                                       int64_t rows, int64_t c, float *part)
{
	float *s1 = part + c, *s2 = part + 2 * c;
	int64_t r = 0;
	memset(s1, 0, sizeof *s1 * 2 * (size_t)c);
	for (; r + 4 <= rows; r += 4, x += 4 * c, dy += 4 * c)
#pragma omp simd
		for (int64_t j = 0; j < c; j++) {
			float m = mean[j], e0 = dy[j], e1 = dy[c + j], e2 = dy[2 * c + j],
			      e3 = dy[3 * c + j];
			s1[j] += (e0 + e1) + (e2 + e3);
			s2[j] += (e0 * (x[j] - m) + e1 * (x[c + j] - m)) +
			         (e2 * (x[2 * c + j] - m) + e3 * (x[3 * c + j] - m));
		}
	for (; r < rows; r++, x += c, dy += c)
#pragma omp simd
		for (int64_t j = 0; j < c; j++) {
			s1[j] += dy[j];
			s2[j] += dy[j] * (x[j] - mean[j]);
		}
}

SIMD_CLONES static void add_means(const float *part, double rows, int64_t c, double *mean)
{
#pragma omp simd
	for (int64_t j = 0; j < c; j++)
		mean[j] += rows * (double)part[j] + (double)part[c + j];
}

SIMD_CLONES static void add_squares(const float *part, double rows, int64_t c, const double *mean,
                                    double *m2)
{
#pragma omp simd
	for (int64_t j = 0; j < c; j++) {
		double s1 = part[c + j], d = (double)part[j] + s1 / rows - mean[j];
		m2[j] += (double)part[2 * c + j] - s1 * s1 / rows + rows * d * d;
	}
}

SIMD_CLONES static void add_sums(const float *part, int64_t c, double *sum)
{
#pragma omp simd
	for (int64_t j = 0; j < 2 * c; j++)
		sum[j] += (double)part[c + j];
}

/* y = (x - mean) * a + b */
SIMD_CLONES static void normalise(const float *x, const float *mean, const float *a, const float *b,
                                  int64_t rows, int64_t c, float *y)
{
	for (int64_t r = 0; r < rows; r++, x += c, y += c)
#pragma omp simd
		for (int64_t j = 0; j < c; j++)
			y[j] = (x[j] - mean[j]) * a[j] + b[j];
}

/* dx = dy * a - (x - mean) * k2 - k1 */
SIMD_CLONES static void input_gradient(const float *x, const float *dy, const float *mean,
                                       const float *a, const float *k1, const float *k2,
                                       int64_t rows, int64_t c, float *dx)
{
	for (int64_t r = 0; r < rows; r++, x += c, dy += c, dx += c)
#pragma omp simd
		for (int64_t j = 0; j < c; j++)
			dx[j] = dy[j] * a[j] - ((x[j] - mean[j]) * k2[j] + k1[j]);
}

static void normalise_all(const struct blocks *b, const float *x, const float *mean,
                          const float *scale, const float *beta, float *y)
{
#pragma omp parallel for schedule(static) if (b->rows * b->c > FORK_FLOATS)
	for (int64_t i = 0; i < b->n; i++) {
		int64_t at = i * b->block * b->c;
		normalise(x + at, mean, scale, beta, block_rows(b, i), b->c, y + at);
	}
}

/* The statistics of the batch: sums[0..c) the mean, sums[c..2c) the sum of squared deviations. */
static void statistics(const struct blocks *b, const float *x, void *ws)
{
	double *mean = ws, *m2 = mean + b->c;
#pragma omp parallel for schedule(static) if (b->rows * b->c > FORK_FLOATS)
	for (int64_t i = 0; i < b->n; i++)
		sum_block(x + i * b->block * b->c, block_rows(b, i), b->c, block_part(b, ws, i));
	memset(mean, 0, sizeof *mean * 2 * (size_t)b->c);
	for (int64_t i = 0; i < b->n; i++)
		add_means(block_part(b, ws, i), (double)block_rows(b, i), b->c, mean);
	for (int64_t j = 0; j < b->c; j++)
		mean[j] /= (double)b->rows;
	for (int64_t i = 0; i < b->n; i++)
		add_squares(block_part(b, ws, i), (double)block_rows(b, i), b->c, mean, m2);
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	const struct blocks *b = k->state;
	const struct batch_norm *at = k->n->attr;
	const float *gamma = a->in[1], *beta = a->in[2];
	float *mean = a->out[1], *rstd = a->out[2], *variance = a->out[3];
	float *m = vector_part(b, a->ws, 0), *scale = vector_part(b, a->ws, 1);
	const double *sums = a->ws;
	statistics(b, a->in[0], a->ws);
	for (int64_t j = 0; j < b->c; j++) {
		double v = sums[b->c + j] / (double)b->rows;
		double r = 1 / sqrt((v > 0 || isnan(v) ? v : 0) + at->eps);
		m[j] = (float)sums[j];
		scale[j] = (float)(gamma[j] * r);
		if (mean)
			mean[j] = m[j];
		if (rstd)
			rstd[j] = (float)r;
		if (variance)
			variance[j] = (float)v;
	}
	normalise_all(b, a->in[0], m, scale, beta, a->out[0]);
	return 0;
}

/* Workspace sums[0..c) = sum dy, sums[c..2c) = sum dy (x - mean). */
static void gradient_sums(const struct blocks *b, const float *x, const float *dy,
                          const float *mean, void *ws)
{
	double *sum = ws;
#pragma omp parallel for schedule(static) if (b->rows * b->c > FORK_FLOATS)
	for (int64_t i = 0; i < b->n; i++) {
		int64_t at = i * b->block * b->c;
		sum_grad_block(x + at, dy + at, mean, block_rows(b, i), b->c, block_part(b, ws, i));
	}
	memset(sum, 0, sizeof *sum * 2 * (size_t)b->c);
	for (int64_t i = 0; i < b->n; i++)
		add_sums(block_part(b, ws, i), b->c, sum);
}

static int cpu_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct blocks *b = k->state;
	const float *x = a->in[0], *dy = a->in[1], *gamma = a->in[2], *mean = a->in[3],
		    *rstd = a->in[4];
	float *dx = a->out[0], *dgamma = a->out[1], *dbeta = a->out[2];
	float *scale = vector_part(b, a->ws, 0), *k1 = vector_part(b, a->ws, 1),
	      *k2 = vector_part(b, a->ws, 2);
	const double *sums = a->ws;
	gradient_sums(b, x, dy, mean, a->ws);
	for (int64_t j = 0; j < b->c; j++) {
		double db = sums[j], dg = sums[b->c + j] * rstd[j], s = (double)gamma[j] * rstd[j];
		dbeta[j] = (float)db;
		dgamma[j] = (float)dg;
		scale[j] = (float)s;
		k1[j] = (float)(s * db / (double)b->rows);
		k2[j] = (float)(s * rstd[j] * dg / (double)b->rows);
	}
#pragma omp parallel for schedule(static) if (b->rows * b->c > FORK_FLOATS)
	for (int64_t i = 0; i < b->n; i++) {
		int64_t at = i * b->block * b->c;
		input_gradient(x + at, dy + at, mean, scale, k1, k2, block_rows(b, i), b->c,
		               dx + at);
	}
	return 0;
}

static int cpu_inference_run(const struct kplan *k, const struct kargs *a)
{
	const struct blocks *b = k->state;
	const struct batch_norm *at = k->n->attr;
	const float *gamma = a->in[1], *variance = a->in[4];
	float *scale = vector_part(b, a->ws, 0);
	for (int64_t j = 0; j < b->c; j++)
		scale[j] = (float)(gamma[j] / sqrt((double)variance[j] + at->eps));
	normalise_all(b, a->in[0], a->in[3], scale, a->in[2], a->out[0]);
	return 0;
}

static int cpu_inference_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct blocks *b = k->state;
	const struct batch_norm *at = k->n->attr;
	const float *dy = a->in[1], *gamma = a->in[2], *mean = a->in[3], *variance = a->in[4];
	float *dgamma = a->out[1], *dbeta = a->out[2], *scale = vector_part(b, a->ws, 0),
	      *zero = vector_part(b, a->ws, 1);
	const double *sums = a->ws;
	gradient_sums(b, a->in[0], dy, mean, a->ws);
	for (int64_t j = 0; j < b->c; j++) {
		double r = 1 / sqrt((double)variance[j] + at->eps);
		dbeta[j] = (float)sums[j];
		dgamma[j] = (float)(sums[b->c + j] * r);
		scale[j] = (float)(gamma[j] * r);
		zero[j] = 0;
	}
	normalise_all(b, dy, zero, scale, zero, a->out[0]);
	return 0;
}

/* --- samples --- */

static const char *const samples[] = {
	"2x3x5x7 3:positive 3", "3x17x3x5 17 17; eps: 0.001", "2x1x4x3x5 1 1",
	"7x5 5 5:positive",     "2x48x21x23 48:positive 48",  NULL
};
static const char *const grad_samples[] = { "2x3x5x7 2x3x5x7 3 3 3:positive",
	                                    "2x17x3x3x5 2x17x3x3x5 17 17 17:positive",
	                                    "9x5 9x5 5 5 5:positive",
	                                    "2x48x21x23 2x48x21x23 48 48 48:positive", NULL };
static const char *const inference_samples[] = { "2x3x5x7 3 3 3 3:positive",
	                                         "1x17x3x3x5 17 17 17 17:positive; eps: 0.01",
	                                         "4x5 5 5 5 5:positive",
	                                         "1x48x21x23 48 48 48 48:positive", NULL };
static const char *const inference_grad_samples[] = {
	"2x3x5x7 2x3x5x7 3 3 3:positive", "1x48x21x23 1x48x21x23 48 48 48:positive; eps: 0.01",
	NULL
};

/* --- records --- */

static const struct op op_batch_norm = {
	.name = "batch_norm",
	.doc = "normalises channels by the batch's mean and variance, which it also gives",
	.min_in = 3, .max_in = 3, .nout = 4,
	.attr_size = sizeof(struct batch_norm), .attrs = fields,
	.inplace = 1,
	.shape = shape, .grad = grad, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ref_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_run },
	},
	.samples = samples,
};

static const struct op op_batch_norm_grad = {
	.name = "batch_norm_grad",
	.doc = "gradients of batch_norm for x, gamma and beta from x, dy, gamma, mean and 1 / deviation",
	.flags = OP_ONCE,
	.min_in = 5, .max_in = 5, .nout = 3,
	.inplace = 3,
	.shape = grad_shape, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ref_grad_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_grad_run },
	},
	.samples = grad_samples,
};

static const struct op op_batch_norm_inference = {
	.name = "batch_norm_inference",
	.doc = "normalises each channel by the running mean and variance",
	.min_in = 5, .max_in = 5, .nout = 1,
	.attr_size = sizeof(struct batch_norm), .attrs = fields,
	.nondiff = 1u << 3 | 1u << 4, .inplace = 1,
	.shape = inference_shape, .grad = inference_grad, .cost = inference_cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ref_inference_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_inference_run },
	},
	.samples = inference_samples,
};

static const struct op op_batch_norm_inference_grad = {
	.name = "batch_norm_inference_grad",
	.doc = "gradients of batch_norm_inference for x, gamma and beta",
	.flags = OP_ONCE,
	.min_in = 5, .max_in = 5, .nout = 3,
	.attr_size = sizeof(struct batch_norm), .attrs = fields,
	.inplace = 3,
	.shape = grad_shape, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = ref_inference_grad_run },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = cpu_plan, .run = cpu_inference_grad_run },
	},
	.samples = inference_grad_samples,
};

OPSET(batch_norm, &op_batch_norm, &op_batch_norm_grad, &op_batch_norm_inference,
      &op_batch_norm_inference_grad);
