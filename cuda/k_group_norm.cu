/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Group normalisation of channels-last tensors. One block processes each set of values: it reads
 * them three times, for the mean, for the deviation and for the result; sums are in double, by a
 * tree. The gradients to gamma and beta are sums over rows, in two stages, so that the bits depend
 * only on the shape. If the rows of a sample are divided among ranks, each rank writes the sums of
 * its rows to a message, and a second kernel computes the result from the sum of the messages. */
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

/* --- forward --- */

/* The set's sum, its mean, and the sum of squared deviations from that mean. */
struct moments {
	double sum, m2;
	float mean;
};

template <typename T>
static __device__ moments moments_of(const k_group_norm &n, const set_of &s, const T *x,
                                     double *room)
{
	double sum = 0, m2 = 0;
	for (int64_t i = threadIdx.x; i < s.count; i += blockDim.x)
		sum += as_float(x[s.at(n, i)]);
	sum = block_sum(sum, room);
	const float mean = (float)(sum / (double)s.count);
	for (int64_t i = threadIdx.x; i < s.count; i += blockDim.x) {
		const float d = as_float(x[s.at(n, i)]) - mean;
		m2 += d * d;
	}
	return { sum, block_sum(m2, room), mean };
}

struct vectors {
	const float *gamma, *beta;
	float *means, *rstds;
};

template <typename T> static __device__ void put(const k_group_norm &n, const set_of &s, const T *x,
                                                 float mean, double variance, const vectors &v,
                                                 T *y)
{
	const float rstd = (float)(1 / sqrt(variance + n.eps));
	for (int64_t i = threadIdx.x; i < s.count; i += blockDim.x) {
		const int64_t at = s.at(n, i), c = s.in(n, i);
		const float xhat = (as_float(x[at]) - mean) * rstd;
		y[at] = from_float<T>(xhat * (v.gamma ? v.gamma[c] : 1.0f) + (v.beta ? v.beta[c] : 0.0f));
	}
	if (threadIdx.x == 0 && v.means)
		v.means[blockIdx.x] = mean;
	if (threadIdx.x == 0 && v.rstds)
		v.rstds[blockIdx.x] = rstd;
}

template <typename T> __global__ void normalise(k_group_norm n, const T *x, vectors v, T *y)
{
	BEGIN_KERNEL();
	__shared__ double room[THREADS];
	const set_of s(n);
	const moments m = moments_of(n, s, x, room);
	put(n, s, x, m.mean, m.m2 / (double)s.count, v, y);
}

/* A message has the number of values in a set, then one value for each set, then another one. */
static __device__ void put_message(double *message, const set_of &s, double first, double second)
{
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0)
		message[0] = (double)s.count;
	message[1 + blockIdx.x] = first;
	message[1 + gridDim.x + blockIdx.x] = second;
}

/* The message has the sums of x and x^2 (op/norm/norm_sync.c says why their digits suffice). */
template <typename T> __global__ void give_moments(k_group_norm n, const T *x, double *message)
{
	BEGIN_KERNEL();
	__shared__ double room[THREADS];
	const set_of s(n);
	const moments m = moments_of(n, s, x, room);
	const double mean = m.mean;
	put_message(message, s, m.sum, m.m2 + mean * (2 * m.sum - (double)s.count * mean));
}

template <typename T> __global__ void take_moments(k_group_norm n, const T *x,
                                                   const double *message, vectors v, T *y)
{
	BEGIN_KERNEL();
	const double *sum = message + 1 + blockIdx.x, mean = sum[0] / message[0],
	             m2 = sum[gridDim.x] - sum[0] * mean;
	put(n, set_of(n), x, (float)mean, m2 > 0 ? m2 / message[0] : 0, v, y);
}

/* --- gradient --- */

template <typename T> struct operands {
	const T *x, *dy;
	const float *means, *rstds, *gamma;
};

/* *s1, *s2: the set's sums of gamma dy and of gamma dy xhat. */
template <typename T>
static __device__ void gradient_sums(const k_group_norm &n, const set_of &s, const operands<T> &o,
                                     double *room, double *s1, double *s2)
{
	const float mean = o.means[blockIdx.x], rstd = o.rstds[blockIdx.x];
	*s1 = *s2 = 0;
	for (int64_t i = threadIdx.x; i < s.count; i += blockDim.x) {
		const int64_t at = s.at(n, i);
		const float d = as_float(o.dy[at]) * (o.gamma ? o.gamma[s.in(n, i)] : 1.0f);
		*s1 += d;
		*s2 += d * ((as_float(o.x[at]) - mean) * rstd);
	}
	*s1 = block_sum(*s1, room);
	*s2 = block_sum(*s2, room);
}

/* k1, k2: the sums, divided by the number of values in the whole set. */
template <typename T>
static __device__ void put_gradient(const k_group_norm &n, const set_of &s, const operands<T> &o,
                                    float k1, float k2, T *dx)
{
	const float mean = o.means[blockIdx.x], rstd = o.rstds[blockIdx.x];
	for (int64_t i = threadIdx.x; i < s.count; i += blockDim.x) {
		const int64_t at = s.at(n, i);
		const float d = as_float(o.dy[at]) * (o.gamma ? o.gamma[s.in(n, i)] : 1.0f);
		dx[at] = from_float<T>(rstd * (d - k1 - (as_float(o.x[at]) - mean) * rstd * k2));
	}
}

