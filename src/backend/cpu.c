/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measured ceilings that predictions and utilisation figures refer to: a triad over large arrays, and
 * oneDNN's own sgemm, warm, best of several. */
#include "backend/cpu.h"

#include <dnnl.h>

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
		if (dnnl_sgemm('N', 'N', N, N, N, 1, m, N, m + N * N, N, 0, m + 2 * N * N, N) != dnnl_success)
			break;
		double rate = 2.0 * N * N * N / (io_seconds() - t0);
		best = rate > best ? rate : best;
	}
	mem_unmap(m, 3 * bytes);
	return best;
}
