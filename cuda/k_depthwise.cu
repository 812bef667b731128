/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Depthwise convolutions with 3 x 3 windows on channels-last tensors. All are bound by memory, so
 * each tensor should be read from memory once, and from the L2 cache not much more often.
 *
 * Forward and gradient to the input: a thread computes 16 bytes of adjacent channels for RUN pixels
 * of a row. These pixels are d apart, so that their windows overlap, also if the window is dilated:
 * for RUN results it loads RUN + 2 pixels of three rows. Threads along y compute rows that are d
 * apart, and find each other's rows in the L1 cache. The weights are in shared memory as float32. A
 * gradient to the input with stride 1 is a forward convolution with the window mirrored. With other
 * strides windows overlap little, and a thread computes one pixel.
 *
 * Gradient to the weights: a thread has ABREAST channels of a column of y. It goes down the column
 * with the three rows of x under the window in registers, and loads one new row of x for each row
 * of y. The sums of threads, and then of parts, are added in an order that depends only on the
 * shape.
 *
 * Most tensors of 16-bit elements are processed by cuda/k_depthwise_tile.cu and
 * k_depthwise_weights.cu instead. Measured on an H100 (3.0 TB/s) before those existed: 8 x 48 x 72
 * pixels of 728 channels in bf16 moved at 1.4 TB/s for forward and for the gradient to the input,
 * and at 0.87 for the gradient to the weights. */
#include "cuda/depthwise.h"
#include "cuda/join.cuh"
#include "cuda/wide.cuh"

constexpr int TAPS = 9, RUN = 4;
#ifdef DLX_CUDA_EMULATED
constexpr int PARTS = 6, GRADIENT_BLOCKS = 12;   /* small, so that tests have units left for small
                                                  * tensors */
#else
constexpr int PARTS = 512, GRADIENT_BLOCKS = 1024;
#endif

static __device__ __forceinline__ int64_t pixel_of(const int *d, int64_t n, int i, int j)
{
	return (n * d[0] + i) * d[1] + j;
}

/* --- forward, and the gradient to the input --- */

/* The division of the result's pixels: blocks of `rows` rows by RUN (or 1) pixels, d apart. */
struct deal {
	int rows, run, d[2], blocks[2];
};

static deal deal_of(const int *result, const int *d, int rows, int run)
{
	deal a = { rows, run, { d[0], d[1] }, { 0, 0 } };
	a.blocks[0] = (result[0] + rows * d[0] - 1) / (rows * d[0]) * d[0];
	a.blocks[1] = (result[1] + run * d[1] - 1) / (run * d[1]) * d[1];
	return a;
}

/* The first pixel of this thread: sample *n, row *i, column *j. */
static __device__ __forceinline__ void first_pixel(const deal &a, int64_t *n, int *i, int *j)
{
	const unsigned across = (unsigned)a.blocks[1], down = (unsigned)a.blocks[0];
	const unsigned bj = blockIdx.x % across, rest = blockIdx.x / across, bi = rest % down;
	*n = rest / down;
	*i = (int)(bi / (unsigned)a.d[0]) * a.rows * a.d[0] + (int)(bi % (unsigned)a.d[0]) +
	     (int)threadIdx.y * a.d[0];
	*j = (int)(bj / (unsigned)a.d[1]) * a.run * a.d[1] + (int)(bj % (unsigned)a.d[1]);
}

/* Loads the weights of the block's channels as weight[tap][channel], mirrored if `turned`. */
template <typename T> static __device__ __forceinline__ void load_weights(
		const T *w, int64_t c, int64_t first, int channels, int turned, float *weight)
{
	const int t = (int)(threadIdx.y * blockDim.x + threadIdx.x);
	for (int e = t; e < TAPS * channels; e += THREADS) {
		const int channel = e / TAPS, tap = e % TAPS;
		weight[(turned ? TAPS - 1 - tap : tap) * channels + channel] =
			first + channel < c ? as_float(w[(first + channel) * TAPS + tap]) : 0.0f;
	}
	__syncthreads();
}

