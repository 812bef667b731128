/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pooling and resizing of channels-last tensors. A thread computes 16 bytes of adjacent channels of
 * a result pixel, or one channel if the number of channels or the alignment allows no more.
 * Gradients gather from the windows that contain an input, so there are no atomics, and the bits
 * are always the same.
 *
 * For maxima over windows of 2 or 3, all loads of a window's plane are in flight before the first
 * value is used.
 *
 * On an H100 the five pools of cosmoflow (16 samples of 128^3, bf16) take 1.13 ms forward, which is
 * its memory's bound; backward, with a thread for each window, 1.16 ms, the bound, too, where 2.95
 * were taken when each input requested its window. resnet-50's (256 samples, windows of 3) took
 * 0.34 and 0.62 ms, fcn's averages 0.57 backward, where each input looked for its windows and
 * loaded them by itself; by cells of inputs and with fewer instructions they take 0.31, 0.29 and
 * 0.22 (0.26, 0.26 and 0.24 were predicted). The bound of memory is 0.19 for both of resnet-50. */
#include "cuda/wide.cuh"

/* The position of this thread's element: pixel n, i[0..2] of a grid d, with N channels from c
 * on. */
struct pixel {
	uint32_t n, flat;
	int i[3];
	int64_t c;
};

template <int N>
static __device__ __forceinline__ bool find_pixel(const k_window &w, const int *d, pixel *p)
{
	const uint64_t at = (uint64_t)blockIdx.x * blockDim.y + threadIdx.y;
	p->c = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * N;
	if (p->c >= w.c || at >= (uint64_t)w.n * d[0] * d[1] * d[2])
		return false;
	uint32_t rest = p->flat = (uint32_t)at;
	for (int a = 2; a >= 0; a--) {
		p->i[a] = (int)(rest % (uint32_t)d[a]);
		rest /= (uint32_t)d[a];
	}
	p->n = rest;
	return true;
}

static __device__ __forceinline__ int64_t pixel_at(const int *d, uint32_t n, int i0, int i1, int i2)
{
	return (((int64_t)n * d[0] + i0) * d[1] + i1) * d[2] + i2;
}

/* The positions [first, last) of window o along axis a that are inside the input. */
static __device__ __forceinline__ void taps(const k_window &w, int a, int o, int *first, int *last)
{
	const int start = o * w.s[a] - w.lo[a];
	*first = start < 0 ? -start : 0;
	*last = start + w.k[a] > w.in[a] ? w.in[a] - start : w.k[a];
}

/* The windows [first, last) along axis a that contain input i. */
static __device__ __forceinline__ void covers(const k_window &w, int a, int i, int *first,
                                              int *last)
{
	const int at = i + w.lo[a], before = at - w.k[a] + 1;
	*first = before <= 0 ? 0 : (before + w.s[a] - 1) / w.s[a];
	*last = at / w.s[a] + 1 < w.out[a] ? at / w.s[a] + 1 : w.out[a];
}

/* 1 / the divisor of window o. */
static __device__ __forceinline__ float share(const k_window &w, int o0, int o1, int o2)
{
	int f0, f1, f2, l0, l1, l2;
	if (w.count_padding)
		return 1.0f / (float)(w.k[0] * w.k[1] * w.k[2]);
	taps(w, 0, o0, &f0, &l0);
	taps(w, 1, o1, &f1, &l1);
	taps(w, 2, o2, &f2, &l2);
	return 1.0f / (float)((l0 - f0) * (l1 - f1) * (l2 - f2));
}

/* Stores N channels of a result pixel, converted from float32. */
template <typename T, int N>
static __device__ __forceinline__ void store_pixel(T *y, const k_window &w, const pixel &at,
                                                   const float (&v)[N])
{
	store_row<T, N>({ y, w.c }, at.c, at.flat, v);
}

/* Two adjacent elements of minus infinity as one word. */
template <typename T> constexpr uint32_t MINUS_INFINITY = 0xff800000;
template <> constexpr uint32_t MINUS_INFINITY<__half> = 0xfc00fc00;
template <> constexpr uint32_t MINUS_INFINITY<__nv_bfloat16> = 0xff80ff80;

template <typename T, typename V> static __device__ __forceinline__ void fill_minus_infinity(V *v)
{
	constexpr uint32_t M = MINUS_INFINITY<T>, all[4] = { M, M, M, M };
	memcpy(v, all, sizeof *v);
}

