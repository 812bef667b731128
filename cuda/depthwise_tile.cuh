/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tiles of depthwise convolutions with 3 x 3 windows, for 16-bit elements and tensor cores. Used by
 * cuda/k_depthwise_tile.cu and k_depthwise_weights.cu.
 *
 * A block copies a tile of pixels with its border, for CHANNELS channels, to shared memory. All
 * copies are in flight at once, and pixels outside the tensor become zeros, so that no later code
 * checks for a border. Several blocks share a multiprocessor, so that some compute while others
 * wait for memory.
 *
 * On ordinary cores a result takes 9 multiply-adds and 4 to 9 conversions from 16 bits, which takes
 * as long as the memory accesses. A matrix product reads 16-bit elements directly. Here seven
 * eighths of it are wasted, on zeros or on sums that are not read, and still one instruction does 8
 * multiply-adds for each lane. */
#ifndef DLX_CUDA_DEPTHWISE_TILE_CUH
#define DLX_CUDA_DEPTHWISE_TILE_CUH

#include "cuda/depthwise.h"
#include "cuda/mma.cuh"
#include "cuda/wide.cuh"

constexpr int TAPS = 9, BLOCK = 128, WARPS = BLOCK / 32;
constexpr int PACK = 8, PACKS = 8, CHANNELS = PACK * PACKS;   /* a pack: 16 bytes */

/* Runs the statement with T the 16-bit type that `type` names. */
#define HALF_TYPES(type, T, ...)                                                         \
	switch (type) {                                                                  \
	case K_TYPE_F16: { using T = __half; __VA_ARGS__; break; }                            \
	case K_TYPE_BF16: { using T = __nv_bfloat16; __VA_ARGS__; break; }                    \
	default: return cudaErrorInvalidValue;                                           \
	}

/* The division of results into tiles of rows x columns, d apart. groups: a tile's columns, in
 * groups of 8. blocks: tiles along each axis. */
struct tile_deal {
	int rows, groups, d[2], blocks[2], across;     /* across: blocks that cover all channels */
};

struct tile {
	int64_t n, c;                                  /* the first channel */
	int i, j;                                      /* the first result */
};

/* The pixels to copy: from (i, j) on, d apart, of a tensor of height x width. */
struct area {
	int i, j, d[2], rows, columns, height, width;
};

/* The number of groups across a tile, at most `most`, with the fewest columns beyond the edge and
 * little border. */
static int groups_for(int width, int most)
{
	int best = most, least = INT32_MAX;
	for (int g = most; g > 0; g--) {
		const int cost = (width + 8 * g - 1) / (8 * g) * (8 * g + 4);
		if (cost < least) {
			least = cost;
			best = g;
		}
	}
	return best;
}

/* groups: the most that a tile may have. */
static tile_deal deal_tiles(const int *result, const int *d, int rows, int groups, int64_t c)
{
	tile_deal a = { rows, 0, { d[0], d[1] }, { 0, 0 }, (int)((c + CHANNELS - 1) / CHANNELS) };
	a.groups = groups_for((result[1] + d[1] - 1) / d[1], groups);
	const int size[2] = { a.rows, 8 * a.groups };
	for (int b = 0; b < 2; b++)
		a.blocks[b] = (result[b] + size[b] * d[b] - 1) / (size[b] * d[b]) * d[b];
	return a;
}

/* Tile number `at`, for block number `channels` along the channels. */
static __device__ __forceinline__ tile tile_of(const tile_deal &a, unsigned at, unsigned channels)
{
	const unsigned across = (unsigned)a.blocks[1], down = (unsigned)a.blocks[0];
	const unsigned bj = at % across, rest = at / across, bi = rest % down;
	const unsigned d0 = (unsigned)a.d[0], d1 = (unsigned)a.d[1];
	return { rest / down, (int64_t)channels * CHANNELS,
	         (int)(bi / d0 * d0) * a.rows + (int)(bi % d0),
	         (int)(bj / d1 * d1) * a.groups * 8 + (int)(bj % d1) };
}

/* The pixels of x that the windows of a tile of y read, with stride S. */
template <int S> static __device__ __forceinline__ area under(
		const k_depthwise &g, const tile_deal &a, const tile &to)
{
	return { to.i * S - g.lo[0], to.j * S - g.lo[1], { a.d[0], a.d[1] }, (a.rows - 1) * S + 3,
	         (a.groups * 8 - 1) * S + 3, g.in[0], g.in[1] };
}

/* Bytes of a plane, which holds TOGETHER adjacent packs of each pixel. The number of pixels is
 * rounded up to an odd one, so that the packs of a pixel, which are in different planes, are in
 * different banks. */
template <int TOGETHER>
static __host__ __device__ __forceinline__ int plane_of(int rows, int columns)
{
	return (rows * columns | 1) * 16 * TOGETHER;
}

/* Starts the copies to[plane][pixel][TOGETHER packs]. A thread copies one pack of the columns t, t
 * + STEP, ... (STEPS of them), in all rows. Bounds of columns and rows are computed before the
 * copies, of which there are only one or two for each result of the block. */
