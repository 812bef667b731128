/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions of at most four channels to many (few.h): the first layers of networks, and
 * gradients to the input of last layers. They are bound by memory bandwidth, and y is written once.
 *
 * A warp keeps all weights of 32 channels of y in registers, and loops over strips of 8 pixels of a
 * row, two or four strips at a time. It multiplies matrices of 16 channels, 16 k and 8 pixels. A
 * lane's four k are the four channels of one tap, so it loads them as 8 bytes from the pixels in
 * shared memory (few.cuh), without bank conflicts within a row; rows are 64 bytes apart modulo 128.
 * Taps beyond the window repeat the last one with zero weights. The rows of the products are
 * assigned so that a lane has four adjacent channels of two pixels.
 *
 * Prediction for an H100: conv1 of cosmoflow (16 samples of 128^3 pixels, 3 x 3 x 3, 4 to 32
 * channels) writes 2.15 GB and reads 0.27 GB, 0.81 ms at 3.0 TB/s; its 59 M products take 0.41 to
 * 0.52 ms (6.4 to 8 clocks of a quarter of a processor), its loads from shared memory 0.26 ms (28
 * clocks for 16 pixels), its instructions 0.25 ms; these overlap, 0.95 ms were expected, 1.07 are
 * measured (cuDNN: 3.54). conv1 of resnet-50 (256 samples of 224^2, 7 x 7, stride 2, 3 to 64) moves
 * 0.49 GB, 0.16 ms, and has 21 M products, 0.15 to 0.18 ms; 0.3 ms were expected, because pixels of
 * 6 bytes are loaded by halves and arrive before the block goes on; 0.49 are measured, and 0.33
 * predicted since four pixels are loaded at once (few.cuh). */
#include "cuda/few.cuh"

constexpr int ROOM = 2560;
constexpr int TAPS_HELD = 52;        /* 13 steps of four taps */

/* Resident blocks of a multiprocessor, which then use all its registers. */
static constexpr int resident(int taps) { return taps > 28 ? 3 : 4; }

/* The weights of one tap for channel m of y, as bits. */
template <typename T> static __device__ __forceinline__ uint2 load_tap(const k_few &g, const T *w,
                                                                       int m, int tap)
{
	const uint16_t *const p = (const uint16_t *)w + g.w_first + m * g.w_many + tap * g.w_tap;
	uint32_t v[4] = { 0, 0, 0, 0 };
	const bool there = m < g.many && tap < g.kernel[0] * g.kernel[1] * g.kernel[2];
#pragma unroll
	for (int c = 0; c < 4; c++)
		if (there && c < g.few)
			v[c] = p[c * g.w_few];
	return { v[0] | v[1] << 16, v[2] | v[3] << 16 };
}

/* The distance of tap `tap` from the window's first tap, in places of shared memory. */
static __device__ __forceinline__ int tap_place(const k_few &g, const few_tile &a, int tap)
{
	const int last = g.kernel[0] * g.kernel[1] * g.kernel[2] - 1, i = tap < last ? tap : last,
	          row = i / g.kernel[2];
	return row / g.kernel[1] * a.plane + row % g.kernel[1] * a.pitch + i % g.kernel[2];
}

/* Writes at most `left` pixels of a row of y; this lane has two of every eight. to: this lane's
 * channels of the first one; apart: elements from pixel to pixel. */
template <typename T, int STRIPS> static __device__ __forceinline__ void store_strips(
		T *to, int apart, int left, const float (&sum)[STRIPS][2][4])
{
#pragma unroll
	for (int e = 0; e < 2 * STRIPS; e++) {
		const int k = e / 2, half = e % 2;
		const float v[4] = { sum[k][0][half], sum[k][0][2 + half], sum[k][1][half],
			sum[k][1][2 + half] };
		several<T, 4> four;
		four.put(v);
		if (8 * k + half < left)
			store_word(to + (8 * k + half) * apart, four);
	}
}