/* sum += x * the weights of a tap, for N channels. */
template <typename T, int N> static __device__ __forceinline__ void add_tap(
		const several<T, N> &x, const float *weight, float (&sum)[N])
{
#pragma unroll
	for (int i = 0; i < N; i++)
		sum[i] += x.at(i) * weight[i];
}

/* For stride 1: y from x. */
template <typename T, int N> __global__ void __launch_bounds__(THREADS, 2)
depthwise_run(k_depthwise g, deal a, int turned, const T *w)
{
	BEGIN_KERNEL();
	__shared__ float weight[TAPS * 32 * 16 / sizeof(T)];
	const int channels = (int)blockDim.x * N;
	const int64_t first = (int64_t)blockIdx.y * channels, c = first + threadIdx.x * N;
	float sum[RUN][N] = { { 0 } };
	int64_t n;
	int i, j;
	load_weights(w, g.c, first, channels, turned, weight);
	first_pixel(a, &n, &i, &j);
	if (c >= g.c || i >= g.out[0])
		return;
	for (int row = 0; row < 3; row++) {
		several<T, N> x[RUN + 2];
		bool there[RUN + 2];
		const int at = i - g.lo[0] + row * g.d[0];
		if (at < 0 || at >= g.in[0])
			continue;
#pragma unroll
		for (int q = 0; q < RUN + 2; q++) {
			const int col = j - g.lo[1] + q * g.d[1];
			there[q] = col >= 0 && col < g.in[1];
			if (there[q])
				load_word(&x[q], (const T *)g.x.p + pixel_of(g.in, n, at, col) * g.x.stride + c);
		}
#pragma unroll
		for (int tap = 0; tap < 3; tap++) {
			float factor[N];
#pragma unroll
			for (int k = 0; k < N; k++)
				factor[k] = weight[(row * 3 + tap) * channels + (int)threadIdx.x * N + k];
#pragma unroll
			for (int q = 0; q < RUN; q++)
				if (there[q + tap])
					add_tap(x[q + tap], factor, sum[q]);
		}
	}
#pragma unroll
	for (int q = 0; q < RUN; q++)
		if (j + q * g.d[1] < g.out[1])
			store_row<T, N>(g.y, c, pixel_of(g.out, n, i, j + q * g.d[1]), sum[q]);
}

/* The position along axis b that result `at` reads with a tap; returns whether there is one. */
template <bool BACK> static __device__ __forceinline__ bool tapped(const k_depthwise &g, int b,
                                                                   int at, int tap, int *place)
{
	if (!BACK) {
		*place = at * g.s[b] - g.lo[b] + tap * g.d[b];
		return *place >= 0 && *place < g.in[b];
	}
	const int from = at + g.lo[b] - tap * g.d[b];
	*place = from / g.s[b];
	return from >= 0 && from % g.s[b] == 0 && *place < g.out[b];
}

/* For any stride: y from x or, if BACK, x from y. */
template <typename T, int N, bool BACK>
__global__ void depthwise_each(k_depthwise g, deal a, const T *w)
{
	BEGIN_KERNEL();
	__shared__ float weight[TAPS * 32 * 16 / sizeof(T)];
	const int channels = (int)blockDim.x * N;
	const int64_t first = (int64_t)blockIdx.y * channels, c = first + threadIdx.x * N;
	const int *const from = BACK ? g.out : g.in, *const to = BACK ? g.in : g.out;
	const k_rows x = BACK ? g.y : g.x, y = BACK ? g.x : g.y;
	float sum[N] = { 0 };
	int64_t n;
	int i, j, p, q;
	load_weights(w, g.c, first, channels, 0, weight);
	first_pixel(a, &n, &i, &j);
	if (c >= g.c || i >= to[0] || j >= to[1])
		return;
	for (int row = 0; row < 3; row++) {
		if (!tapped<BACK>(g, 0, i, row, &p))
			continue;
#pragma unroll
		for (int col = 0; col < 3; col++) {
			several<T, N> v;
			if (!tapped<BACK>(g, 1, j, col, &q))
				continue;
			load_word(&v, (const T *)x.p + pixel_of(from, n, p, q) * x.stride + c);
			add_tap(v, weight + (row * 3 + col) * channels + threadIdx.x * N, sum);
		}
	}
	store_row<T, N>(y, c, pixel_of(to, n, i, j), sum);
}

