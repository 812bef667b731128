/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums of metrics for each channel. A block has one channel and some of its points; the number of
 * blocks depends only on the shape. A second kernel adds their partial sums in order. Blocks of
 * adjacent channels read the same cache lines at about the same time. */
#include "cuda/join.cuh"

constexpr int PIECES = 64;               /* the most blocks for a channel */
constexpr int ERRORS = 7, FLAGS = 4;

static int pieces_of(const k_channel_sums *s)
{
	const int n = blocks_for(s->points, THREADS * 4);
	return n < PIECES ? n : PIECES;
}

int64_t k_channel_sums_workspace(const struct k_channel_sums *s)
{
	return s->channels * pieces_of(s) * ERRORS * (int64_t)sizeof(double);
}

static __device__ __forceinline__ bool left_out(const k_channel_sums &s, float t)
{
	return (s.leave_out == K_LEAVE_NAN && t != t) || (s.leave_out == K_LEAVE_VALUE && t == s.value);
}

/* The contribution of an element; op/loss/channel_sums.c has the formulas. */
struct errors {
	static constexpr int N = ERRORS;
	static __device__ __forceinline__ void add(const k_channel_sums &s, float x, float t,
	                                           double *sum)
	{
		if (left_out(s, t))
			return;
		const double d = (double)x - (double)t,
		             high = (double)__uint_as_float(__float_as_uint(t) & 0xfffff000u),
		             low = (double)t - high;
		sum[0] += 1;
		sum[1] += fabs(d);
		sum[2] += d * d;
		sum[3] += high + low;
		sum[4] += high * high;
		sum[5] += high * low;
		sum[6] += low * low;
	}
};

struct flags {
	static constexpr int N = FLAGS;
	static __device__ __forceinline__ void add(const k_channel_sums &s, float x, float t,
	                                           double *sum)
	{
		const int set = t > 0.5f, guess = x > 0;
		if (t != t || left_out(s, t))
			return;
		for (int k = 0; k < N; k++)
			sum[k] += 2 * set + guess == k ? 1 : 0;
	}
};

template <typename T, typename F>
__global__ void channel_parts(k_channel_sums s, const T *x, const float *t, double *parts)
{
	BEGIN_KERNEL();
	__shared__ double room[F::N][THREADS];
	double sum[F::N] = {};
	for (int64_t p = (int64_t)blockIdx.y * THREADS + threadIdx.x; p < s.points;
	     p += (int64_t)gridDim.y * THREADS) {
		const int64_t i = p * s.channels + blockIdx.x;
		F::add(s, as_float(x[i]), t[i], sum);
	}
	for (int k = 0; k < F::N; k++)
		room[k][threadIdx.x] = sum[k];
	for (int m = THREADS / 2; m > 0; m /= 2) {
		__syncthreads();
		for (int k = 0; k < F::N && (int)threadIdx.x < m; k++)
			room[k][threadIdx.x] += room[k][threadIdx.x + m];
	}
	for (int k = 0; k < F::N && threadIdx.x == 0; k++)
		parts[((int64_t)blockIdx.x * gridDim.y + blockIdx.y) * F::N + k] = room[k][0];
}

/* Adds the n sums of each part of a channel. */
__global__ void __launch_bounds__(JOINERS, 1)
join_channels(int64_t channels, int pieces, int n, const double *parts, double *out)
{
	BEGIN_KERNEL();
	const int64_t i = first_channel<1>();
	const column<double> of = { parts + i / n * pieces * n + i % n,
		i < channels * n ? pieces : 0, n };
	const double sum = sum_of_parts(of);
	if (threadIdx.y == 0 && i < channels * n)
		out[i] = sum;
}

template <typename F> static int sums(void *stream, int type, const k_channel_sums *s,
                                      const void *x, const float *t, double *out, void *ws)
{
	const int pieces = pieces_of(s);
	const dim3 grid((unsigned)s->channels, (unsigned)pieces);
	FLOAT_TYPES(type, T, LAUNCH((channel_parts<T, F>), grid, THREADS, 0, stream, *s, (const T *)x,
	                            t, (double *)ws))
	LAUNCH_JOIN(join_channels, s->channels * F::N, pieces, stream, s->channels, pieces, F::N,
	            (const double *)ws, out);
	return cudaGetLastError();
}

int k_error_sums(void *stream, int type, const struct k_channel_sums *s, const void *x,
                 const float *t, double *out, void *ws)
{
	return sums<errors>(stream, type, s, x, t, out, ws);
}

int k_flag_counts(void *stream, int type, const struct k_channel_sums *s, const void *x,
                  const float *t, double *out, void *ws)
{
	return sums<flags>(stream, type, s, x, t, out, ws);
}