/* across: log2 of the number of warps side by side along the channels. */
template <typename T, int STEPS, int STRIPS, int STRIDE>
__global__ void __launch_bounds__(FEW_THREADS, resident(4 * STEPS))
few_to_many(k_few g, few_tile a, int across, const T *w, const float *bias)
{
	BEGIN_KERNEL();
	__shared__ uint2 room[2 * ROOM];
	SHARED_DYNAMIC(int, places);
	constexpr int WIDE = 8 * STRIPS;
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, t = lane % 4,
	          group = (int)(blockIdx.y << across) + (warp & ((1 << across) - 1)),
	          channel = group * GROUP + 4 * row,
	          log = a.log[2] - (STRIPS == 4 ? 5 : 4), strips = 1 << (a.log[0] + a.log[1] + log);
	uint32_t weight[STEPS][2][4];
	int place[STEPS];
	float start[4];
#pragma unroll
	for (int s = 0; s < STEPS; s++) {
		place[s] = tap_place(g, a, 4 * s + t);
#pragma unroll
		for (int c = 0; c < 4; c++) {
			const uint2 v = load_tap(g, w, channel + c, 4 * s + t);
			weight[s][c / 2][c % 2] = v.x;
			weight[s][c / 2][c % 2 + 2] = v.y;
		}
	}
#pragma unroll
	for (int c = 0; c < 4; c++)
		start[c] = bias && channel < g.many ? bias[channel + c] : 0.0f;
	int side = 0;
	few_place p = place_of(a, blockIdx.x);
	find_places(a, places);
	__syncthreads();
	copy_under<T, false>(g, a, p, places, room, NULL);
	for (int u = blockIdx.x; u < a.all; u += gridDim.x) {
		const few_place next = place_of(a, u + gridDim.x);
		copies_commit();
		copies_wait<0>();
		__syncthreads();
		if (u + (int)gridDim.x < a.all)
			copy_under<T, false>(g, a, next, places, room + (ROOM - side), NULL);
		for (int i = warp >> across; i < strips; i += FEW_WARPS >> across) {
			const int col = (i & ((1 << log) - 1)) * WIDE, line = i >> log,
			          h = line & ((1 << a.log[1]) - 1), d = line >> a.log[1],
			          left = g.out[2] - p.at[2] - col;
			const int under = side + d * g.stride[0] * a.plane + h * g.stride[1] * a.pitch +
			                  (col + row) * STRIDE;
			float sum[STRIPS][2][4];
			if (p.at[0] + d >= g.out[0] || p.at[1] + h >= g.out[1] || left <= 0)
				continue;
#pragma unroll
			for (int e = 0; e < STRIPS * 8; e++)
				sum[e / 8][e / 4 % 2][e % 4] = start[e / 2 % 4];
#pragma unroll
			for (int s = 0; s < STEPS; s++) {
				const uint2 *const x = room + (under + place[s]);
#pragma unroll
				for (int k = 0; k < STRIPS; k++) {
					const uint2 v = x[8 * k * STRIDE];
					multiply_add<T>(sum[k][0], weight[s][0], v.x, v.y);
					multiply_add<T>(sum[k][1], weight[s][1], v.x, v.y);
				}
			}
			const int pixel = ((p.n * g.out[0] + p.at[0] + d) * g.out[1] + p.at[1] + h) *
			                  g.out[2] + p.at[2] + col + 2 * t;
			if (channel < g.many)
				store_strips<T, STRIPS>((T *)g.y.p + pixel * g.y.stride + channel,
				                        (int)g.y.stride, left - 2 * t, sum);
		}
		p = next;
		side = ROOM - side;
	}
	copies_wait<0>();
}

static int taps_of(const k_few &g)
{
	return g.kernel[0] * g.kernel[1] * g.kernel[2];
}

static few_tile tiles_of(const k_few &g)
{
	return tile_of(g, { taps_of(g) > 28 ? 16 : 32, g.kernel[2], 16, 8, ROOM });
}

int k_few_takes(const struct k_few *g)
{
	return few_general(*g) && taps_of(*g) <= TAPS_HELD && tiles_of(*g).all;
}

template <typename T, int STRIDE>
static int make(void *stream, const k_few &g, const T *w, const float *bias)
{
	const few_tile a = tiles_of(g);
	const int groups = (g.many + GROUP - 1) / GROUP, taps = taps_of(g),
	          across = groups > 2 ? 2 : groups - 1, y = (groups + (1 << across) - 1) >> across;
	const dim3 grid((unsigned)blocks_through(a.all, resident(taps), y), (unsigned)y);
	if (taps <= 4)
		LAUNCH_FEW((few_to_many<T, 1, 4, STRIDE>), grid, a, stream, g, a, across, w, bias);
	else if (taps <= 12)
		LAUNCH_FEW((few_to_many<T, 3, 4, STRIDE>), grid, a, stream, g, a, across, w, bias);
	else if (taps <= 28)
		LAUNCH_FEW((few_to_many<T, 7, 4, STRIDE>), grid, a, stream, g, a, across, w, bias);
	else
		LAUNCH_FEW((few_to_many<T, 13, 2, STRIDE>), grid, a, stream, g, a, across, w, bias);
	return cudaGetLastError();
}

int k_few_forward(void *stream, const struct k_few *g, const void *w, const float *bias)
{
	if (!k_few_takes(g))
		return cudaErrorInvalidValue;
	if (g->stride[2] == 1)
		HALF_TYPES(g->type, T, return (make<T, 1>(stream, *g, (const T *)w, bias)))
	HALF_TYPES(g->type, T, return (make<T, 2>(stream, *g, (const T *)w, bias)))
	return cudaErrorInvalidValue;
}