template <typename T>
static int make(void *stream, const k_depthwise &g, int back, int turned, const void *w)
{
	const int *const result = back ? g.in : g.out, one[2] = { 1, 1 };
	const bool unit = g.s[0] == 1 && g.s[1] == 1;
	const int n = side_by_side(g.c, sizeof(T), { g.x, g.y });
	const dim3 block = channel_block(g.c / n);
	const deal a = deal_of(result, unit ? g.d : one, (int)block.y, unit ? RUN : 1);
	const dim3 grid((unsigned)(g.n * a.blocks[0] * a.blocks[1]),
	                (unsigned)((g.c / n + block.x - 1) / block.x));
	if (grid.x == 0 || grid.y == 0)
		return 0;
	if (unit)
		SIDE_BY_SIDE(n, T, N, LAUNCH((depthwise_run<T, N>), grid, block, 0, stream, g, a, turned,
		                             (const T *)w));
	else if (back)
		SIDE_BY_SIDE(n, T, N, LAUNCH((depthwise_each<T, N, true>), grid, block, 0, stream, g, a,
		                             (const T *)w));
	else
		SIDE_BY_SIDE(n, T, N, LAUNCH((depthwise_each<T, N, false>), grid, block, 0, stream, g, a,
		                             (const T *)w));
	return cudaGetLastError();
}

int k_depthwise_forward(void *stream, const struct k_depthwise *g, const void *w)
{
	if (k_depthwise_tiles(g, w))
		return k_depthwise_tile(stream, g, 0, w);
	if (g->norm.gamma)
		return cudaErrorInvalidValue;
	FLOAT_TYPES(g->type, T, return make<T>(stream, *g, 0, 0, w))
	return cudaErrorInvalidValue;
}

struct k_depthwise k_depthwise_turned(const struct k_depthwise *g)
{
	k_depthwise turned = *g;
	turned.x = g->y;
	turned.y = g->x;
	for (int a = 0; a < 2; a++) {
		turned.in[a] = g->out[a];
		turned.out[a] = g->in[a];
		turned.lo[a] = 2 * g->d[a] - g->lo[a];
	}
	turned.norm = {};
	return turned;
}

int k_depthwise_grad_input(void *stream, const struct k_depthwise *g, const void *w)
{
	const bool tiles = k_depthwise_tiles(g, w);
	if (tiles && g->s[0] == 2)
		return k_depthwise_spread(stream, g, w);
	if (g->s[0] != 1 || g->s[1] != 1)
		FLOAT_TYPES(g->type, T, return make<T>(stream, *g, 1, 0, w))
	const k_depthwise turned = k_depthwise_turned(g);
	if (tiles)
		return k_depthwise_tile(stream, &turned, 1, w);
	FLOAT_TYPES(g->type, T, return make<T>(stream, turned, 0, 1, w))
	return cudaErrorInvalidValue;
}

/* --- the gradient to the weights --- */

/* Units of work: `rows` rows (d apart if the stride is 1) of adjacent columns of y, as many as a
 * block has threads along y, in one sample. Part p has units p, p + parts, ... */
struct columns {
	int rows, d, across;     /* across: units from the first to the last column */
	int64_t down, units, parts;
};