/* For windows of w.k[0] x K x K, or of any size if K is 0. Values outside the input are minus
 * infinity, and the first position is the maximum until a larger value appears. A test of each
 * value for being inside or the first took as long as the memory traffic. */
template <typename T, typename I, int N, int K>
__global__ void max_pool(k_window w, const T *x, T *y, I *index)
{
	BEGIN_KERNEL();
	constexpr int A = K ? K : 1;     /* taps in flight, along each of two axes */
	pixel o;
	int lo[3], hi[3], place[N];
	float best[N];
	if (!find_pixel<N>(w, w.out, &o))
		return;
	for (int a = 0; a < 3; a++)
		taps(w, a, o.i[a], &lo[a], &hi[a]);
	const bool any = lo[0] < hi[0] && lo[1] < hi[1] && lo[2] < hi[2];
	for (int i = 0; i < N; i++) {
		place[i] = any ? (lo[0] * w.k[1] + lo[1]) * w.k[2] + lo[2] : -1;
		best[i] = any ? -INFINITY : 0.0f;
	}
	for (int k0 = lo[0]; k0 < hi[0]; k0++)
		for (int k1 = K ? 0 : lo[1]; k1 < (K ? K : hi[1]); k1 += A)
			for (int k2 = K ? 0 : lo[2]; k2 < (K ? K : hi[2]); k2 += A) {
				several<T, N> v[A * A];
#pragma unroll
				for (int t = 0; t < A * A; t++) {
					const int t1 = k1 + t / A, t2 = k2 + t % A;
					fill_minus_infinity<T>(&v[t]);
					if (t1 >= lo[1] && t1 < hi[1] && t2 >= lo[2] && t2 < hi[2])
						load_word(&v[t], x + o.c + w.c *
						          pixel_at(w.in, o.n, o.i[0] * w.s[0] - w.lo[0] + k0,
						                   o.i[1] * w.s[1] - w.lo[1] + t1,
						                   o.i[2] * w.s[2] - w.lo[2] + t2));
				}
#pragma unroll
				for (int t = 0; t < A * A; t++) {
					const int here = (k0 * w.k[1] + k1 + t / A) * w.k[2] + k2 + t % A;
#pragma unroll
					for (int i = 0; i < N; i++) {
						const float e = v[t].at(i);
						const bool above = e > best[i] || e != e;
						best[i] = above ? e : best[i];
						place[i] = above ? here : place[i];
					}
				}
			}
	store_pixel<T, N>(y, w, o, best);
	if (!index)
		return;
	several<I, N> to;
#pragma unroll
	for (int i = 0; i < N; i++)
		to.v[i] = (I)place[i];
	store_word(index + (int64_t)o.flat * w.c + o.c, to);
}

template <typename T, typename I, int N>
__global__ void max_pool_grad(k_window w, const T *dy, const I *index, T *dx)
{
	BEGIN_KERNEL();
	pixel x;
	int lo[3], hi[3];
	float sum[N] = { 0 };
	if (!find_pixel<N>(w, w.in, &x))
		return;
	for (int a = 0; a < 3; a++)
		covers(w, a, x.i[a], &lo[a], &hi[a]);
	for (int o0 = lo[0]; o0 < hi[0]; o0++)
		for (int o1 = lo[1]; o1 < hi[1]; o1++)
			for (int o2 = lo[2]; o2 < hi[2]; o2++) {
				const int64_t at = pixel_at(w.out, x.n, o0, o1, o2) * w.c + x.c;
				const int place = ((x.i[0] + w.lo[0] - o0 * w.s[0]) * w.k[1] + x.i[1] + w.lo[1] -
				                   o1 * w.s[1]) * w.k[2] + x.i[2] + w.lo[2] - o2 * w.s[2];
				several<I, N> of;
				several<T, N> d;
				load_word(&of, index + at);
				load_word(&d, dy + at);
#pragma unroll
				for (int i = 0; i < N; i++)
					sum[i] += (int)of.v[i] == place ? d.at(i) : 0.0f;
			}
	store_pixel<T, N>(dx, w, x, sum);
}

/* For windows that do not overlap and have no gaps: a thread has one window, or the inputs beyond
 * the last one, and writes all its inputs, so that dy and the places are read once. */
