/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions of many channels to at most four (few.h): the last layers of networks, including
 * transposed ones. They are bound by memory bandwidth, so y should be read once.
 *
 * A block multiplies each pixel of y in a tile by the weights of all taps, as if taps were
 * channels. The matrix products (16 pairs of tap and channel of x, 16 channels of y, 8 pixels) are
 * stored in shared memory, where each pixel of x in the tile adds up those in its window. Tiles of
 * y overlap by the window; the second read comes from the L2 cache. y does not pass through shared
 * memory: the order of channels within a product is arbitrary, so a lane loads 8 adjacent channels
 * of a pixel, which are its k for two products; one load instruction covers 64 bytes of each of 8
 * pixels. The weights are stored in shared memory in that order.
 *
 * Prediction for an H100: upsample.last_deconv of deepcam (8 samples, 384 x 576 pixels of 256
 * channels to 768 x 1152 of 3, 3 x 3, stride 2) reads 0.91 GB and writes 0.08 GB of float32, 0.33
 * ms at 3.0 TB/s; tiles of 16 x 16 pixels read 14 % more from L2. 64 kB a processor are on their
 * way. 0.4 ms were expected, 0.39 are measured (cuDNN: 1.85); logits of deeplabv3+ (2 samples, 768
 * x 1152, 256 channels to 3, 1 x 1) reads 0.91 GB: 0.33 ms were expected, 0.345 are measured
 * (cuDNN: 1.05). */
#include "cuda/few.cuh"

constexpr int PIXELS = 256, PITCH = PIXELS + 8;      /* pixels of y in a tile; floats from row to
                                                      * row of their sums */
constexpr int PART = 32, AHEAD_ROUNDS = 2;           /* channels of y in a round; rounds that are
                                                      * loaded ahead */
constexpr int SHARED = 48 << 10;
constexpr int RESIDENT = 2;          /* resident blocks of a multiprocessor, which then use all its
                                      * registers */

/* Tiles of x, and of y under them: tile i begins at pixel i * size of x, and at pixel i * step +
 * from of y. */
struct back_tile {
	int size[3], step[3], from[3], under[3], tiles[3];
	int columns, rounds;         /* columns: taps times channels of x; rounds: rounds of channels of
	                              * y, an even number */
	int all;
};

static int columns_of(const k_few &g)
{
	return g.kernel[0] * g.kernel[1] * g.kernel[2] * g.few;
}

/* The first pixel of y that pixel 0 of x reads; it may be outside. */
static int first_read(const k_few &g, int i)
{
	const int e = g.lo[i] - (g.kernel[i] - 1), s = g.stride[i];
	return e >= 0 ? (e + s - 1) / s : -(-e / s);
}

/* The most pixels of x along axis i that `under` pixels of y suffice for; 0: none. */
static int most_of(const k_few &g, int i, int under)
{
	const int s = g.stride[i];
	for (int size = under * s; size > 0; size -= s)
		if ((size - 1 + g.lo[i]) / s - first_read(g, i) < under)
			return size;
	return 0;
}

static back_tile back_tile_of(const k_few &g)
{
	back_tile a = {}, best = {};
	double least = 0;
	a.columns = columns_of(g);
	a.rounds = (g.many + 2 * PART - 1) / (2 * PART) * 2;
	for (a.under[0] = 1; a.under[0] <= 16; a.under[0]++)
		for (a.under[1] = 1; a.under[0] * a.under[1] <= PIXELS; a.under[1]++) {
			double tiles = (double)g.n;
			a.under[2] = PIXELS / (a.under[0] * a.under[1]);
			for (int i = 0; i < 3; i++) {
				a.size[i] = most_of(g, i, a.under[i]);
				a.step[i] = a.size[i] / g.stride[i];
				a.from[i] = first_read(g, i);
				a.tiles[i] = a.size[i] ? (g.in[i] + a.size[i] - 1) / a.size[i] : 0;
				tiles *= a.tiles[i];
			}
			if (tiles <= 0 || tiles > 1 << 30 || (best.all && tiles >= least))
				continue;
			best = a;
			best.all = (int)tiles;
			least = tiles;
		}
	return best;
}

/* The number of products, of 16 columns each. */
static int products_of(int columns)
{
	return (columns + 15) / 16;
}

static size_t shared_of(const back_tile &a)
{
	return (size_t)a.rounds * products_of(a.columns) * 2 * 32 * sizeof(uint4) +
	       (size_t)a.columns * PITCH * sizeof(float);
}

int k_few_back_takes(const struct k_few *g)
{
	if (!few_general(*g) || columns_of(*g) > 32)
		return 0;
	const back_tile a = back_tile_of(*g);
	return a.all && shared_of(a) <= SHARED;
}

/* A loop over the pixels of a box, in which a thread takes pixels i, i + threads, ... */
struct few_walk {
	int d, h, w;
};

