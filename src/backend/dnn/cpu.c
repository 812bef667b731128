/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measured ceilings that predictions and utilisation figures refer to: a triad over large
 * arrays, oneDNN's own sgemm, and for bfloat16 one of its convolutions, each warm and the best of
 * several. */
#include "backend/dnn/cpu.h"

#include <dnnl.h>

#include "backend/dnn/dnn.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

#define TRIAD (8 << 20)       /* floats in each array: 32 MiB */

static void triad(float *restrict a, const float *restrict b, const float *restrict c)
{
#pragma omp parallel for
	for (int i = 0; i < TRIAD; i++)
		a[i] = b[i] + 3 * c[i];
}

double cpu_measure_bandwidth(void)
{
	size_t bytes = sizeof(float) * TRIAD;
	float *m = mem_map(3 * bytes);
	double best = 0;
	if (!m)
		return 0;
	for (int i = 0; i < 4; i++) {
		double t0 = io_seconds();
		triad(m, m + TRIAD, m + 2 * TRIAD);
		double rate = 3.0 * (double)bytes / (io_seconds() - t0);
		best = i && rate > best ? rate : best;      /* the first touches the pages */
	}
	mem_unmap(m, 3 * bytes);
	return best;
}

#define N 768
#define PEAK_SECONDS 0.05

double cpu_measure_peak(void)
{
	size_t bytes = sizeof(float) * N * N;
	float *m = mem_map(3 * bytes);
	double best = 0, start = io_seconds();
	if (!m)
		return 0;
	for (int i = 0; i < 2 * N * N; i++)
		m[i] = (float)(i % 7) - 3;
	/* The first one generates code. */
	for (int i = 0; i < 4 || io_seconds() - start < PEAK_SECONDS; i++) {
		double t0 = io_seconds();
		if (dnnl_sgemm('N', 'N', N, N, N, 1, m, N, m + N * N, N, 0, m + 2 * N * N,
		               N) != dnnl_success)
			break;
		double rate = 2.0 * N * N * N / (io_seconds() - t0);
		best = rate > best ? rate : best;
	}
	mem_unmap(m, 3 * bytes);
	return best;
}

/* 3x3, as many channels on both sides, on square images of 28 pixels: oneDNN's kernels are at their
 * best there (forward on two cores with AMX, 2.6.3 and 3.7.2: 2,780 and 3,690 GFLOP/s; a matrix
 * product of plain matrices copies one of them first). */
#define CHANNELS 128
#define SIDE 28
#define IMAGE ((size_t)SIDE * SIDE * CHANNELS)
#define WEIGHTS ((size_t)9 * CHANNELS * CHANNELS)
#define CONV_SECONDS 0.03

static int convolution(struct dnn_prim **out, enum dtype type, int images, bool one_thread)
{
	const struct conv_geom g = { .ns = 2, .n = images, .ci = CHANNELS, .co = CHANNELS, .groups = 1,
		.in = { SIDE, SIDE, 1 }, .out = { SIDE, SIDE, 1 }, .kernel = { 3, 3, 1 },
		.stride = { 1, 1, 1 }, .dilation = { 1, 1, 1 }, .pad_lo = { 1, 1 }, .pad_hi = { 1, 1 } };
	const struct shape s = { 4, { images, CHANNELS, SIDE, SIDE } };
	const struct layout l = layout_native(&s);
	TRY(dnn_conv_new(out, &(struct dnn_conv){ .kind = CONV_FORWARD, .geom = g, .x = &l, .y = &l,
		.x_type = type, .w_type = type, .y_type = type, .any_threads = one_thread }));
	return dnn_prim_prepare(*out);
}

/* The best of several runs, of which the first generates code. They take a millisecond or two, so
 * that some are not interrupted on a busy machine. */
static double best_run(struct dnn_prim *p, void *const *arg, void *ws, double flops)
{
	double best = 0, start = io_seconds();
	for (int i = 0; i < 4 || io_seconds() - start < CONV_SECONDS; i++) {
		double t0 = io_seconds();
		if (dnn_prim_run(p, arg, ws) < 0)
			return 0;
		double rate = flops / (io_seconds() - t0);
		best = i && rate > best ? rate : best;
	}
	return best;
}

/* 0 after any failure. */
static double convolution_rate(enum dtype type, int images, bool one_thread)
{
	const size_t of = dtype_size(type), x = of * IMAGE * (size_t)images, w = of * WEIGHTS;
	const int mark = err_count();
	struct dnn_prim *p = NULL;
	double rate = 0;
	if (convolution(&p, type, images, one_thread) == 0) {
		const size_t bytes = 2 * x + w + dnn_prim_workspace(p);
		char *m = mem_map(bytes);
		for (size_t i = 0; m && i < (2 * x + w) / 4; i++)
			((uint32_t *)m)[i] = 0x3c003c00u;        /* 1/128 in either type */
		if (m)
			rate = best_run(p, (void *[]){ m, m + 2 * x, m + x }, m + 2 * x + w,
			                2.0 * WEIGHTS * SIDE * SIDE * images);
		mem_unmap(m, bytes);
	}
	dnn_prim_free(p);
	err_truncate(mark);
	return rate;
}

#define IMAGES 2                     /* for each of all threads */

double cpu_measure_peak_bf16(int threads)
{
	return dnn_bf16_support() == DNN_BF16_NATIVE ?
	       convolution_rate(DTYPE_BF16, IMAGES * threads, false) : 0;
}

double cpu_measure_core(enum dtype type)
{
	return convolution_rate(type, 1, true);
}