template <typename T, typename I, int N>
__global__ void max_pool_spread(k_window w, k_window cells, const T *dy, const I *index, T *dx)
{
	BEGIN_KERNEL();
	pixel o;
	several<I, N> of;
	several<T, N> d;
	if (!find_pixel<N>(cells, cells.out, &o))
		return;
	const bool there = o.i[0] < w.out[0] && o.i[1] < w.out[1] && o.i[2] < w.out[2];
	if (there) {
		const int64_t at = pixel_at(w.out, o.n, o.i[0], o.i[1], o.i[2]) * w.c + o.c;
		load_word(&of, index + at);
		load_word(&d, dy + at);
	}
	for (int k0 = 0; k0 < w.k[0] && o.i[0] * w.k[0] + k0 < w.in[0]; k0++)
		for (int k1 = 0; k1 < w.k[1] && o.i[1] * w.k[1] + k1 < w.in[1]; k1++)
			for (int k2 = 0; k2 < w.k[2] && o.i[2] * w.k[2] + k2 < w.in[2]; k2++) {
				const int place = (k0 * w.k[1] + k1) * w.k[2] + k2;
				const int64_t to = pixel_at(w.in, o.n, o.i[0] * w.k[0] + k0,
				                            o.i[1] * w.k[1] + k1, o.i[2] * w.k[2] + k2);
				float v[N];
#pragma unroll
				for (int i = 0; i < N; i++)
					v[i] = there && (int)of.v[i] == place ? d.at(i) : 0.0f;
				store_row<T, N>({ dx, w.c }, o.c, to, v);
			}
}

/* The windows that cover a cell of a plane: W x W of them, N channels each; zeros if a window does
 * not exist. */
template <typename T, int N, int W, bool MAX> struct cell_windows {
	several<T, N> dy[W * W];
	several<uint8_t, N> place[W * W];
	float factor[W * W];

	/* o0, o1, o2: the first window; at: pixel n and its channels. */
	__device__ __forceinline__ void load(const k_window &w, const T *from, const uint8_t *index,
	                                     const pixel &at, int o0, int o1, int o2)
	{
#pragma unroll
		for (int v = 0; v < W * W; v++) {
			const int a1 = o1 + v / W, a2 = o2 + v % W;
			const int64_t i = pixel_at(w.out, at.n, o0, a1, a2) * w.c + at.c;
			memset(&dy[v], 0, sizeof dy[v]);
			memset(&place[v], 0, sizeof place[v]);
			factor[v] = 0;
			if ((unsigned)a1 >= (unsigned)w.out[1] || (unsigned)a2 >= (unsigned)w.out[2])
				continue;
			load_word(&dy[v], from + i);
			if (MAX)
				load_word(&place[v], index + i);
			else
				factor[v] = share(w, o0, a1, a2);
		}
	}
};

/* For windows of w.k[0] x K x K (K is 2 or 3) whose stride is 2 along the last two axes. A thread
 * has a cell of 2 x 2 inputs of a plane, which begins where a window begins. All windows that
 * contain one of its inputs, one or two along each axis, are found and loaded once for the four
 * inputs. cells: the cells described as windows; their lo counts the inputs before the first
 * cell. */
template <typename T, int N, int K, bool MAX> __global__ void __launch_bounds__(THREADS, 2)
pool_grad_cells(k_window w, k_window cells, const T *dy, const uint8_t *index, T *dx)
{
	BEGIN_KERNEL();
	constexpr int W = (K + 1) / 2;
	pixel q;
	int lo, hi;
	float sum[4][N] = {};
	if (!find_pixel<N>(cells, cells.out, &q))
		return;
	const int o1 = q.i[1] + cells.lo[1], o2 = q.i[2] + cells.lo[2];      /* the windows that begin
	                                                                      * in the cell */
	const int i1 = o1 * 2 - w.lo[1], i2 = o2 * 2 - w.lo[2];
	covers(w, 0, q.i[0], &lo, &hi);
	for (int o0 = lo; o0 < hi; o0++) {
		const int k0 = q.i[0] + w.lo[0] - o0 * w.s[0];
		cell_windows<T, N, W, MAX> of;
		of.load(w, dy, index, q, o0, o1 - W + 1, o2 - W + 1);
#pragma unroll
		for (int v = 0; v < W * W; v++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				const int k1 = e / 2 + (W - 1 - v / W) * 2, k2 = e % 2 + (W - 1 - v % W) * 2;
				const int here = (k0 * K + k1) * K + k2;
				if (k1 >= K || k2 >= K)
					continue;
#pragma unroll
				for (int i = 0; i < N; i++) {
					const float d = of.dy[v].at(i);
					sum[e][i] += !MAX ? of.factor[v] * d : of.place[v].v[i] == here ? d : 0.0f;
				}
			}
	}
#pragma unroll
	for (int e = 0; e < 4; e++) {
		const int a1 = i1 + e / 2, a2 = i2 + e % 2;
		if ((unsigned)a1 < (unsigned)w.in[1] && (unsigned)a2 < (unsigned)w.in[2])
			store_row<T, N>({ dx, w.c }, q.c, pixel_at(w.in, q.n, q.i[0], a1, a2), sum[e]);
	}
}

