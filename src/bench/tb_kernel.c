/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/tb_kernel.h"

#include <math.h>
#include <string.h>

#include "base/simd.h"
#include "bench/siphash.h"

static double nothing(const struct tb_graph *g, int64_t t, int64_t i, void *scratch)
{
	return 0;
}

static double busy_wait(const struct tb_graph *g, int64_t t, int64_t i, void *scratch)
{
	int64_t a = 113;
	for (int64_t k = 0; k < g->iterations; k++)
		a = a * 139 % 2147483647;
	return (double)a;
}

/* --- arithmetic --- */

#define LANES 8
#define VECTORS 8              /* of LANES: 64 numbers, which stay in registers */
typedef double vector __attribute__((vector_size(LANES * sizeof(double))));

/* Read again for each vector, so that no compiler merges vectors. */
static const volatile double start = 1.2345;

SIMD_CLONES(double, multiply_add, (int64_t n), (n))
{
	vector a[VECTORS];
	SIMD_UNROLL
	for (int k = 0; k < VECTORS; k++)
		a[k] = (vector){ 0 } + start;
	for (int64_t i = 0; i < n; i++) {
		SIMD_UNROLL
		for (int k = 0; k < VECTORS; k++)
			a[k] = a[k] * a[k] + a[k];
	}
	const vector p = (a[0] * a[1] * (a[2] * a[3])) * (a[4] * a[5] * (a[6] * a[7]));
	return (p[0] * p[1] * (p[2] * p[3])) * (p[4] * p[5] * (p[6] * p[7]));
}

static double compute_bound(const struct tb_graph *g, int64_t t, int64_t i, void *scratch)
{
	return multiply_add(g->iterations);
}

static int64_t compute_flops(const struct tb_graph *g, int64_t t, int64_t i)
{
	return 2 * LANES * VECTORS * g->iterations + LANES * VECTORS;
}

SIMD_CLONES(double, accumulate, (int64_t n), (n))
{
	vector a[4], b[4], c[4] = { 0 };
	SIMD_UNROLL
	for (int k = 0; k < 4; k++) {
		a[k] = (vector){ 0 } + start;
		b[k] = (vector){ 0 } + start;
	}
	for (int64_t i = 0; i < n; i++) {
		SIMD_UNROLL
		for (int k = 0; k < 4; k++)
			c[k] = c[k] + a[k] * b[k];
	}
	const vector s = c[0] + c[1] + (c[2] + c[3]);
	return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

static double compute_bound2(const struct tb_graph *g, int64_t t, int64_t i, void *scratch)
{
	return accumulate(g->iterations);
}

static int64_t compute2_flops(const struct tb_graph *g, int64_t t, int64_t i)
{
	return 2 * 4 * LANES * g->iterations;
}

static int64_t imbalanced(const struct tb_graph *g, int64_t t, int64_t i)
{
	const int64_t task[] = { g->index, t, i };
	const double factor = 1 + (siphash_uniform(task, 3) - 0.5) * g->imbalance;
	return (int64_t)round(factor * (double)g->iterations);
}

static double load_imbalance(const struct tb_graph *g, int64_t t, int64_t i, void *scratch)
{
	return multiply_add(imbalanced(g, t, i));
}

static int64_t imbalance_flops(const struct tb_graph *g, int64_t t, int64_t i)
{
	return 2 * LANES * VECTORS * imbalanced(g, t, i) + LANES * VECTORS;
}

/* Rows and columns of each of three matrices in the scratch memory. */
static int64_t matrix_side(const struct tb_graph *g)
{
	return (int64_t)sqrt((double)(g->scratch_bytes / (3 * (int64_t)sizeof(double))));
}

SIMD_CLONES(double, product, (double *a, int64_t n, int64_t times), (a, n, times))
{
	double *b = a + n * n, *c = b + n * n;
	for (int64_t k = 0; k < times * n * n; k++) {
		const int64_t row = k / n % n, mid = k % n;
		const double f = a[row * n + mid];
		SIMD_LOOP
		for (int64_t j = 0; j < n; j++)
			c[row * n + j] += f * b[mid * n + j];
	}
	return c[n * n - 1];
}

static double compute_dgemm(const struct tb_graph *g, int64_t t, int64_t i, void *scratch)
{
	return product(scratch, matrix_side(g), g->iterations);
}

static int64_t dgemm_flops(const struct tb_graph *g, int64_t t, int64_t i)
{
	const int64_t n = matrix_side(g);
	return 2 * n * n * n * g->iterations;
}

/* --- memory --- */

/* Copies the first half of a slice of the scratch memory into its second half; the slices of
 * successive iterations and steps go round, so that fewer iterations touch less of the memory at a
 * time, but as much of it in all. */
static double memory_bound(const struct tb_graph *g, int64_t t, int64_t i, void *scratch)
{
	const int64_t slice = g->scratch_bytes / g->samples;
	for (int64_t done = 0, n; done < g->iterations; done += n) {
		const int64_t first = (t * g->iterations + done) % g->samples;
		n = g->samples - first < g->iterations - done ? g->samples - first : g->iterations - done;
		char *from = (char *)scratch + first * slice;
		memcpy(from + n * slice / 2, from, (size_t)(n * slice / 2));
	}
	return ((const char *)scratch)[g->scratch_bytes / 2];
}

SIMD_CLONES(double, add_scaled, (double *x, int64_t n), (x, n))
{
	double *y = x + n;
	SIMD_LOOP
	for (int64_t k = 0; k < n; k++)
		y[k] += 1.0 * x[k];
	return y[0];
}

static double memory_daxpy(const struct tb_graph *g, int64_t t, int64_t i, void *scratch)
{
	const int64_t slice = g->scratch_bytes / g->samples / 16;
	double sum = 0;
	for (int64_t k = 0; k < g->iterations; k++)
		sum += add_scaled((double *)scratch + (t * g->iterations + k) % g->samples * slice * 2,
		                  slice);
	return sum;
}

static int64_t memory_bytes(const struct tb_graph *g)
{
	return g->scratch_bytes * g->iterations / g->samples;
}

/* --- the table --- */

static const struct tb_kernel kernels[] = {
	{ "empty", "nothing", false, nothing, NULL, NULL },
	{ "busy_wait", "integer products, one after the other", false, busy_wait, NULL, NULL },
	{ "compute_bound", "64 independent multiply-adds", false, compute_bound, compute_flops, NULL },
	{ "compute_bound2", "32 sums of products", false, compute_bound2, compute2_flops, NULL },
	{ "compute_dgemm", "products of matrices", true, compute_dgemm, dgemm_flops, NULL },
	{ "memory_bound", "copies", true, memory_bound, NULL, memory_bytes },
	{ "memory_daxpy", "y += a x", true, memory_daxpy, NULL, memory_bytes },
	{ "load_imbalance", "compute_bound with different iterations for each task", false,
	  load_imbalance, imbalance_flops, NULL },
};
#define NKERNEL ((int)(sizeof kernels / sizeof *kernels))

const struct tb_kernel *tb_kernel_at(int i)
{
	return i < NKERNEL ? &kernels[i] : NULL;
}

const struct tb_kernel *tb_kernel_find(const char *name)
{
	for (int i = 0; i < NKERNEL; i++)
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	return NULL;
}
