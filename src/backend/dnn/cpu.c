/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The measured ceilings that predictions and utilisation figures refer to: a triad over large
 * arrays, oneDNN's own sgemm, and for bfloat16 a chain of the processor's dot products, each warm
 * and the best of several. */
#include "backend/dnn/cpu.h"

#include <dnnl.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

#include "base/io.h"
#include "base/isa.h"
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

#if defined(__x86_64__) && defined(__GNUC__)
#define CHAINS 16             /* independent sums, enough to hide the latency of one */
#define TURNS (1 << 16)
#define FLOPS (TURNS * CHAINS * 64.0)
#define EACH(f) \
	f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
/* Named one by one, so that they stay in registers. */
#define START(k) __m512 s##k = _mm512_set1_ps(k);
#define TURN(k) s##k = _mm512_dpbf16_ps(s##k, a, b);
#define ADD(k) all += _mm512_reduce_add_ps(s##k);

__attribute__((target("avx512f,avx512bf16"))) static float dot_products(void)
{
	__m512bh a = (__m512bh)_mm512_set1_epi32(0x3c003c00),
	         b = (__m512bh)_mm512_set1_epi32(0x3c013c01);
	float all = 0;
	EACH(START)
	for (int i = 0; i < TURNS; i++) {
		EACH(TURN)
	}
	EACH(ADD)
	return all;
}

/* Uses all threads and returns their number. The sums are
 * returned so that the compiler keeps them. */
static int all_dot_products(float *sum)
{
	int threads = 0;
	float s = 0;
#pragma omp parallel reduction(+ : threads, s)
	{
		s += dot_products();
		threads++;
	}
	*sum = s;
	return threads;
}

double cpu_measure_peak_bf16(void)
{
	double best = 0;
	if (!isa_has(ISA_AVX512_BF16))
		return 0;
	for (int i = 0; i < 10; i++) {
		float sum;
		double t0 = io_seconds(), flops = FLOPS * all_dot_products(&sum),
		       rate = flops / (io_seconds() - t0);
		best = rate > best && sum > 0 ? rate : best;
	}
	return best;
}
#else
double cpu_measure_peak_bf16(void)
{
	return 0;
}
#endif
