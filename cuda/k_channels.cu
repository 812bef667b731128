/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Work per channel on channels-last tensors: rows of neighbouring channels. Sums over rows go in
 * two stages, chunks of rows first, then the chunks in their order, so that the bits depend on the
 * shape alone. In a block, 32 threads stand side by side along the channels and 8 along the
 * rows. */
#include "cuda/device.cuh"

constexpr int CX = 32, CY = 8;
constexpr int64_t CHUNKS = 256;          /* at most */

static int64_t rows_a_chunk(int64_t rows)
{
	int64_t n = (rows + CHUNKS - 1) / CHUNKS;
	return (n + CY - 1) / CY * CY;
}

static int64_t chunks_of(int64_t rows)
{
	int64_t each = rows_a_chunk(rows);
	return each ? (rows + each - 1) / each : 0;
}

int64_t k_channels_workspace(int64_t rows, int64_t c)
{
	return chunks_of(rows) * c * 3 * (int64_t)sizeof(float);
}

template <typename T>
__global__ void add_bias(int64_t n, int64_t c, int64_t stride, const float *bias, T *y)
{
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	int64_t row = i / c, j = i - row * c;
	T *p = y + row * stride + j;
	*p = from_float<T>(as_float(*p) + bias[j]);
}

int k_add_bias(void *stream, int type, int64_t rows, int64_t c, int64_t stride, const float *bias, void *y)
{
	int64_t n = rows * c;
	if (n == 0)
		return 0;
	FLOAT_TYPES(type, T, LAUNCH(add_bias<T>, blocks_for(n, THREADS), THREADS, 0, stream, n, c, stride, bias, (T *)y))
	return cudaGetLastError();
}

/* part[chunk][channel]: the sum over the chunk's rows. */
template <typename T>
__global__ void sum_chunks(int64_t rows, int64_t c, int64_t stride, int64_t each, const T *x, float *part)
{
	__shared__ float s[CY][CX];
	const int64_t j = (int64_t)blockIdx.x * CX + threadIdx.x, first = (int64_t)blockIdx.y * each;
	const int64_t end = first + each < rows ? first + each : rows;
	float sum = 0;
	if (j < c)
		for (int64_t r = first + threadIdx.y; r < end; r += CY)
			sum += as_float(x[r * stride + j]);
	s[threadIdx.y][threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.y || j >= c)
		return;
	for (int i = 1; i < CY; i++)
		sum += s[i][threadIdx.x];
	part[blockIdx.y * c + j] = sum;
}

__global__ void sum_parts(int64_t chunks, int64_t c, const float *part, float *sum)
{
	const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (j >= c)
		return;
	double s = 0;
	for (int64_t i = 0; i < chunks; i++)
		s += part[i * c + j];
	sum[j] = (float)s;
}

int k_channel_sum(void *stream, int type, int64_t rows, int64_t c, int64_t stride, const void *x, float *sum, void *ws)
{
	const int64_t chunks = chunks_of(rows), each = rows_a_chunk(rows);
	if (c == 0)
		return 0;
	if (rows) {
		const dim3 grid(blocks_for(c, CX), (unsigned)chunks), block(CX, CY);
		FLOAT_TYPES(type, T, LAUNCH(sum_chunks<T>, grid, block, 0, stream, rows, c, stride, each, (const T *)x, (float *)ws))
	}
	LAUNCH(sum_parts, blocks_for(c, THREADS), THREADS, 0, stream, chunks, c, (const float *)ws, sum);
	return cudaGetLastError();
}
