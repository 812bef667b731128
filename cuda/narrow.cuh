/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions of few output channels, with windows of 3 x 3 or 5 x 5, by products of small
 * matrices (mma.sync). An implicit GEMM reads pixels from L2 again for each tap, and with 32
 * outputs that limits its speed. Here a tile of pixels with its border is copied to shared memory
 * once for all taps, as planes of 8 channels: 16 bytes a pixel, so that ldmatrix has no bank
 * conflicts, and a tap is an offset.
 *
 * A block of 4 warps has 2 R rows of 32 pixels of y, and 16 or 32 outputs; a warp has R rows of 16
 * pixels, each of them an A of 16 x 16. A row of x is loaded into registers once for each column of
 * the window, and multiplied by all taps of that column that read it, one for each row of y: this
 * needs (R + K - 1) / (R K) of the loads of separate taps. So the tensor cores, not shared memory,
 * limit the speed. A stage has 16 channels of x and their weights in storage order; for the
 * gradient to the input ldmatrix transposes the weights. The next stage is copied during the
 * products, a few copies at a time. Blocks are persistent: the first stage of the next tile is in
 * flight while the results of the last one are stored. Two blocks share a multiprocessor.
 *
 * For an H100, 5 x 5, 32 outputs, R = 8: mma.sync has 0.62 of wgmma's 2,048 multiply-adds a cycle.
 * A stage of a block has 3,200 products of 2,048: 5,160 cycles; it reads 225 KB of shared memory,
 * 1,760 cycles, and writes 49 KB, 380. From L2 it has 49 KB, 270 flops a byte: 2 TB/s at the bound.
 * That is 540 TFLOP/s at 1.6 GHz; with borders, barriers and epilogues 430 were predicted for 224
 * channels of x, and 431 are measured. tiramisu's 26 forward nodes of two samples take 7.1 ms (382
 * TFLOP/s; cuDNN 13). To the input, where dy has 32 channels and the epilogue reads an addend, it
 * was 290 TFLOP/s: a tile has two stages only, and after them an epilogue of 7,300 cycles, in which
 * four loads were waited for in turn; cuDNN with a pass after it is as fast (conv_narrow_cuda.c).
 * With the next rows' addend under way, 330 are predicted. */
#ifndef DLX_CUDA_NARROW_CUH
#define DLX_CUDA_NARROW_CUH

#include "cuda/fragment.cuh"
#include "cuda/narrow.h"

constexpr int WARPS = 4, LANES = 32, BLOCK = WARPS * LANES;
constexpr int COLUMNS = 32;          /* columns of a tile: two warps side by side */
constexpr int CHUNK = 16;            /* channels of x in a stage, in two halves of 16 bytes */
constexpr int MATRICES = 512;        /* bytes of a tap's weights: CHUNK channels x 16 outputs */
constexpr int RESIDENT = 2;          /* blocks on a multiprocessor */

/* A stage of the pipeline in shared memory: two planes of pixels of x, 16 bytes for each pixel, and
 * weights as MATRICES [tap][16 outputs]. The planes begin at different banks, since a warp writes
 * to both. */
template <int K, int N16, int R> struct stage {
	static constexpr int ROWS = 2 * R, HIGH = ROWS + K - 1, WIDE = COLUMNS + K - 1;
	static constexpr int PLANE = ((HIGH * WIDE + 7) / 8 * 8 + 4) * 16;
	static constexpr int WEIGHTS = 2 * PLANE, BYTES = WEIGHTS + K * K * N16 * MATRICES;
};

/* How work is divided into items; an item is a tile of y for some of its channels. */
struct deal {
	int down, across, blocks;        /* tiles along each axis; blocks of channels */
	int chunks, steps, items;
};

/* The position of an item: its first channel, column and row; its slice in depth and its sample. */
struct place {
	int c, col, row, slice, n;
};

template <int N16, int R>
static __device__ __forceinline__ place place_of(const k_narrow &g, const deal &d, int item)
{
	place p;
	p.c = item % d.blocks * (16 * N16);
	item /= d.blocks;
	p.col = item % d.across * COLUMNS;
	item /= d.across;
	p.row = item % d.down * (2 * R);
	item /= d.down;
	p.slice = item % g.out[0];
	p.n = item / g.out[0];
	return p;
}

/* What this thread copies of a stage: the offsets of its first elements of x and w, its pixel
 * (rows: rows of the slice that exist, 0 if none is read), and whether its weights exist. */
struct pieces {
	int64_t x, w;
	int row, col, rows;
	bool weights;
};