static __device__ __forceinline__ few_walk walk_from(const int *size, int i)
{
	const int row = i / size[2];
	return { row / size[1], row % size[1], i % size[2] };
}

/* by: the step of `threads` pixels, from walk_from. */
static __device__ __forceinline__ void walk_on(const int *size, const few_walk &by, few_walk *e)
{
	e->w += by.w;
	e->h += by.h;
	e->d += by.d;
	if (e->w >= size[2]) {
		e->w -= size[2];
		e->h++;
	}
	if (e->h >= size[1]) {
		e->h -= size[1];
		e->d++;
	}
}

/* weight[round][product][step][lane][8]: as ldmatrix would give 16 columns and 16 channels, where
 * lane t of four has channels 8t + 4 step to 8t + 4 step + 3. */
template <typename T> static __device__ __forceinline__ void load_columns(
		const k_few &g, const back_tile &a, int products, const T *w, T *weight)
{
	for (int e = threadIdx.x; e < a.rounds * products * 512; e += THREADS) {
		const int lane = e / 8 % 32, step = e / 256 % 2, block = e / 512,
		          m = block / products * PART + lane % 4 * 8 + step * 4 + e / 4 % 2 * 2 + e % 2,
		          column = block % products * 16 + lane / 4 + e / 2 % 2 * 8;
		const T none = from_float<T>(0.0f);
		const T *const from = w + g.w_first + m * g.w_many + column / g.few * g.w_tap +
		                      column % g.few * g.w_few;
		weight[e] = m < g.many && column < a.columns ? *from : none;
	}
}

/* The first pixels of tile u in x and in y. */
struct back_place {
	int n, x[3], y[3];
};

static __device__ __forceinline__ back_place corner_of(const back_tile &a, int u)
{
	back_place p;
	tile_number(a.tiles, u, &p.n, p.x);
	for (int i = 0; i < 3; i++) {
		p.y[i] = p.x[i] * a.step[i] + a.from[i];
		p.x[i] *= a.size[i];
	}
	return p;
}

/* The addresses of a lane's four pixels of y, at its first channel; NULL: outside. mine: whether
 * the pixel is in the tile. */
template <typename T> static __device__ __forceinline__ void pixels_of(
		const k_few &g, const back_tile &a, int u, const few_walk (&mine)[4], const T *(&y)[4])
{
	const back_place p = corner_of(a, u);
#pragma unroll
	for (int k = 0; k < 4; k++) {
		const int d = p.y[0] + mine[k].d, h = p.y[1] + mine[k].h, w = p.y[2] + mine[k].w;
		y[k] = u < a.all && mine[k].d < a.under[0] && (unsigned)d < (unsigned)g.out[0] &&
		       (unsigned)h < (unsigned)g.out[1] && (unsigned)w < (unsigned)g.out[2] ?
		       (const T *)g.y.p + threadIdx.x % 4 * 8 +
		       (int64_t)(((p.n * g.out[0] + d) * g.out[1] + h) * g.out[2] + w) * g.y.stride : NULL;
	}
}

template <typename T> static __device__ __forceinline__ void load_round(
		const k_few &g, int round, const T *const (&y)[4], uint4 (&v)[4])
{
	const bool there = round * PART + (int)threadIdx.x % 4 * 8 < g.many;
#pragma unroll
	for (int k = 0; k < 4; k++) {
		v[k] = { 0, 0, 0, 0 };
		if (there && y[k])
			load_word(&v[k], y[k] + round * PART);
	}
}

/* sum[k]: pixels 8k to 8k + 7 of the warp. */
template <typename T, int PRODUCTS> static __device__ __forceinline__ void multiply_round(
		const uint4 (&v)[4], const uint4 *weight, float (&sum)[4][PRODUCTS][4])
{
#pragma unroll
	for (int j = 0; j < PRODUCTS; j++)
#pragma unroll
		for (int step = 0; step < 2; step++) {
			const uint4 w = weight[(j * 2 + step) * 32];
			const uint32_t columns[4] = { w.x, w.y, w.z, w.w };
#pragma unroll
			for (int k = 0; k < 4; k++)
				multiply_add<T>(sum[k][j], columns, step ? v[k].z : v[k].x,
				                step ? v[k].w : v[k].y);
		}
}