static columns columns_of(const k_depthwise &g)
{
	const int64_t packs = g.c % ABREAST == 0 ? g.c / ABREAST : g.c;
	const dim3 block = channel_block(packs);
	const int64_t blocks = (packs + block.x - 1) / block.x;
	int64_t most = GRADIENT_BLOCKS / blocks;
	columns a = { 0, g.s[0] == 1 ? g.d[0] : 1, 0, 0, 0, 0 };
	most = most < 1 ? 1 : most > PARTS ? PARTS : most;
	a.across = (g.out[1] + (int)block.y - 1) / (int)block.y;
	const int64_t side = g.n * a.across * a.d, height = (g.out[0] + a.d - 1) / a.d;
	int64_t cuts = side ? (most + side - 1) / side : 1;      /* the pieces of a column, each of 8
	                                                          * rows or more */
	cuts = cuts > height / 8 ? height / 8 : cuts;
	cuts = cuts < 1 ? 1 : cuts;
	a.rows = (int)((height + cuts - 1) / cuts);
	a.down = a.rows ? (height + a.rows - 1) / a.rows * a.d : 0;
	a.units = g.n * a.down * a.across;
	a.parts = a.units < most ? a.units : most;
	return a;
}

int64_t k_depthwise_workspace(const struct k_depthwise *g)
{
	int64_t parts = columns_of(*g).parts;
	if (k_depthwise_tiles(g, NULL) && parts < k_depthwise_tile_parts(g))
		parts = k_depthwise_tile_parts(g);     /* unless the tensors are unsuitable for tiles */
	return parts * TAPS * g->c * (int64_t)sizeof(float);
}

/* Loads the three pixels of x under row `row` of the window at column j; there: which of them are
 * inside. */
template <typename T, int N> static __device__ __forceinline__ void load_three(
		const k_depthwise &g, int64_t n, int i, int j, int row, int64_t c, several<T, N> (&x)[3],
		bool (&there)[3])
{
	const int p = i * g.s[0] - g.lo[0] + row * g.d[0];
#pragma unroll
	for (int col = 0; col < 3; col++) {
		const int q = j * g.s[1] - g.lo[1] + col * g.d[1];
		there[col] = p >= 0 && p < g.in[0] && q >= 0 && q < g.in[1];
		if (there[col])
			load_word(&x[col], (const T *)g.x.p + pixel_of(g.in, n, p, q) * g.x.stride + c);
	}
}

/* sum[tap][channel] += the products of one row of the window. */
template <typename T, int N> static __device__ __forceinline__ void add_three(
		const several<T, N> (&x)[3], const bool (&there)[3], const float (&dy)[N], int row,
		float (&sum)[TAPS * N])
{
#pragma unroll
	for (int col = 0; col < 3; col++)
		if (there[col])
#pragma unroll
			for (int k = 0; k < N; k++)
				sum[(row * 3 + col) * N + k] += x[col].at(k) * dy[k];
}

/* Adds column j of y, `rows` rows from i on, d apart. SHIFT: the window advances by one of its own
 * rows each time, so that two of its three rows are loaded already. */
template <typename T, int N, bool SHIFT> static __device__ __forceinline__ void add_column(
		const k_depthwise &g, const columns &a, int64_t n, int i, int j, int64_t c,
		float (&sum)[TAPS * N])
{
	several<T, N> x[3][3], of_y;
	bool there[3][3];
	if (SHIFT)
#pragma unroll
		for (int row = 0; row < 2; row++)
			load_three(g, n, i, j, row, c, x[row], there[row]);
	for (int k = 0; k < a.rows && i < g.out[0]; k++, i += a.d) {
		float dy[N];
		load_word(&of_y, (const T *)g.y.p + pixel_of(g.out, n, i, j) * g.y.stride + c);
#pragma unroll
		for (int row = SHIFT ? 2 : 0; row < 3; row++)
			load_three(g, n, i, j, row, c, x[row], there[row]);
#pragma unroll
		for (int e = 0; e < N; e++)
			dy[e] = of_y.at(e);
#pragma unroll
		for (int row = 0; row < 3; row++)
			add_three(x[row], there[row], dy, row, sum);
		if constexpr (SHIFT)
#pragma unroll
			for (int e = 0; e < 6; e++) {
				x[e / 3][e % 3] = x[e / 3 + 1][e % 3];
				there[e / 3][e % 3] = there[e / 3 + 1][e % 3];
			}
	}
}