/* The weights of a tap that this thread copies: output n and 8 inputs from k on or, if TURNED,
 * input k and 8 outputs from n on; and their place in shared memory. Lanes that store at the same
 * time use all banks. */
template <int N16, bool TURNED> static __device__ __forceinline__ int weights_of(int *n, int *k)
{
	const int t = (int)threadIdx.x % (32 * N16);
	if (TURNED) {
		*k = t % 8 + t / (16 * N16) * 8;
		*n = (t % 8 + t / 8) % (2 * N16) * 8;
		return *n * 32 + *k * 16;
	}
	*n = t / 16 * 8 + t % 4 + (t / 4 + 1) / 2 % 2 * 4;
	*k = t / 4 % 2 * 8;
	return *n / 8 * 256 + *k * 16 + *n % 8 * 16;
}

/* The pieces for step `step` of an item, if it has that step. The steps are the depth slices under
 * the window, and for each of them the chunks of x. */
template <int K, int N16, bool TURNED> static __device__ __forceinline__ pieces pieces_of(
		const k_narrow &g, const place &p, int step, int chunks, bool some)
{
	constexpr int TAPS = K * K;
	const int depth = step / chunks, c = (step - depth * chunks) * CHUNK;
	const int lane = (int)threadIdx.x % LANES, half = lane % 2 * 8;
	const int first = (int)threadIdx.x / (32 * N16), slice = p.slice - g.lo[0] + depth;
	const int taps = g.kernel[0] * TAPS, tap = depth * TAPS + first;
	int n, k;
	pieces s;
	weights_of<N16, TURNED>(&n, &k);
	n += p.c;
	k += c;
	some = some && within(slice, g.in[0]);
	s.row = p.row - g.lo[1] + (int)threadIdx.x / LANES;
	s.col = p.col - g.lo[2] + lane / 2;
	s.rows = some && c + half < g.ci ? g.in[1] : 0;
	s.x = (int64_t)(((p.n * g.in[0] + slice) * g.in[1] + s.row) * g.in[2] + s.col) * g.x.stride +
	      c + half;
	s.weights = some && n < g.co && k < g.ci;
	s.w = TURNED ? ((int64_t)k * taps + taps - 1 - tap) * g.co + n :
	      ((int64_t)n * taps + tap) * g.ci + k;
	return s;
}

/* Starts the copies of part `part`, of K parts, of a stage. */
template <typename T, int K, int N16, int R, bool TURNED>
static __device__ __forceinline__ void copy_part(const k_narrow &g, const pieces &s, const T *w,
                                                 int part, char *to)
{
	typedef stage<K, N16, R> S;
	constexpr int AT_ONCE = BLOCK / (32 * N16);      /* taps that a block's threads copy at once */
	constexpr int ROWS = (S::HIGH + WARPS * K - 1) / (WARPS * K);
	constexpr int TAPS = (K * K + AT_ONCE * K - 1) / (AT_ONCE * K);
	const int warp = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES;
	char *const of_x = to + lane % 2 * S::PLANE + (warp * S::WIDE + lane / 2) * 16;
	const int first = (int)threadIdx.x / (32 * N16);
	int n, k;
	char *const of_w = to + S::WEIGHTS + first * (N16 * MATRICES) + weights_of<N16, TURNED>(&n, &k);
#pragma unroll
	for (int j = part * ROWS; j < part * ROWS + ROWS; j++)
#pragma unroll
		for (int i = 0; i < (S::WIDE + 15) / 16; i++) {
			const bool read = within(s.row + j * WARPS, s.rows) && within(s.col + i * 16, g.in[2]);
			const int64_t at = s.x + (int64_t)(j * WARPS * g.in[2] + i * 16) * g.x.stride;
			if (warp + j * WARPS < S::HIGH && lane / 2 + i * 16 < S::WIDE)
				copy_async<16>(of_x + (j * WARPS * S::WIDE + i * 16) * 16,
				               (const T *)g.x.p + (read ? at : 0), read);
		}
#pragma unroll
	for (int j = part * TAPS * AT_ONCE; j < (part + 1) * TAPS * AT_ONCE; j += AT_ONCE) {
		const int64_t at = TURNED ? s.w - (int64_t)j * g.co : s.w + (int64_t)j * g.ci;
		if (first + j < K * K)
			copy_async<16>(of_w + j * (N16 * MATRICES), w + (s.weights ? at : 0), s.weights);
	}
}

template <int N16, bool TURNED> static __device__ __forceinline__ void load_tap(
		uint32_t (&w)[N16][4], const char *from)
{
#pragma unroll
	for (int j = 0; j < N16; j++)
		if (TURNED)
			load_transposed(w[j], from + j * MATRICES);
		else
			load_matrices(w[j], from + j * MATRICES);
}