template <typename T> __global__ void gradient(k_group_norm n, operands<T> o, T *dx)
{
	BEGIN_KERNEL();
	__shared__ double room[THREADS];
	const set_of s(n);
	const double count = (double)s.count;
	double s1, s2;
	gradient_sums(n, s, o, room, &s1, &s2);
	put_gradient(n, s, o, (float)(s1 / count), (float)(s2 / count), dx);
}

template <typename T> __global__ void give_sums(k_group_norm n, operands<T> o, double *message)
{
	BEGIN_KERNEL();
	__shared__ double room[THREADS];
	const set_of s(n);
	double s1, s2;
	gradient_sums(n, s, o, room, &s1, &s2);
	put_message(message, s, s1, s2);
}

template <typename T>
__global__ void take_sums(k_group_norm n, operands<T> o, const double *message, T *dx)
{
	BEGIN_KERNEL();
	const double *sum = message + 1 + blockIdx.x;
	put_gradient(n, set_of(n), o, (float)(sum[0] / message[0]),
	             (float)(sum[gridDim.x] / message[0]), dx);
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

static unsigned sets_of(const struct k_group_norm *n)
{
	return (unsigned)(n->samples * n->across);
}

/* Launches a kernel, a template of the element type T, with a block for each set. */
#define LAUNCH_SETS(kernel, n, stream, ...)                                             \
	if (sets_of(n) > 0)                                                                 \
		FLOAT_TYPES((n)->type, T, LAUNCH(kernel<T>, dim3(sets_of(n)),                   \
		                                 dim3(threads_for((n)->rows * (n)->width)), 0,  \
		                                 stream, *(n), __VA_ARGS__))

int k_group_norm_forward(void *stream, const struct k_group_norm *n, const void *x,
                         const float *gamma, const float *beta, void *y, float *mean, float *rstd)
{
	const vectors v = { gamma, beta, mean, rstd };
	LAUNCH_SETS(normalise, n, stream, (const T *)x, v, (T *)y)
	return cudaGetLastError();
}

int k_group_norm_forward_give(void *stream, const struct k_group_norm *n, const void *x,
                              double *message)
{
	LAUNCH_SETS(give_moments, n, stream, (const T *)x, message)
	return cudaGetLastError();
}

int k_group_norm_forward_take(void *stream, const struct k_group_norm *n, const void *x,
                              const float *gamma, const float *beta, const double *message,
                              void *y, float *mean, float *rstd)
{
	const vectors v = { gamma, beta, mean, rstd };
	LAUNCH_SETS(take_moments, n, stream, (const T *)x, message, v, (T *)y)
	return cudaGetLastError();
}

/* The gradients to gamma and beta. */
static int vectors_gradient(void *stream, const struct k_group_norm *n,
                            const struct k_group_norm_in *in, float *dgamma, float *dbeta, void *ws)
{
	const dim3 block = channel_block(n->c), grid = sums_grid(n->samples * n->rows, n->c);
	if (sets_of(n) == 0 || (!dgamma && !dbeta))
		return 0;
	FLOAT_TYPES(n->type, T, LAUNCH(sum_channels<T>, grid, block, 0, stream, *n, (const T *)in->x,
	                               (const T *)in->dy, in->mean, in->rstd, (float *)ws))
	LAUNCH_JOIN(join_channels, 2 * n->c, grid.y, stream, (int64_t)grid.y, n->c, (const float *)ws,
	            dgamma, dbeta);
	return 0;
}

template <typename T> static operands<T> operands_of(const struct k_group_norm_in *in)
{
	return { (const T *)in->x, (const T *)in->dy, in->mean, in->rstd, in->gamma };
}

/* dx may be x or dy, so it is written last. */
int k_group_norm_backward(void *stream, const struct k_group_norm *n,
                          const struct k_group_norm_in *in, void *dx, float *dgamma, float *dbeta,
                          void *ws)
{
	const int failed = vectors_gradient(stream, n, in, dgamma, dbeta, ws);
	if (failed)
		return failed;
	LAUNCH_SETS(gradient, n, stream, operands_of<T>(in), (T *)dx)
	return cudaGetLastError();
}

int k_group_norm_backward_give(void *stream, const struct k_group_norm *n,
                               const struct k_group_norm_in *in, double *message, float *dgamma,
                               float *dbeta, void *ws)
{
	const int failed = vectors_gradient(stream, n, in, dgamma, dbeta, ws);
	if (failed)
		return failed;
	LAUNCH_SETS(give_sums, n, stream, operands_of<T>(in), message)
	return cudaGetLastError();
}

int k_group_norm_backward_take(void *stream, const struct k_group_norm *n,
                               const struct k_group_norm_in *in, const double *message, void *dx)
{
	LAUNCH_SETS(take_sums, n, stream, operands_of<T>(in), message, (T *)dx)
	return cudaGetLastError();
}
