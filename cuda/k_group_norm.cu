/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Group normalisation of channels-last tensors. One block processes each set of values: it reads
 * them three times, for the mean, for the deviation and for the result; sums are in double, by a
 * tree. The gradients to gamma and beta are sums over rows, in two stages, so that the bits depend
 * only on the shape. */
#include "cuda/group_norm.h"
#include "cuda/join.cuh"

/* The sum of v over the threads of the block, which all of them get. */
static __device__ double block_sum(double v, double *room)
{
	const int t = threadIdx.x;
	__syncthreads();
	room[t] = v;
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		__syncthreads();
		if (t < half)
			room[t] += room[t + half];
	}
	__syncthreads();
	return room[0];
}

/* The values of this block's set. */
struct set_of {
	int64_t first, channel, count;
	__device__ set_of(const k_group_norm &n)
	{
		const int64_t sample = blockIdx.x / n.across;
		channel = blockIdx.x % n.across * n.width;
		first = sample * n.rows * n.c + channel;
		count = n.rows * n.width;
	}
	__device__ int64_t at(const k_group_norm &n, int64_t i) const {
		return first + i / n.width * n.c + i % n.width; }
	__device__ int64_t in(const k_group_norm &n, int64_t i) const { return channel + i % n.width; }
};

template <typename T> __global__ void normalise(k_group_norm n, const T *x, const float *gamma,
                                                const float *beta, T *y, float *means, float *rstds)
{
	BEGIN_KERNEL();
	__shared__ double room[THREADS];
	const set_of s(n);
	double sum = 0, m2 = 0;
	for (int64_t i = threadIdx.x; i < s.count; i += blockDim.x)
		sum += as_float(x[s.at(n, i)]);
	const float mean = (float)(block_sum(sum, room) / (double)s.count);
	for (int64_t i = threadIdx.x; i < s.count; i += blockDim.x) {
		const float d = as_float(x[s.at(n, i)]) - mean;
		m2 += d * d;
	}
	const float rstd = (float)(1 / sqrt(block_sum(m2, room) / (double)s.count + n.eps));
	for (int64_t i = threadIdx.x; i < s.count; i += blockDim.x) {
		const int64_t at = s.at(n, i), c = s.in(n, i);
		const float xhat = (as_float(x[at]) - mean) * rstd;
		y[at] = from_float<T>(xhat * (gamma ? gamma[c] : 1.0f) + (beta ? beta[c] : 0.0f));
	}
	if (threadIdx.x == 0 && means)
		means[blockIdx.x] = mean;
	if (threadIdx.x == 0 && rstds)
		rstds[blockIdx.x] = rstd;
}

template <typename T> __global__ void gradient(k_group_norm n, const T *x,
                                               const T *dy, const float *means, const float *rstds,
                                               const float *gamma, T *dx)
{
	BEGIN_KERNEL();
	__shared__ double room[THREADS];
	const set_of s(n);
	const float mean = means[blockIdx.x], rstd = rstds[blockIdx.x];
	double s1 = 0, s2 = 0;
	for (int64_t i = threadIdx.x; i < s.count; i += blockDim.x) {
		const int64_t at = s.at(n, i);
		const float d = as_float(dy[at]) * (gamma ? gamma[s.in(n, i)] : 1.0f);
		s1 += d;
		s2 += d * ((as_float(x[at]) - mean) * rstd);
	}
	const float k1 = (float)(block_sum(s1, room) / (double)s.count),
	            k2 = (float)(block_sum(s2, room) / (double)s.count);
	for (int64_t i = threadIdx.x; i < s.count; i += blockDim.x) {
		const int64_t at = s.at(n, i);
		const float d = as_float(dy[at]) * (gamma ? gamma[s.in(n, i)] : 1.0f);
		dx[at] = from_float<T>(rstd * (d - k1 - (as_float(x[at]) - mean) * rstd * k2));
	}
}