/* sum[i] += the products of a stage, for row i of R, with 16 pixels in each. A row of x is loaded
 * once for each column of the window, and used for all rows of y whose windows contain it. x and w:
 * this lane's addresses for the first tap. meanwhile(0) to meanwhile(K - 1) are called between the
 * products, early in the stage. */
template <typename T, int K, int N16, int R, bool TURNED, typename F>
static __device__ __forceinline__ void add_stage(const char *x, const char *w,
                                                 float (&sum)[R][2 * N16][4], const F &meanwhile)
{
	typedef stage<K, N16, R> S;
	constexpr int EVERY = R < 8 ? 2 : 4, EACH = (R + K - 1) / EVERY;
#pragma unroll
	for (int s = 0; s < K; s++) {
		uint32_t row[2][4], tap[K][N16][4];
		load_tap<N16, TURNED>(tap[0], w + s * (N16 * MATRICES));
		load_matrices(row[0], x + s * 16);
#pragma unroll
		for (int i = 0; i < R + K - 1; i++) {
			if (i + 1 < K)
				load_tap<N16, TURNED>(tap[i + 1], w + ((i + 1) * K + s) * (N16 * MATRICES));
			if (i + 1 < R + K - 1)
				load_matrices(row[(i + 1) % 2], x + ((i + 1) * S::WIDE + s) * 16);
#pragma unroll
			for (int r = 0; r < K; r++)
				if (i - r >= 0 && i - r < R)
#pragma unroll
					for (int j = 0; j < 2 * N16; j++)
						multiply_add<T>(sum[i - r][j], row[i % 2], tap[r][j / 2][j % 2 * 2],
						                tap[r][j / 2][j % 2 * 2 + 1]);
			if (i % EVERY == EVERY / 2 && s * EACH + i / EVERY < K && i / EVERY < EACH)
				meanwhile(s * EACH + i / EVERY);
		}
	}
}

/* This lane's 16 bytes in each row of a part of y: a pixel, a channel, and the number of rows that
 * exist from the part's first one on (0 if the pixel does not exist). */
struct granule {
	int64_t pixel;
	int channel, down;
};

/* 16 bytes of SOME rows of an addend and of a mask; either may be absent. */
template <int SOME> struct beside {
	uint32_t addend[SOME][4], mask[SOME][4];
};

template <typename T, int SOME> static __device__ __forceinline__ void load_rows(
		const k_rows &from, const granule &at, int width, uint32_t none, uint32_t (&v)[SOME][4])
{
#pragma unroll
	for (int k = 0; k < SOME; k++) {
		uint4 a = { none, none, none, none };
		if (from.p && k < at.down)
			a = *(const uint4 *)((const T *)from.p + (at.pixel + (int64_t)k * width) * from.stride +
			                     at.channel);
		memcpy(v[k], &a, sizeof a);
	}
}

template <typename T, bool LIKE, int SOME> static __device__ __forceinline__ void load_beside(
		const k_narrow &g, const granule &at, beside<SOME> &v)
{
	const k_rows absent = { NULL, 0 };
	load_rows<T>(LIKE ? g.addend : absent, at, g.out[2], ZEROS, v.addend);
	load_rows<T>(LIKE ? g.mask : absent, at, g.out[2], POSITIVE, v.mask);
}

/* Stores the warp's part of y. A lane has pairs of channels of pixels g and g + 8 (cuda/mma.cuh);
 * four lanes exchange them, so that each has 16 bytes of a pixel. LIKE: there is an addend or a
 * mask, which are loaded in the same form. Those of the next two rows are loaded before the current
 * rows are stored: y may be the addend, so the compiler cannot move a load above a store, and the
 * thread would wait for each load. */