/* part[p][tap][channel] */
template <typename T, int N, bool SHIFT> __global__ void __launch_bounds__(THREADS, 2)
depthwise_gradient(k_depthwise g, columns a, float *part)
{
	BEGIN_KERNEL();
	__shared__ float room[TAPS * N][THREADS];
	const int64_t c = first_channel<N>();
	float sum[TAPS * N] = { 0 };
	for (int64_t u = blockIdx.y; u < (c < g.c ? a.units : 0); u += a.parts) {
		const int64_t rest = u / a.across;
		const int cut = (int)(rest % a.down), i = cut / a.d * a.rows * a.d + cut % a.d,
		          j = (int)(u % a.across) * (int)blockDim.y + (int)threadIdx.y;
		if (j < g.out[1])
			add_column<T, N, SHIFT>(g, a, rest / a.down, i, j, c, sum);
	}
	column_sums(sum, room);
	if (threadIdx.y || c >= g.c)
		return;
#pragma unroll
	for (int e = 0; e < TAPS * N; e++)
		part[((int64_t)blockIdx.y * TAPS + e / N) * g.c + c + e % N] = sum[e];
}

__global__ void __launch_bounds__(JOINERS, 1)
depthwise_join(int type, int64_t c, int64_t parts, const float *part, int to, void *w)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<1>();
	const double s = sum_of_parts(column<float>{ part + j, j < TAPS * c ? parts : 0, TAPS * c });
	if (threadIdx.y == 0 && j < TAPS * c)
		store_rounded(type, to, w, j % c * TAPS + j / c, (float)s);
}

template <typename T>
static int weigh(void *stream, const k_depthwise &g, const columns &a, float *part)
{
	const bool wide = abreast(g.c, sizeof(T), { g.x, g.y });
	const int64_t across = wide ? g.c / ABREAST : g.c;
	const dim3 block = channel_block(g.c % ABREAST ? g.c : g.c / ABREAST);
	const dim3 grid((unsigned)((across + block.x - 1) / block.x), (unsigned)a.parts);
	if (g.s[0] == 1)
		WIDE_OR_NOT(wide, N, LAUNCH((depthwise_gradient<T, N, true>), grid, block, 0, stream, g, a,
		                            part));
	else
		WIDE_OR_NOT(wide, N, LAUNCH((depthwise_gradient<T, N, false>), grid, block, 0, stream, g, a,
		                            part));
	return cudaGetLastError();
}

int k_depthwise_grad_weight(void *stream, const struct k_depthwise *g, int to, void *w, void *ws)
{
	const columns a = columns_of(*g);
	const bool tiles = k_depthwise_tiles(g, NULL);
	const int64_t parts = tiles ? k_depthwise_tile_parts(g) : a.parts;
	int failed = 0;
	if (g->c == 0)
		return 0;
	if (g->norm.gamma && !tiles)
		return cudaErrorInvalidValue;
	if (parts && tiles)
		failed = k_depthwise_tile_gradient(stream, g, (float *)ws);
	else if (parts)
		FLOAT_TYPES(g->type, T, failed = weigh<T>(stream, *g, a, (float *)ws))
	if (failed)
		return failed;
	LAUNCH_JOIN(depthwise_join, TAPS * g->c, parts, stream, g->type, g->c, parts, (const float *)ws,
	            to, w);
	return cudaGetLastError();
}