/* Needed for second derivatives only: one thread for each channel. */
template <typename T, typename I>
__global__ void max_pool_gather(k_window w, const T *x, const I *index, T *y)
{
	BEGIN_KERNEL();
	pixel o;
	if (!find_pixel<1>(w, w.out, &o))
		return;
	const int64_t to = (int64_t)o.flat * w.c + o.c;
	int place = (int)index[to], i[3];
	for (int a = 2; a >= 0; a--) {
		i[a] = o.i[a] * w.s[a] - w.lo[a] + place % w.k[a];
		place /= w.k[a];
	}
	const bool inside = i[0] >= 0 && i[1] >= 0 && i[2] >= 0 && i[0] < w.in[0] && i[1] < w.in[1] &&
	                    i[2] < w.in[2];
	y[to] = inside ? x[pixel_at(w.in, o.n, i[0], i[1], i[2]) * w.c + o.c] : from_float<T>(0);
}

/* sum += factor * N channels of x, from `at` on. */
template <typename T, int N>
static __device__ __forceinline__ void add_pixel(const T *x, int64_t at, float factor,
                                                 float (&sum)[N])
{
	several<T, N> v;
	load_word(&v, x + at);
#pragma unroll
	for (int i = 0; i < N; i++)
		sum[i] += factor * v.at(i);
}

template <typename T, int N>
__global__ void average_pool(k_window w, const T *x, T *y)
{
	BEGIN_KERNEL();
	pixel o;
	int lo[3], hi[3];
	float sum[N] = { 0 };
	if (!find_pixel<N>(w, w.out, &o))
		return;
	for (int a = 0; a < 3; a++)
		taps(w, a, o.i[a], &lo[a], &hi[a]);
	for (int k0 = lo[0]; k0 < hi[0]; k0++)
		for (int k1 = lo[1]; k1 < hi[1]; k1++)
			for (int k2 = lo[2]; k2 < hi[2]; k2++)
				add_pixel<T, N>(x, pixel_at(w.in, o.n, o.i[0] * w.s[0] - w.lo[0] + k0,
				                            o.i[1] * w.s[1] - w.lo[1] + k1,
				                            o.i[2] * w.s[2] - w.lo[2] + k2) * w.c + o.c, 1, sum);
	const float factor = share(w, o.i[0], o.i[1], o.i[2]);
#pragma unroll
	for (int i = 0; i < N; i++)
		sum[i] *= factor;
	store_pixel<T, N>(y, w, o, sum);
}

template <typename T, int N>
__global__ void average_pool_grad(k_window w, const T *dy, T *dx)
{
	BEGIN_KERNEL();
	pixel x;
	int lo[3], hi[3];
	float sum[N] = { 0 };
	if (!find_pixel<N>(w, w.in, &x))
		return;
	for (int a = 0; a < 3; a++)
		covers(w, a, x.i[a], &lo[a], &hi[a]);
	for (int o0 = lo[0]; o0 < hi[0]; o0++)
		for (int o1 = lo[1]; o1 < hi[1]; o1++)
			for (int o2 = lo[2]; o2 < hi[2]; o2++)
				add_pixel<T, N>(dy, pixel_at(w.out, x.n, o0, o1, o2) * w.c + x.c,
				                share(w, o0, o1, o2), sum);
	store_pixel<T, N>(dx, w, x, sum);
}

/* --- resize: each axis has a sparse matrix, stored row by row --- */

