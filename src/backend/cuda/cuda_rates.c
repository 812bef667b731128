/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the peak rates of a GPU, to which utilisation and rooflines refer: the bandwidth of
 * copies within its memory, and the flop/s of cuBLASLt's products of square matrices large enough
 * to give every multiprocessor many tiles. */
#include "backend/cuda/cuda.h"

#include <cuda_runtime_api.h>

#include "backend/cuda/cublas.h"
#include "backend/cuda/cuda_time.h"
#include "backend/transfer.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"

#define EDGE 64                /* rows and columns a multiprocessor */
#define COPY_SHARE 64          /* 1/64 of the memory is copied to a second buffer of the same
                                * size */
#define COPY_MOST ((size_t)256 << 20)
#define WORKSPACE ((size_t)32 << 20)
#define VALUES (1 << 18)

/* The rate of one(of), which does `amount` bytes or flops, per second; 0 if it fails. */
static double rate(const struct device *d, int (*one)(void *of), void *of, double amount)
{
	double us = 0;
	return cuda_time(cuda_stream(d), one, of, 0, &us) == 0 && us > 0 ? amount / (us * 1e-6) : 0;
}

/* After planning nothing more is allocated, so the step's
 * memory is borrowed where it is large enough. */
static char *borrow(const struct device *d, size_t bytes)
{
	if (bytes <= d->memory->scratch_bytes)
		return d->memory->scratch;
	return d->memory->running ? NULL : device_alloc(d, bytes);
}

static void put_back(const struct device *d, char *memory, size_t bytes)
{
	if (memory != d->memory->scratch)
		device_free(d, memory, bytes);
}

struct copy {
	const struct device *dev;
	char *memory;
	size_t bytes;
};

static int copy_once(void *of)
{
	const struct copy *c = of;
	return cuda_check(cudaMemcpyAsync(c->memory + c->bytes, c->memory, c->bytes,
	                                  cudaMemcpyDeviceToDevice, cuda_stream(c->dev)),
	                  "copying in the GPU's memory");
}

double cuda_measure_bandwidth(const struct device *d)
{
	struct copy c = { .dev = d, .bytes = cuda_memory(d) / COPY_SHARE };
	int mark = err_count();
	if (c.bytes > COPY_MOST)
		c.bytes = COPY_MOST;
	c.memory = borrow(d, 2 * c.bytes);
	/* read and written */
	double bytes = c.memory ? rate(d, copy_once, &c, 2.0 * (double)c.bytes) : 0;
	put_back(d, c.memory, 2 * c.bytes);
	err_truncate(mark);
	return bytes;
}

struct product {
	struct cublas_plan *plan;
	char *memory;              /* a, b, c, workspace */
	size_t matrix;             /* bytes of one */
};

static int multiply_once(void *of)
{
	const struct product *p = of;
	return cublas_plan_run(p->plan, p->memory, p->memory + p->matrix, NULL,
	                       p->memory + 2 * p->matrix, p->memory + 3 * p->matrix);
}

/* Repeats random values. With zeros a GPU computes more products a second than with real data,
 * since it stays cooler. */
static int fill(const struct device *d, char *to, int64_t n, enum dtype type)
{
	double *values = mem_alloc(sizeof *values * VALUES);
	int rc = 0;
	rng_normals(1, 0, 0, 0, VALUES, values);
	for (int64_t i = 0; i < n && rc == 0; i += VALUES) {
		struct shape s = { 1, { n - i < VALUES ? n - i : VALUES } };
		struct layout l = layout_plain(&s);
		const struct transfer piece = { &l, &s, type, to + (size_t)i * dtype_size(type) };
		rc = transfer_write(d, &piece, DTYPE_F64, values);
	}
	mem_free(values);
	return rc;
}

double cuda_measure_peak(const struct device *d, enum dtype type, bool tf32)
{
	int64_t n = (int64_t)EDGE * cuda_multiprocessors(d);
	const struct cublas_matmul m = { .m = n, .n = n, .k = n, .a_stride = { n, 1 },
		.b_stride = { n, 1 },
		.c_stride = { n, 1 }, .type = type, .c_type = type, .tf32 = tf32 };
	struct product p = { .matrix = (size_t)(n * n) * dtype_size(type) };
	size_t bytes = 3 * p.matrix + WORKSPACE;
	double flops = 0;
	int mark = err_count();
	if (cublas_matmul_new(&p.plan, d, NULL, &m, WORKSPACE) == 0 && (p.memory = borrow(d, bytes)) &&
	    fill(d, p.memory, 2 * n * n, type) == 0)
		flops = rate(d, multiply_once, &p, 2.0 * (double)n * (double)n * (double)n);
	put_back(d, p.memory, bytes);
	cublas_plan_free(p.plan);
	err_truncate(mark);
	return flops;
}
