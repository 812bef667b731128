/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by batch normalisation and its gradients: how rows are cut into chunks, and the layout of
 * a rank's message. */
#ifndef DLX_CUDA_NORM_CUH
#define DLX_CUDA_NORM_CUH

#include "cuda/join.cuh"
#include "cuda/wide.cuh"

/* The chunks of a first stage: chunk i has groups i, i + n, i + 2 n, ... of `group` rows, so that
 * all blocks together go through a tensor from its first row to its last, and what comes from the
 * last one back finds much of it in the cache. Every chunk has `each` rows, the first `more` ones
 * another group, from which `missing` rows are missing in chunk `last`. */
struct chunking {
	int64_t n, each, more, last;
	int group, missing;
};

/* Packs of 16 bytes, or of less, that c channels of `size` bytes are. */
static int64_t packs_of(int64_t c, size_t size)
{
	const int64_t most = (int64_t)(16 / size);
	return c % most == 0 ? c / most : c % ABREAST == 0 ? c / ABREAST : c;
}

/* A block of a first stage, however many channels a thread moves at once:
 * so the chunks depend on the shape alone. */
static dim3 chunk_block(int64_t c, size_t size)
{
	return channel_block(packs_of(c, size));
}

static chunking chunks_of(int64_t rows, int64_t c, size_t size)
{
	const int64_t packs = packs_of(c, size);
	const dim3 b = channel_block(packs);
	const int group = AHEAD * (int)b.y;
	const int64_t groups = (rows + group - 1) / group,
	              n = in_waves(groups, (packs + b.x - 1) / b.x, AHEAD);
	if (n == 0)
		return { 0, 0, 0, 0, group, 0 };
	return { n, groups / n * group, groups % n, (groups - 1) % n, group,
		(int)(groups * group - rows) };
}

/* Of floats a block has twice the rows of halves; of both the workspace is for the most chunks. */
static int64_t most_chunks(int64_t rows, int64_t c)
{
	const int64_t floats = chunks_of(rows, c, 4).n, halves = chunks_of(rows, c, 2).n;
	return floats > halves ? floats : halves;
}

static __device__ __forceinline__ int64_t rows_of(int64_t chunk, const chunking &k)
{
	return k.each + (chunk < k.more ? k.group : 0) - (chunk == k.last ? k.missing : 0);
}

/* Calls body(r, all) for the rows of this block's chunk: of r, r + blockDim.y, ..., ROWS of them,
 * this thread has all if all.value, else those that there are. */
template <int ROWS, typename B> static __device__ __forceinline__ void each_of_chunk(
		const chunking &k, int64_t rows, B body)
{
	const int64_t jump = k.n * k.group;
	for (int64_t first = (int64_t)blockIdx.y * k.group; first < rows; first += jump)
#pragma unroll
		for (int h = 0; h < AHEAD; h += ROWS) {
			const int64_t r = first + threadIdx.y + h * (int)blockDim.y;
			if (r + (ROWS - 1) * (int)blockDim.y < rows)
				body(r, std::true_type());
			else if (r < rows)
				body(r, std::false_type());
		}
}

/* Tensors of few rows: a block has all rows of its channels, a thread AHEAD of them or less, which
 * it loads at once and keeps. So one launch does what takes two or three elsewhere, where a first
 * stage, its join and the map of a gradient are 2 to 3 us each however few the rows are. Two packs
 * of 16 bytes side by side are a sector of memory. */
#ifdef DLX_CUDA_EMULATED
constexpr int FEW_DOWN = 32;
#else
constexpr int FEW_DOWN = 256;
#endif
constexpr int FEW_ACROSS = 2, FEW_MOST = FEW_ACROSS * FEW_DOWN;
constexpr int FEW_ROOM = FEW_MOST / 32 * FEW_ACROSS;     /* a number of each column of each warp */

static bool are_few(int64_t rows)
{
#ifdef DLX_CUDA_EMULATED
	if (rows % 2)                    /* so that small tensors are tried both ways */
		return false;
#endif
	return rows > 0 && rows <= AHEAD * FEW_DOWN;
}

static dim3 few_block(int64_t rows)
{
	unsigned y = 32 / FEW_ACROSS;
	while (y * AHEAD < rows)
		y *= 2;
	return dim3(FEW_ACROSS, y);
}

/* room[k][threadIdx.x] = the sum of v[k] over the threads of this one's column. */
template <int K>
static __device__ __forceinline__ void add_few(float (&v)[K], float (&room)[K][FEW_ROOM])
{
	fold_columns(v, room, (int)(blockDim.x * blockDim.y / 32), plus(),
		[&](int k, float sum) { room[k][threadIdx.x] = sum; });
	__syncthreads();
}

/* A block whose threads are adjacent along `across` channels, or packs of them. */
static dim3 across_grid(int64_t across, dim3 block, int64_t rows = 1)
{
	return dim3((unsigned)((across + block.x - 1) / block.x), (unsigned)rows);
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

#endif