template <typename T, int N>
__global__ void resize(k_window w, k_resize m, const T *x, T *y)
{
	BEGIN_KERNEL();
	pixel o;
	float sum[N] = { 0 };
	if (!find_pixel<N>(w, w.out, &o))
		return;
	for (int e0 = m.first[0][o.i[0]]; e0 < m.first[0][o.i[0] + 1]; e0++)
		for (int e1 = m.first[1][o.i[1]]; e1 < m.first[1][o.i[1] + 1]; e1++) {
			const float f = m.weight[0][e0] * m.weight[1][e1];
			for (int e2 = m.first[2][o.i[2]]; e2 < m.first[2][o.i[2] + 1]; e2++)
				add_pixel<T, N>(x, pixel_at(w.in, o.n, m.from[0][e0], m.from[1][e1],
				                            m.from[2][e2]) * w.c + o.c, f * m.weight[2][e2], sum);
		}
	store_pixel<T, N>(y, w, o, sum);
}

/* --- launchers --- */

/* across: number of channels, or of packs of channels. */
static dim3 grid_for(const k_window *w, const int *d, int64_t across, dim3 block)
{
	const int64_t pixels = w->n * d[0] * d[1] * d[2];
	return dim3((unsigned)((pixels + block.y - 1) / block.y),
	            (unsigned)((across + block.x - 1) / block.x));
}

/* The number of channels of x and y that a thread moves at once; also of 8-bit places, if index is
 * not NULL. */
static int at_once(const k_window *w, size_t size, const void *x, const void *y, const void *index)
{
	const int n = side_by_side(w->c, size, { { (void *)x, w->c }, { (void *)y, w->c } });
	return (uintptr_t)index % (unsigned)n ? 1 : n;
}

/* Runs the statement with block and grid for threads with `each` channels of grid d. */
#define GRID(w, d, each, ...) \
	do { \
		const int64_t across = (w)->c / (each); \
		const dim3 block = channel_block(across), \
		           grid = grid_for(w, (w)->d, across, block); \
		if (grid.x == 0 || grid.y == 0) \
			return 0; \
		__VA_ARGS__; \
	} while (0)

/* One channel for each thread. */
#define OVER(w, d, type, ...) \
	do { \
		FLOAT_TYPES(type, T, GRID(w, d, 1, __VA_ARGS__)) \
		return cudaGetLastError(); \
	} while (0)

/* N channels for each thread, as many as x, y and index allow. */
#define OVER_PACKS(w, d, type, x, y, index, N, ...) \
	do { \
		FLOAT_TYPES(type, T, const int n = at_once(w, sizeof(T), x, y, index); \
		            GRID(w, d, n, SIDE_BY_SIDE(n, T, N, __VA_ARGS__))) \
		return cudaGetLastError(); \
	} while (0)

template <typename T, int N> static void launch_max_pool(dim3 grid, dim3 block, void *stream,
                                                         const k_window *w, const void *x, void *y,
                                                         void *index)
{
	const int k = w->k[1] == w->k[2] ? w->k[2] : 0;
	auto kernel = max_pool<T, uint8_t, N, 0>;
	if constexpr (N == pack<T>::N)
		kernel = k == 2 ? max_pool<T, uint8_t, N, 2> : k == 3 ? max_pool<T, uint8_t, N, 3> : kernel;
	LAUNCH(kernel, grid, block, 0, stream, *w, (const T *)x, (T *)y, (uint8_t *)index);
}

int k_max_pool(void *stream, int type, const struct k_window *w, const void *x, void *y, int wide,
               void *index)
{
	if (wide)
		OVER(w, out, type, LAUNCH((max_pool<T, int32_t, 1, 0>), grid, block, 0, stream, *w,
		                          (const T *)x, (T *)y, (int32_t *)index));
	OVER_PACKS(w, out, type, x, y, index, N,
	           launch_max_pool<T, N>(grid, block, stream, w, x, y, index));
}

/* Whether each input is in at most one window. */
static bool side_by_side_windows(const k_window &w)
{
	bool all = true;
	for (int a = 0; a < 3; a++)
		all = all && w.k[a] == w.s[a] && w.lo[a] == 0;
	return all;
}