template <typename T, int N16, int R, bool LIKE> static __device__ __forceinline__ void finish(
		const k_narrow &g, const place &p, int row, int col, const float (&sum)[R][2 * N16][4])
{
	constexpr int N8 = 2 * N16, SOME = 2, PARTS = R / SOME * N16;
	const int lane = (int)threadIdx.x % LANES, t = lane % 4;
	const int64_t pixel = (((int64_t)p.n * g.out[0] + p.slice) * g.out[1] + row) * g.out[2] + col;
	const after f = { g.act == K_ACT_RELU ? 0.0f : -INFINITY, g.slope, g.slope != 0 };
	const auto granule_of = [&](int part) {
		const int i = part / N16 * SOME, m = part % N16 * 4 + t;
		const int along = lane / 4 + m / N8 * 8, channel = p.c + m % N8 * 8;
		const bool there = col + along < g.out[2] && channel < g.co;
		return granule{ pixel + (int64_t)i * g.out[2] + along, channel,
			there ? g.out[1] - row - i : 0 };
	};
	granule at = granule_of(0), next = at;
	beside<SOME> has, coming;
	load_beside<T, LIKE>(g, at, has);
	float scale[N8][2], shift[N8][2];
#pragma unroll
	for (int j = 0; j < 2 * N8; j++) {
		const int c = p.c + 8 * (j / 2) + 2 * t + j % 2;
		scale[j / 2][j % 2] = g.scale && c < g.co ? g.scale[c] : 1.0f;
		shift[j / 2][j % 2] = g.shift && c < g.co ? g.shift[c] : 0.0f;
	}
#pragma unroll
	for (int b = 0; b < PARTS; b++, at = next, has = coming) {
		if (b + 1 < PARTS) {
			next = granule_of(b + 1);
			load_beside<T, LIKE>(g, next, coming);
		}
#pragma unroll
		for (int k = 0; k < SOME; k++) {
			uint32_t made[4];
			if (LIKE && g.addend.p)
				transpose(has.addend[k]);
			if (LIKE && g.mask.p)
				transpose(has.mask[k]);
#pragma unroll
			for (int e = 0; e < 4; e++) {
				const int u = b % N16 * 4 + e, h = u / N8, j = u % N8;
				made[e] = finish_pair<T>(f, &sum[b / N16 * SOME + k][j][2 * h], scale[j], shift[j],
				                         has.addend[k][e], has.mask[k][e]);
			}
			transpose(made);
			if (k < at.down) {
				const int64_t to = (at.pixel + (int64_t)k * g.out[2]) * g.y.stride;
				store_word((T *)g.y.p + to + at.channel, made);
			}
		}
	}
}

/* Prefetches what the epilogue will load, for the warp's R rows, into L2. */
template <typename T, int N16, int R> static __device__ __forceinline__ void warm(
		const k_narrow &g, const place &p, int row, int col, const k_rows &like)
{
	const int lane = (int)threadIdx.x % LANES, channel = p.c + lane % 2 * 16;
	if (!like.p || col + lane / 2 >= g.out[2] || channel >= g.co || lane % 2 >= N16)
		return;
	const int64_t pixel = ((int64_t)(p.n * g.out[0] + p.slice) * g.out[1] + row) * g.out[2] + col;
	const T *at = (const T *)like.p + (pixel + lane / 2) * like.stride + channel;
	for (int i = 0; i < R && row + i < g.out[1]; i++, at += g.out[2] * like.stride)
		prefetch(at);
}

template <typename T, int K, int N16, int R, bool TURNED>
__global__ void __launch_bounds__(BLOCK, RESIDENT)
narrow(k_narrow g, deal d, const T *w)
{
	BEGIN_KERNEL();
	typedef stage<K, N16, R> S;
	SHARED_DYNAMIC(char, shared);
	const int warp = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES;
	const int down = warp / 2 * R, along = warp % 2 * 16;
	const int of_x = lane / 16 * S::PLANE + (down * S::WIDE + along + lane % 16) * 16;
	const int of_w = S::WEIGHTS + lane * 16;
	int ahead = (int)blockIdx.x, step_ahead = 0, buffer = 0;
	place p = place_of<N16, R>(g, d, ahead), next = p;
	pieces from = pieces_of<K, N16, TURNED>(g, p, 0, d.chunks, true);
#pragma unroll 1
	for (int part = 0; part < K; part++)
		copy_part<T, K, N16, R, TURNED>(g, from, w, part, shared);
	copies_commit();
	for (int item = ahead; item < d.items; item += (int)gridDim.x, p = next) {
		const int row = p.row + down, col = p.col + along;
		const bool mine = row < g.out[1] && col < g.out[2];
		float sum[R][2 * N16][4] = { { { 0 } } };
		for (int step = 0; step < d.steps; step++) {
			copies_wait<0>();
			__syncthreads();
			if (++step_ahead == d.steps) {
				step_ahead = 0;
				ahead += (int)gridDim.x;
				if (ahead < d.items)
					next = place_of<N16, R>(g, d, ahead);
			}
			from = pieces_of<K, N16, TURNED>(g, next, step_ahead, d.chunks, ahead < d.items);
			char *const at = shared + buffer * S::BYTES;
			char *const to = shared + (1 - buffer) * S::BYTES;
			if (mine && step + 1 == d.steps) {
				warm<T, N16, R>(g, p, row, col, g.addend);
				warm<T, N16, R>(g, p, row, col, g.mask);
			}
			const auto copy = [&](int part) {
				copy_part<T, K, N16, R, TURNED>(g, from, w, part, to);
			};
			if (mine && within(p.slice - g.lo[0] + step / d.chunks, g.in[0]))
				add_stage<T, K, N16, R, TURNED>(at + of_x, at + of_w, sum, copy);
			else
#pragma unroll 1
				for (int part = 0; part < K; part++)
					copy(part);
			copies_commit();
			buffer = 1 - buffer;
		}
		if (mine && (g.addend.p || g.mask.p))
			finish<T, N16, R, true>(g, p, row, col, sum);
		else if (mine)
			finish<T, N16, R, false>(g, p, row, col, sum);
	}
	copies_wait<0>();            /* after the last item only zeros are in flight */
}