/* Adds up the window of pixel (d, h, w) of x. Strides are 1 or 2. sums: those of the tile at p. */
static __device__ __forceinline__ void read_window(
		const k_few &g, const back_tile &a, const back_place &p, int d, int h, int w,
		const float *sums, float (&s)[K_FEW])
{
	for (int kd = (d + g.lo[0]) & (g.stride[0] - 1); kd < g.kernel[0]; kd += g.stride[0])
		for (int kh = (h + g.lo[1]) & (g.stride[1] - 1); kh < g.kernel[1]; kh += g.stride[1]) {
			const int i = ((d + g.lo[0] - kd) >> (g.stride[0] - 1)) - p.y[0],
			          j = ((h + g.lo[1] - kh) >> (g.stride[1] - 1)) - p.y[1],
			          line = (i * a.under[1] + j) * a.under[2] - p.y[2],
			          tap = (kd * g.kernel[1] + kh) * g.kernel[2];
			for (int kw = (w + g.lo[2]) & (g.stride[2] - 1); kw < g.kernel[2]; kw += g.stride[2]) {
				const float *const from = sums + line + (tap + kw) * g.few * PITCH +
				                          ((w + g.lo[2] - kw) >> (g.stride[2] - 1));
#pragma unroll
				for (int c = 0; c < K_FEW; c++)
					if (c < g.few)
						s[c] += from[c * PITCH];
			}
		}
}

template <typename T, int PRODUCTS>
__global__ void __launch_bounds__(THREADS, RESIDENT)
many_to_few(k_few g, back_tile a, int to, const T *w, const float *bias)
{
	BEGIN_KERNEL();
	SHARED_DYNAMIC(uint4, room);
	const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 32;
	const few_walk begin = walk_from(a.size, threadIdx.x), by = walk_from(a.size, THREADS);
	float *const sums = (float *)(room + a.rounds * PRODUCTS * 64);
	few_walk mine[4];
	const T *y[4];
	uint4 v[AHEAD_ROUNDS][4];
	load_columns(g, a, PRODUCTS, w, (T *)room);
#pragma unroll
	for (int k = 0; k < 4; k++)
		mine[k] = walk_from(a.under, first + 8 * k + lane / 4);
	pixels_of(g, a, blockIdx.x, mine, y);
#pragma unroll
	for (int q = 0; q < AHEAD_ROUNDS; q++)
		load_round(g, q, y, v[q]);
	__syncthreads();
	for (int u = blockIdx.x; u < a.all; u += gridDim.x) {
		const back_place p = corner_of(a, u);
		float sum[4][PRODUCTS][4] = { { { 0 } } };
		for (int round = 0; round < a.rounds; round += AHEAD_ROUNDS) {
			const bool more = round + AHEAD_ROUNDS < a.rounds;
			if (!more)
				pixels_of(g, a, u + gridDim.x, mine, y);
#pragma unroll
			for (int q = 0; q < AHEAD_ROUNDS; q++) {
				multiply_round<T, PRODUCTS>(v[q], room + (round + q) * PRODUCTS * 64 + lane, sum);
				load_round(g, more ? round + AHEAD_ROUNDS + q : q, y, v[q]);
			}
		}
		__syncthreads();                 /* all threads have read the sums of the previous tile */
#pragma unroll
		for (int e = 0; e < 8 * PRODUCTS; e++) {
			const int k = e / (2 * PRODUCTS), j = e / 2 % PRODUCTS,
			          column = j * 16 + lane / 4 + e % 2 * 8;
			if (column < a.columns)
				*(float2 *)(sums + column * PITCH + first + 8 * k + lane % 4 * 2) =
					{ sum[k][j][e % 2 * 2], sum[k][j][e % 2 * 2 + 1] };
		}
		__syncthreads();
		for (few_walk e = begin; e.d < a.size[0]; walk_on(a.size, by, &e)) {
			const int d = p.x[0] + e.d, h = p.x[1] + e.h, col = p.x[2] + e.w;
			float s[K_FEW] = { 0 };
			if (d >= g.in[0] || h >= g.in[1] || col >= g.in[2])
				continue;
			read_window(g, a, p, d, h, col, sums, s);
			const int64_t pixel = ((p.n * g.in[0] + d) * g.in[1] + h) * g.in[2] + col;
#pragma unroll
			for (int c = 0; c < K_FEW; c++)
				if (c < g.few)
					store_as(to, g.x.p, pixel * g.x.stride + c, s[c] + (bias ? bias[c] : 0.0f));
		}
	}
}

template <typename T>
static int make(void *stream, const k_few &g, int to, const T *w, const float *bias)
{
	const back_tile a = back_tile_of(g);
	const size_t shared = shared_of(a);
	const int blocks = blocks_through(a.all, RESIDENT, 1);
	if (products_of(a.columns) == 1)
		LAUNCH((many_to_few<T, 1>), blocks, THREADS, shared, stream, g, a, to, w, bias);
	else
		LAUNCH((many_to_few<T, 2>), blocks, THREADS, shared, stream, g, a, to, w, bias);
	return cudaGetLastError();
}

int k_few_back(void *stream, const struct k_few *g, int to, const void *w, const float *bias)
{
	if (!k_few_back_takes(g))
		return cudaErrorInvalidValue;
	HALF_TYPES(g->type, T, return make<T>(stream, *g, to, (const T *)w, bias))
	return cudaErrorInvalidValue;
}