static int spread_max_pool(void *stream, int type, const k_window *w, const void *dy,
                           const void *index, void *dx)
{
	k_window windows = *w, *const cells = &windows;
	for (int a = 0; a < 3; a++)
		cells->out[a] = (w->in[a] + w->k[a] - 1) / w->k[a];
	OVER_PACKS(cells, out, type, dy, dx, index, N,
	           LAUNCH((max_pool_spread<T, uint8_t, N>), grid, block, 0, stream, *w, windows,
	                  (const T *)dy, (const uint8_t *)index, (T *)dx));
}

/* Whether the gradients of these windows are computed by cells, in packs of 16 bytes. */
static bool by_cells(const k_window *w, size_t size, const void *dy, const void *dx,
                     const void *index)
{
	return (w->k[2] == 2 || w->k[2] == 3) && w->k[1] == w->k[2] && w->s[1] == 2 && w->s[2] == 2 &&
	       at_once(w, size, dy, dx, index) == (int)(16 / size);
}

template <typename T, bool MAX> static int cell_grad(void *stream, const k_window *w,
                                                     const void *dy, const void *index, void *dx)
{
	constexpr int N = pack<T>::N;
	k_window of_two = *w, *const cells = &of_two;
	cells->out[0] = w->in[0];
	for (int a = 1; a < 3; a++) {
		cells->lo[a] = w->lo[a] / 2;
		cells->out[a] = (w->in[a] - 1 + w->lo[a]) / 2 - cells->lo[a] + 1;
	}
	auto kernel = w->k[2] == 2 ? pool_grad_cells<T, N, 2, MAX> : pool_grad_cells<T, N, 3, MAX>;
	GRID(cells, out, N, LAUNCH(kernel, grid, block, 0, stream, *w, of_two, (const T *)dy,
	                           (const uint8_t *)index, (T *)dx));
	return cudaGetLastError();
}

int k_max_pool_grad(void *stream, int type, const struct k_window *w, const void *dy, int wide,
                    const void *index, void *dx)
{
	if (!wide && side_by_side_windows(*w))
		return spread_max_pool(stream, type, w, dy, index, dx);
	if (wide)
		OVER(w, in, type, LAUNCH((max_pool_grad<T, int32_t, 1>), grid, block, 0, stream, *w,
		                         (const T *)dy, (const int32_t *)index, (T *)dx));
	FLOAT_TYPES(type, T, if (by_cells(w, sizeof(T), dy, dx, index))
	            return cell_grad<T, true>(stream, w, dy, index, dx))
	OVER_PACKS(w, in, type, dy, dx, index, N,
	           LAUNCH((max_pool_grad<T, uint8_t, N>), grid, block, 0, stream, *w, (const T *)dy,
	                  (const uint8_t *)index, (T *)dx));
}

int k_max_pool_gather(void *stream, int type, const struct k_window *w, const void *x, int wide,
                      const void *index, void *y)
{
	if (wide)
		OVER(w, out, type, LAUNCH((max_pool_gather<T, int32_t>), grid, block, 0, stream, *w,
		                          (const T *)x, (const int32_t *)index, (T *)y));
	OVER(w, out, type, LAUNCH((max_pool_gather<T, uint8_t>), grid, block, 0, stream, *w,
	                          (const T *)x, (const uint8_t *)index, (T *)y));
}

int k_average_pool(void *stream, int type, const struct k_window *w, const void *x, void *y)
{
	OVER_PACKS(w, out, type, x, y, NULL, N, LAUNCH((average_pool<T, N>), grid, block, 0, stream, *w,
	                                               (const T *)x, (T *)y));
}

int k_average_pool_grad(void *stream, int type, const struct k_window *w, const void *dy, void *dx)
{
	FLOAT_TYPES(type, T, if (by_cells(w, sizeof(T), dy, dx, NULL))
	            return cell_grad<T, false>(stream, w, dy, NULL, dx))
	OVER_PACKS(w, in, type, dy, dx, NULL, N, LAUNCH((average_pool_grad<T, N>), grid, block, 0,
	                                                stream, *w, (const T *)dy, (T *)dx));
}

int k_resample(void *stream, int type, const struct k_window *w, const struct k_resize *m,
               const void *x, void *y)
{
	OVER_PACKS(w, out, type, x, y, NULL, N, LAUNCH((resize<T, N>), grid, block, 0, stream, *w, *m,
	                                               (const T *)x, (T *)y));
}
