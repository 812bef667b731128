/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measured ceilings of a GPU that utilisation and rooflines refer to: copies inside its memory, and cuBLASLt's products
 * of square matrices with a tile for every multiprocessor many times over. Times are of several in a row, so that starting
 * one is hidden behind the one before. */
#include "backend/cuda.h"

#include <cuda_runtime_api.h>

#include "backend/cublas.h"
#include "backend/transfer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"

#define TURNS 4
#define IN_A_ROW 8
#define SLOW 0.05              /* seconds */
#define EDGE 64                /* rows and columns a multiprocessor */
#define COPY_SHARE 64          /* of the memory is copied, to as much again */
#define COPY_MOST ((size_t)256 << 20)
#define WORKSPACE ((size_t)32 << 20)
#define VALUES (1 << 18)

/* Seconds of n in a row; 0 if one fails. */
static double time_row(struct device *d, int n, int (*one)(struct device *d, void *of), void *of)
{
	if (d->driver->finish(d) < 0)
		return 0;
	double start = io_seconds();
	for (int i = 0; i < n; i++)
		if (one(d, of) < 0)
			return 0;
	return d->driver->finish(d) < 0 ? 0 : io_seconds() - start;
}

/* Seconds of one, the best of several rows; of a slow one the first is enough. */
static double best_time(struct device *d, int (*one)(struct device *d, void *of), void *of)
{
	double best = time_row(d, 1, one, of);
	for (int turn = 0; turn < TURNS && best > 0 && best < SLOW; turn++) {
		double t = time_row(d, IN_A_ROW, one, of) / IN_A_ROW;
		best = t < best ? t : best;
	}
	return best;
}

struct copy {
	char *memory;
	size_t bytes;
};

static int copy_once(struct device *d, void *of)
{
	const struct copy *c = of;
	return cuda_check(cudaMemcpyAsync(c->memory + c->bytes, c->memory, c->bytes, cudaMemcpyDeviceToDevice, cuda_stream(d)),
	                  "copying in the GPU's memory");
}

double cuda_measure_bandwidth(struct device *d)
{
	struct copy c = { .bytes = cuda_memory(d) / COPY_SHARE };
	int mark = err_count();
	if (c.bytes > COPY_MOST)
		c.bytes = COPY_MOST;
	c.memory = device_alloc(d, 2 * c.bytes);
	double t = c.memory ? best_time(d, copy_once, &c) : 0;
	device_free(d, c.memory, 2 * c.bytes);
	err_truncate(mark);
	return t > 0 ? 2.0 * (double)c.bytes / t : 0;      /* read and written */
}

struct product {
	struct cublas_plan *plan;
	char *memory;              /* a, b, c, workspace */
	size_t matrix;             /* bytes of one */
};

static int multiply_once(struct device *d, void *of)
{
	const struct product *p = of;
	(void)d;
	return cublas_plan_run(p->plan, p->memory, p->memory + p->matrix, NULL, p->memory + 2 * p->matrix,
	                       p->memory + 3 * p->matrix);
}

/* The same random values over and over: of zeros a GPU makes more products a second than of anything else, for want of heat. */
static int fill(struct device *d, char *to, int64_t n, enum dtype type)
{
	double *values = mem_alloc(sizeof *values * VALUES);
	int rc = 0;
	rng_normals(1, 0, 0, 0, VALUES, values);
	for (int64_t i = 0; i < n && rc == 0; i += VALUES) {
		struct shape s = { 1, { n - i < VALUES ? n - i : VALUES } };
		struct layout l = layout_plain(&s);
		rc = transfer_write(d, &(struct transfer){ &l, &s, type, to + (size_t)i * dtype_size(type) }, DTYPE_F64, values);
	}
	mem_free(values);
	return rc;
}

double cuda_measure_peak(struct device *d, enum dtype type)
{
	int64_t n = (int64_t)EDGE * cuda_multiprocessors(d);
	const struct cublas_matmul m = { .m = n, .n = n, .k = n, .a_stride = { n, 1 }, .b_stride = { n, 1 },
		.c_stride = { n, 1 }, .type = type, .c_type = type, .tf32 = d->tf32 };
	struct product p = { .matrix = (size_t)(n * n) * dtype_size(type) };
	size_t bytes = 3 * p.matrix + WORKSPACE;
	double t = 0;
	int mark = err_count();
	if (cublas_matmul_new(&p.plan, d, &m, WORKSPACE) == 0 && (p.memory = device_alloc(d, bytes)) &&
	    fill(d, p.memory, 2 * n * n, type) == 0)
		t = best_time(d, multiply_once, &p);
	device_free(d, p.memory, bytes);
	cublas_plan_free(p.plan);
	err_truncate(mark);
	return t > 0 ? 2.0 * (double)n * (double)n * (double)n / t : 0;
}
