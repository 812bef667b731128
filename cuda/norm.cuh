/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by batch normalisation and its gradients: how rows are cut into chunks and the chunks'
 * sums joined, and the layout of a rank's message. */
#ifndef DLX_CUDA_NORM_CUH
#define DLX_CUDA_NORM_CUH

#include "cuda/device.cuh"

constexpr int BLOCKS = 1024;             /* about, of a first stage */
constexpr int MAX_CHUNKS = 512;

struct chunking {
	int64_t each, n;
};

static chunking chunks_of(int64_t rows, int64_t c)
{
	const int64_t packs = c % ABREAST == 0 ? c / ABREAST : c;
	const dim3 b = channel_block(packs);
	int64_t most = BLOCKS / ((packs + b.x - 1) / b.x), each;
	most = most < 1 ? 1 : most > MAX_CHUNKS ? MAX_CHUNKS : most;
	each = (rows + most - 1) / most;
	each = each < AHEAD * b.y ? AHEAD * b.y : (each + b.y - 1) / b.y * b.y;
	return { each, (rows + each - 1) / each };
}

static __device__ int64_t rows_of(int64_t chunk, int64_t each, int64_t rows)
{
	const int64_t left = rows - chunk * each;
	return left < each ? left : each;
}

/* A block whose threads are adjacent along `across` channels, or packs of them. */
static dim3 across_grid(int64_t across, dim3 block, int64_t rows = 1)
{
	return dim3((unsigned)((across + block.x - 1) / block.x), (unsigned)rows);
}

/* Chunks are joined by few blocks, whose threads mostly go down the chunks. */
static dim3 join_block()
{
	return dim3(4, THREADS / 4);
}

/* A rank's batch that does not count has this weight. */
#define NOTHING 0x1p-200

static __device__ double magnify(double count)
{
	return count < 0.5 ? 1 / NOTHING : 1.0;
}

/* rstd and scale = gamma * rstd of given variances. */
static __global__ void given_variance(int64_t c, const float *variance, double eps,
                                      const float *gamma, float *rstd, float *scale)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<1>();
	if (j >= c)
		return;
	const double r = 1 / sqrt((double)variance[j] + eps);
	rstd[j] = (float)r;
	scale[j] = (float)(gamma[j] * r);
}

static __device__ __forceinline__ float below(float z, float slope)
{
	return slope != 0 ? slope * z : 0.0f;    /* a true 0, whatever z is */
}

#endif