/* --- launches --- */

template <int N16, int R> static deal deal_of(const k_narrow &g)
{
	deal d;
	d.blocks = (g.co + 16 * N16 - 1) / (16 * N16);
	d.across = (g.out[2] + COLUMNS - 1) / COLUMNS;
	d.down = (g.out[1] + 2 * R - 1) / (2 * R);
	d.chunks = (g.ci + CHUNK - 1) / CHUNK;
	d.steps = d.chunks * g.kernel[0];
	d.items = (int)(g.n * g.out[0] * d.down * d.across * d.blocks);
	return d;
}

template <typename T, int K, int N16, int R, bool TURNED>
static int make(void *stream, const k_narrow &g, const void *w)
{
	const deal d = deal_of<N16, R>(g);
	const int bytes = 2 * stage<K, N16, R>::BYTES, most = RESIDENT * g.processors;
	const void *const kernel = (const void *)narrow<T, K, N16, R, TURNED>;
	cudaError_t e = allow_shared(kernel, bytes);
	if (e == cudaSuccess)            /* two blocks must fit on a multiprocessor */
		e = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
		                         cudaSharedmemCarveoutMaxShared);
	if (e != cudaSuccess)
		return e;
	LAUNCH((narrow<T, K, N16, R, TURNED>), d.items < most ? d.items : most, BLOCK, bytes, stream, g,
	       d, (const T *)w);
	return cudaGetLastError();
}

/* Estimated time of a multiprocessor, in units of the time for one row of a warp. With fewer rows
 * each product reads more shared memory; a block that is alone on its multiprocessor waits more. */
template <int N16, int R> static int64_t cost(const k_narrow &g)
{
	constexpr int row = R == 8 ? 20 : R == 4 ? 22 : 28;
	const int64_t each = (deal_of<N16, R>(g).items + g.processors - 1) / g.processors;
	return each * R * row * (each > 1 ? 10 : 13);
}

/* The rows of a warp: the largest of 8, 4 and (if LEAST) 2 that is not slower than a smaller
 * one. */
template <int N16, int LEAST> static int rows_of(const k_narrow &g)
{
#ifdef DLX_CUDA_EMULATED
	return g.out[1] % 3 == 0 ? 8 : g.out[1] % 3 == 1 ? 4 : LEAST;      /* so that tests cover all of
	                                                                    * them */
#else
	const int64_t eight = cost<N16, 8>(g), four = cost<N16, 4>(g), least = cost<N16, LEAST>(g);
	return eight <= four && eight <= least ? 8 : four <= least ? 4 : 2;
#endif
}

/* Only those block widths and numbers of rows are compiled that networks use: few outputs of small
 * images occur forward only. */
template <typename T, int K> static int narrow_run(void *stream, const k_narrow &g, const void *w)
{
	/* Blocks of 16 outputs take 0.55 of the time of those of 32. */
	const int sixteens = (g.co + 15) / 16, pairs = (g.co + 31) / 32;
	if (g.turned)
		return rows_of<2, 4>(g) == 8 ? make<T, K, 2, 8, true>(stream, g, w) :
		       make<T, K, 2, 4, true>(stream, g, w);
	if (11 * sixteens < 20 * pairs)
		return rows_of<1, 4>(g) == 8 ? make<T, K, 1, 8, false>(stream, g, w) :
		       make<T, K, 1, 4, false>(stream, g, w);
	const int rows = rows_of<2, 2>(g);
	return rows == 8 ? make<T, K, 2, 8, false>(stream, g, w) :
	       rows == 4 ? make<T, K, 2, 4, false>(stream, g, w) :
	       make<T, K, 2, 2, false>(stream, g, w);
}

/* Windows of 5 x 5 (cuda/k_narrow_five.cu). */
int narrow_five(void *stream, const k_narrow &g, const void *w);

#endif
