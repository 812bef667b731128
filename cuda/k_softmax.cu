/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Softmax of rows of channels, one warp for each row. Its lanes take channels in turn; the maximum
 * and the sums are shuffle trees whose result all lanes get. */
#include "cuda/device.cuh"

constexpr int LANES = 32, ROWS = THREADS / LANES;

static __device__ __forceinline__ float lanes_max(float v)
{
	for (int m = LANES / 2; m > 0; m /= 2)
		v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, m));
	return v;
}

static __device__ __forceinline__ float lanes_sum(float v)
{
	for (int m = LANES / 2; m > 0; m /= 2)
		v += __shfl_xor_sync(0xffffffffu, v, m);
	return v;
}

/* The row of this warp; if it does not exist, all lanes of the warp return. */
static __device__ __forceinline__ int64_t row_of()
{
	return (int64_t)blockIdx.x * ROWS + threadIdx.y;
}

template <typename T> __global__ void softmax(int64_t rows, int64_t c, const T *x, T *y)
{
	BEGIN_KERNEL();
	const int64_t first = row_of() * c;
	float most = -INFINITY, sum = 0;
	if (row_of() >= rows)
		return;
	for (int64_t j = threadIdx.x; j < c; j += LANES)
		most = fmaxf(most, as_float(x[first + j]));
	most = lanes_max(most);
	for (int64_t j = threadIdx.x; j < c; j += LANES)
		sum += expf(as_float(x[first + j]) - most);
	sum = lanes_sum(sum);
	for (int64_t j = threadIdx.x; j < c; j += LANES)
		y[first + j] = from_float<T>(expf(as_float(x[first + j]) - most) / sum);
}

template <typename T>
__global__ void softmax_grad(int64_t rows, int64_t c, const T *y, const T *dy, T *dx)
{
	BEGIN_KERNEL();
	const int64_t first = row_of() * c;
	float sum = 0;
	if (row_of() >= rows)
		return;
	for (int64_t j = threadIdx.x; j < c; j += LANES)
		sum += as_float(y[first + j]) * as_float(dy[first + j]);
	sum = lanes_sum(sum);
	for (int64_t j = threadIdx.x; j < c; j += LANES)
		dx[first + j] = from_float<T>(as_float(y[first + j]) * (as_float(dy[first + j]) - sum));
}

/* --- launchers --- */

#define EACH_ROW(kernel, ...)                                                            \
	do {                                                                             \
		const dim3 block(LANES, ROWS), grid(blocks_for(rows, ROWS));             \
		if (rows == 0)                                                           \
			return 0;                                                        \
		FLOAT_TYPES(type, T, LAUNCH(kernel<T>, grid, block, 0, stream, rows, c, __VA_ARGS__)) \
		return cudaGetLastError();                                               \
	} while (0)

int k_softmax(void *stream, int type, int64_t rows, int64_t c, const void *x, void *y)
{
	EACH_ROW(softmax, (const T *)x, (T *)y);
}

int k_softmax_grad(void *stream, int type, int64_t rows, int64_t c, const void *y, const void *dy,
                   void *dx)
{
	EACH_ROW(softmax_grad, (const T *)y, (const T *)dy, (T *)dx);
}