/* part[blockIdx.y]: c sums of dy, then c sums of dy xhat, over some rows. */
template <typename T> __global__ void sum_channels(k_group_norm n, const T *x, const T *dy,
                                                   const float *means, const float *rstds,
                                                   float *part)
{
	BEGIN_KERNEL();
	__shared__ float room[2][THREADS];
	const int64_t j = first_channel<1>(), rows = n.samples * n.rows,
	              step = (int64_t)gridDim.y * blockDim.y;
	float sum[2] = { 0, 0 };
	for (int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; r < rows && j < n.c;
	     r += step) {
		const int64_t set = r / n.rows * n.across + j / n.width;
		const float d = as_float(dy[r * n.c + j]);
		sum[0] += d;
		sum[1] += d * (as_float(x[r * n.c + j]) - means[set]) * rstds[set];
	}
	column_sums(sum, room);
	if (threadIdx.y || j >= n.c)
		return;
	part[(int64_t)blockIdx.y * 2 * n.c + j] = sum[0];
	part[((int64_t)blockIdx.y * 2 + 1) * n.c + j] = sum[1];
}

__global__ void __launch_bounds__(JOINERS, 1)
join_channels(int64_t parts, int64_t c, const float *part, float *dgamma, float *dbeta)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<1>();
	const float sum = (float)sum_of_parts(column<float>{ part + j, j < 2 * c ? parts : 0, 2 * c });
	if (threadIdx.y || j >= 2 * c)
		return;
	if (j < c && dbeta)
		dbeta[j] = sum;
	if (j >= c && dgamma)
		dgamma[j - c] = sum;
}

/* --- launchers --- */

/* The number of threads in a block for a set with this many values. */
static unsigned threads_for(int64_t count)
{
	unsigned t = 32;
	while (t < THREADS && t < count)
		t *= 2;
	return t;
}

static dim3 sums_grid(int64_t rows, int64_t c)
{
	return rows_grid(rows, c, channel_block(c));
}

int64_t k_group_norm_workspace(int64_t rows, int64_t c)
{
	return (int64_t)sums_grid(rows, c).y * 2 * c * (int64_t)sizeof(float);
}

int k_group_norm_forward(void *stream, const struct k_group_norm *n, const void *x,
                         const float *gamma, const float *beta, void *y, float *mean, float *rstd)
{
	const unsigned sets = (unsigned)(n->samples * n->across);
	if (sets == 0)
		return 0;
	FLOAT_TYPES(n->type, T, LAUNCH(normalise<T>, dim3(sets), dim3(threads_for(n->rows * n->width)),
	                               0, stream, *n, (const T *)x, gamma, beta, (T *)y, mean, rstd))
	return cudaGetLastError();
}

/* dx may be x or dy, so it is written last. */
int k_group_norm_backward(void *stream, const struct k_group_norm *n, const void *x, const void *dy,
                          const float *mean, const float *rstd, const float *gamma, void *dx,
                          float *dgamma, float *dbeta, void *ws)
{
	const unsigned sets = (unsigned)(n->samples * n->across);
	const dim3 block = channel_block(n->c), grid = sums_grid(n->samples * n->rows, n->c);
	if (sets == 0)
		return 0;
	if (dgamma || dbeta) {
		FLOAT_TYPES(n->type, T, LAUNCH(sum_channels<T>, grid, block, 0, stream, *n, (const T *)x,
		                               (const T *)dy, mean, rstd, (float *)ws))
		LAUNCH_JOIN(join_channels, 2 * n->c, grid.y, stream, (int64_t)grid.y, n->c,
		            (const float *)ws, dgamma, dbeta);
	}
	FLOAT_TYPES(n->type, T, LAUNCH(gradient<T>, dim3(sets), dim3(threads_for(n->rows * n->width)),
	                               0, stream, *n, (const T *)x, (const T *)dy, mean, rstd, gamma,
	                               (T *)dx))
	return cudaGetLastError();
}
