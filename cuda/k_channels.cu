/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums and additions for each channel of channels-last tensors. Sums over rows have two stages,
 * first over chunks of rows, then over the chunks in order, so that the bits depend only on the
 * shape. */
#include "cuda/join.cuh"

constexpr int BLOCKS = 1024;             /* approximate number of blocks in a first stage */
constexpr int64_t CHUNKS = 256;          /* the most chunks */

struct chunking {
	int64_t each, n;
};

static chunking chunks_of(int64_t rows, int64_t c)
{
	const int64_t packs = c % ABREAST == 0 ? c / ABREAST : c;
	const dim3 b = channel_block(packs);
	const int64_t across = (packs + b.x - 1) / b.x, want = across ? BLOCKS / across : 1;
	const int64_t most = want < 1 ? 1 : want > CHUNKS ? CHUNKS : want, least = AHEAD * b.y;
	int64_t each = ((rows + most - 1) / most + b.y - 1) / b.y * b.y;
	each = each < least ? least : each;
	return { each, (rows + each - 1) / each };
}

int64_t k_channels_workspace(int64_t rows, int64_t c)
{
	return chunks_of(rows, c).n * c * (int64_t)sizeof(float);
}

int k_add_bias(void *stream, int type, int64_t rows, int64_t c, int64_t stride, const float *bias,
               void *y)
{
	const k_rows at = { y, stride };
	const k_epilogue e = { rows, c, type, type, K_ACT_NONE, 0, NULL, bias, at, {}, {}, at };
	return k_epilogue_run(stream, &e);
}

/* part[chunk][channel]: the sum over the chunk's rows. */
template <typename T, int N> __global__ void __launch_bounds__(THREADS, 4)
sum_chunks(int64_t rows, int64_t c, k_rows x, int64_t each, float *part)
{
	BEGIN_KERNEL();
	__shared__ float room[N][THREADS];
	const int64_t j = first_channel<N>(), first = (int64_t)blockIdx.y * each;
	const int64_t end = first + each < rows ? first + each : rows;
	float sum[N] = { 0 };
	several<T, N> got[AHEAD];
	for (int64_t r = first + threadIdx.y; r < end && j < c; r += AHEAD * blockDim.y) {
		load_rows(x, j, r, blockDim.y, end, got);
#pragma unroll
		for (int u = 0; u < AHEAD; u++) {
			if (r + u * (int64_t)blockDim.y >= end)
				break;
#pragma unroll
			for (int i = 0; i < N; i++)
				sum[i] += got[u].at(i);
		}
	}
	column_sums(sum, room);
	if (threadIdx.y || j >= c)
		return;
#pragma unroll
	for (int i = 0; i < N; i++)
		part[blockIdx.y * c + j + i] = sum[i];
}

__global__ void __launch_bounds__(JOINERS, 1)
sum_parts(int64_t chunks, int64_t c, const float *part, float *sum)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<1>();
	const double s = sum_of_parts(column<float>{ part + j, j < c ? chunks : 0, c });
	if (threadIdx.y == 0 && j < c)
		sum[j] = (float)s;
}

template <typename T> static void sum_rows(void *stream, int64_t rows, int64_t c, const k_rows &x,
                                           const chunking &k, float *part)
{
	const bool wide = abreast(c, sizeof(T), { x });
	const int64_t across = wide ? c / ABREAST : c;
	const dim3 block = channel_block(across), grid((unsigned)((across + block.x - 1) / block.x),
	                                               (unsigned)k.n);
	WIDE_OR_NOT(wide, N, LAUNCH((sum_chunks<T, N>), grid, block, 0, stream, rows, c, x,
	                            k.each, part));
}

int k_channel_sum(void *stream, int type, int64_t rows, int64_t c, int64_t stride, const void *x,
                  float *sum, void *ws)
{
	const chunking k = chunks_of(rows, c);
	const k_rows from = { (void *)x, stride };
	if (c == 0)
		return 0;
	if (rows)
		FLOAT_TYPES(type, T, sum_rows<T>(stream, rows, c, from, k, (float *)ws))
	LAUNCH_JOIN(sum_parts, c, k.n, stream, k.n, c, (const float *)ws, sum);
	return cudaGetLastError();
}