template <typename T, int TOGETHER, int STEPS> static __device__ __forceinline__ void copy_area(
		char *to, const k_rows &x, const area &a, const tile &of, int64_t channels)
{
	constexpr int STEP = BLOCK / PACKS;
	const int pack = (int)threadIdx.x % PACKS, t = (int)threadIdx.x / PACKS;
	const int64_t c = of.c + pack * PACK, pitch = x.stride * (int64_t)sizeof(T);
	int height = c < channels ? a.height : 0, step = a.columns * 16 * TOGETHER, down = a.d[0];
	const char *const from = (const char *)((const T *)x.p + (c < channels ? c : 0)) +
		of.n * a.height * a.width * pitch;
	int64_t at_step = down * a.width * pitch, at = a.i * (a.width * pitch);
	const char *column[STEPS];
	int rows[STEPS];
	to += pack / TOGETHER * plane_of<TOGETHER>(a.rows, a.columns) + pack % TOGETHER * 16 +
		t * 16 * TOGETHER;
#pragma unroll
	for (int k = 0; k < STEPS; k++) {
		const int j = a.j + (t + k * STEP) * a.d[1];
		const bool there = j >= 0 && j < a.width;
		column[k] = from + (there ? j * pitch : 0);
		rows[k] = there ? height : 0;
		keep(column[k]);
		keep(rows[k]);
	}
	keep(height);
	keep(step);
	keep(down);
	keep(at_step);
	int i = a.i;
#pragma unroll 1
	for (int row = 0; row < a.rows; row++, i += down, to += step, at += at_step) {
		const int64_t of_row = within(i, height) ? at : 0;
#pragma unroll
		for (int k = 0; k < STEPS; k++)
			if (t + k * STEP < a.columns)
				copy_async<16>(to + k * STEP * 16 * TOGETHER, column[k] + of_row,
				               within(i, rows[k]));
	}
}

/* f(norm(x)) for the channels of a pack, bit-equal to norm_map of k_norm.cu. */
struct pack_norm {
	float m[PACK], a[PACK], b[PACK], slope;

	__device__ __forceinline__ void load(const k_depthwise_norm &v, int64_t c)
	{
		load_floats(v.mean + c, m);
		load_floats(v.rstd + c, a);
		load_floats(v.gamma + c, b);
#pragma unroll
		for (int i = 0; i < PACK; i++)
			a[i] *= b[i];
		load_floats(v.beta + c, b);
		slope = v.slope;
	}

	/* RELU: the slope is 0, known at compile time. */
	template <typename T, bool RELU> __device__ __forceinline__ void apply(char *to) const
	{
		several<T, PACK> x;
		float z[PACK];
		load_word(&x, (const T *)(const void *)to);
#pragma unroll
		for (int i = 0; i < PACK; i++) {
			z[i] = (x.at(i) - m[i]) * a[i] + b[i];
			if (!RELU)
				z[i] = z[i] < 0 ? below(z[i], slope) : z[i];
		}
		if (RELU)
			put_above(&x, z);
		else
			x.put(z);
		store_word((T *)(void *)to, x);
	}
};

template <typename T, int TOGETHER, int STEPS, bool RELU>
static __device__ __forceinline__ void apply_to_area(char *to, const area &a, int t,
                                                     const pack_norm &v)
{
	constexpr int STEP = BLOCK / PACKS;
	const int step = a.columns * 16 * TOGETHER;
	bool there[STEPS];
	int i = a.i;
#pragma unroll
	for (int k = 0; k < STEPS; k++)
		there[k] = t + k * STEP < a.columns && within(a.j + (t + k * STEP) * a.d[1], a.width);
#pragma unroll 1
	for (int row = 0; row < a.rows; row++, i += a.d[0], to += step) {
		if (!within(i, a.height))
			continue;
#pragma unroll
		for (int k = 0; k < STEPS; k++)
			if (there[k])
				v.apply<T, RELU>(to + k * STEP * 16 * TOGETHER);
	}
}

/* Normalises what this thread has copied by copy_area with the same arguments; the copies must have
 * arrived. Pixels outside the tensor stay zero. v: loaded by load_norm if this thread has
 * channels. */
template <typename T, int TOGETHER, int STEPS>
static __device__ __forceinline__ void normalise_area(char *to, const area &a, const tile &of,
                                                      int64_t channels, const pack_norm &v)
{
	const int pack = (int)threadIdx.x % PACKS, t = (int)threadIdx.x / PACKS;
	if (of.c + pack * PACK >= channels)
		return;
	to += pack / TOGETHER * plane_of<TOGETHER>(a.rows, a.columns) + pack % TOGETHER * 16 +
		t * 16 * TOGETHER;
	if (v.slope == 0)
		apply_to_area<T, TOGETHER, STEPS, true>(to, a, t, v);
	else
		apply_to_area<T, TOGETHER, STEPS, false>(to, a, t, v);
}

/* Starts the loads of v for normalise_area. Call it before waiting for the copies, so that both
 * waits overlap. */
static __device__ __forceinline__ void load_norm(pack_norm *v, const k_depthwise_norm &norm,
                                                 int64_t first, int64_t channels)
{
	const int64_t c = first + (int)threadIdx.x % PACKS * PACK;
	if (c < channels)
		v->load(norm, c);
}

/* Runs the statement with NORMED: whether g has a norm. */
#define NORMED_OR_NOT(g, NORMED, ...)                                                    \
	do {                                                                             \
		if ((g).norm.gamma) {                                                    \
			constexpr bool NORMED = true;                                    \
			__VA_ARGS__;                                                     \
		} else {                                                                 \
			constexpr bool NORMED = false;                                   \
			__VA_ARGS__;                                                     \
		}                                                                        \
	} while (0)

/* Waits until the copies of all threads have arrived; then their earlier stores are visible,
 * too. */
static __device__ __forceinline__ void copies_done()
{
	copies_commit();
	copies_wait<0>();
	__syncthreads();
}

#endif
