/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by batch normalisation and its gradients: the division of rows into chunks, and the layout
 * of a rank's message. */
#ifndef DLX_CUDA_NORM_CUH
#define DLX_CUDA_NORM_CUH

#include "cuda/join.cuh"
#include "cuda/wide.cuh"

/* The chunks of a first stage. Chunk i has the groups i, i + n, i + 2 n, ..., each of `group` rows.
 * So all blocks together read a tensor from its first row to its last, and a second pass in the
 * opposite direction finds much of it in the cache. Each chunk has `each` rows; the first `more`
 * chunks have one group more; the last group lacks `missing` rows, in chunk `last`. */
struct chunking {
	int64_t n, each, more, last;
	int group, missing;
};

/* The number of packs, of 16 bytes or less, that make up c channels of `size` bytes. */
static int64_t packs_of(int64_t c, size_t size)
{
	const int64_t most = (int64_t)(16 / size);
	return c % most == 0 ? c / most : c % ABREAST == 0 ? c / ABREAST : c;
}

/* A block of a first stage. It does not depend on how many channels a thread loads at once, so the
 * chunks depend on the shape only. */
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

/* The most chunks for any element type, for the size of the workspace: with float32 a block has
 * twice the rows that it has with 16-bit types. */
static int64_t most_chunks(int64_t rows, int64_t c)
{
	const int64_t floats = chunks_of(rows, c, 4).n, halves = chunks_of(rows, c, 2).n;
	return floats > halves ? floats : halves;
}

static __device__ __forceinline__ int64_t rows_of(int64_t chunk, const chunking &k)
{
	return k.each + (chunk < k.more ? k.group : 0) - (chunk == k.last ? k.missing : 0);
}

/* Calls body(r, all) for the rows of this block's chunk, ROWS at a time: r, r + blockDim.y, ... If
 * all.value is true this thread has all of them, else only those that exist. */
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

/* Tensors with few rows: a block has all rows of its channels, and a thread at most AHEAD rows,
 * which it loads at once and keeps. One launch then does the work of two or three: the first stage,
 * its join and the map of a gradient would take 2 to 3 us each, however few the rows are. Two
 * adjacent packs of 16 bytes are one memory sector. */
#ifdef DLX_CUDA_EMULATED
constexpr int FEW_DOWN = 32;
#else
constexpr int FEW_DOWN = 256;
#endif
constexpr int FEW_ACROSS = 2, FEW_MOST = FEW_ACROSS * FEW_DOWN;
constexpr int FEW_ROOM = FEW_MOST / 32 * FEW_ACROSS;     /* one value for each column of each
                                                          * warp */

static bool are_few(int64_t rows)
{
#ifdef DLX_CUDA_EMULATED
	if (rows % 2)                    /* so that tests cover both variants with small tensors */
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

/* room[k][threadIdx.x] = the sum of v[k] over the threads of this thread's column. */
template <int K>
static __device__ __forceinline__ void add_few(float (&v)[K], float (&room)[K][FEW_ROOM])
{
	fold_columns(v, room, (int)(blockDim.x * blockDim.y / 32), plus(),
		[&](int k, float sum) { room[k][threadIdx.x] = sum; });
	__syncthreads();
}

/* A grid of blocks whose threads are adjacent along `across` channels, or packs of channels. */
static dim3 across_grid(int64_t across, dim3 block, int64_t rows = 1)
{
	return dim3((unsigned)((across + block.x - 1) / block.x), (unsigned)rows);
}

/* The weight of a rank's batch that does not count. */
#define NOTHING 0x1p-200

static __device__ double magnify(double count)
{
	return count < 0.5 ? 1 / NOTHING : 1.0;
}

/* Computes rstd and scale = gamma * rstd from given variances. */
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
