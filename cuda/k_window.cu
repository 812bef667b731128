/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pooling and resizing of channels-last tensors: a thread for each element of the result,
 * neighbours along the channels. Gradients gather too, from the windows over an input, so there are
 * no atomics and the bits are always the same. */
#include "cuda/device.cuh"

/* The place of this thread's element: pixel n, i[0..2] of a grid of d, channel c. */
struct pixel {
	uint32_t n, flat;
	int i[3];
	int64_t c;
};

static __device__ __forceinline__ bool find_pixel(const k_window &w, const int *d, pixel *p)
{
	const uint64_t at = (uint64_t)blockIdx.x * blockDim.y + threadIdx.y;
	p->c = (int64_t)blockIdx.y * blockDim.x + threadIdx.x;
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

/* Places [first, last) of window o along axis a that are on the input. */
static __device__ __forceinline__ void taps(const k_window &w, int a, int o, int *first, int *last)
{
	const int start = o * w.s[a] - w.lo[a];
	*first = start < 0 ? -start : 0;
	*last = start + w.k[a] > w.in[a] ? w.in[a] - start : w.k[a];
}

/* Windows [first, last) along axis a that cover input i. */
static __device__ __forceinline__ void covers(const k_window &w, int a, int i, int *first,
                                              int *last)
{
	const int at = i + w.lo[a], before = at - w.k[a] + 1;
	*first = before <= 0 ? 0 : (before + w.s[a] - 1) / w.s[a];
	*last = at / w.s[a] + 1 < w.out[a] ? at / w.s[a] + 1 : w.out[a];
}

template <typename T, typename I>
__global__ void max_pool(k_window w, const T *x, T *y, I *index)
{
	pixel o;
	int lo[3], hi[3], place = -1;
	float best = 0;
	if (!find_pixel(w, w.out, &o))
		return;
	for (int a = 0; a < 3; a++)
		taps(w, a, o.i[a], &lo[a], &hi[a]);
	for (int k0 = lo[0]; k0 < hi[0]; k0++)
		for (int k1 = lo[1]; k1 < hi[1]; k1++)
			for (int k2 = lo[2]; k2 < hi[2]; k2++) {
				const int64_t at = pixel_at(w.in, o.n, o.i[0] * w.s[0] - w.lo[0] + k0,
				                            o.i[1] * w.s[1] - w.lo[1] + k1,
				                            o.i[2] * w.s[2] - w.lo[2] + k2);
				const float v = as_float(x[at * w.c + o.c]);
				if (place >= 0 && !(v > best) && v == v)
					continue;
				best = v;
				place = (k0 * w.k[1] + k1) * w.k[2] + k2;
			}
	y[(int64_t)o.flat * w.c + o.c] = from_float<T>(best);
	if (index)
		index[(int64_t)o.flat * w.c + o.c] = (I)place;
}

template <typename T, typename I>
__global__ void max_pool_grad(k_window w, const T *dy, const I *index, T *dx)
{
	pixel x;
	int lo[3], hi[3];
	float sum = 0;
	if (!find_pixel(w, w.in, &x))
		return;
	for (int a = 0; a < 3; a++)
		covers(w, a, x.i[a], &lo[a], &hi[a]);
	for (int o0 = lo[0]; o0 < hi[0]; o0++)
		for (int o1 = lo[1]; o1 < hi[1]; o1++)
			for (int o2 = lo[2]; o2 < hi[2]; o2++) {
				const int64_t at = pixel_at(w.out, x.n, o0, o1, o2) * w.c + x.c;
				const int place = ((x.i[0] + w.lo[0] - o0 * w.s[0]) * w.k[1] + x.i[1] + w.lo[1] -
				                   o1 * w.s[1]) * w.k[2] + x.i[2] + w.lo[2] - o2 * w.s[2];
				if ((int)index[at] == place)
					sum += as_float(dy[at]);
			}
	dx[(int64_t)x.flat * w.c + x.c] = from_float<T>(sum);
}

template <typename T, typename I>
__global__ void max_pool_gather(k_window w, const T *x, const I *index, T *y)
{
	pixel o;
	if (!find_pixel(w, w.out, &o))
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

/* 1 / the divisor in window o. */
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

template <typename T>
__global__ void average_pool(k_window w, const T *x, T *y)
{
	pixel o;
	int lo[3], hi[3];
	float sum = 0;
	if (!find_pixel(w, w.out, &o))
		return;
	for (int a = 0; a < 3; a++)
		taps(w, a, o.i[a], &lo[a], &hi[a]);
	for (int k0 = lo[0]; k0 < hi[0]; k0++)
		for (int k1 = lo[1]; k1 < hi[1]; k1++)
			for (int k2 = lo[2]; k2 < hi[2]; k2++)
				sum += as_float(x[pixel_at(w.in, o.n, o.i[0] * w.s[0] - w.lo[0] + k0,
				                           o.i[1] * w.s[1] - w.lo[1] + k1,
				                           o.i[2] * w.s[2] - w.lo[2] + k2) * w.c + o.c]);
	y[(int64_t)o.flat * w.c + o.c] = from_float<T>(sum * share(w, o.i[0], o.i[1], o.i[2]));
}

template <typename T>
__global__ void average_pool_grad(k_window w, const T *dy, T *dx)
{
	pixel x;
	int lo[3], hi[3];
	float sum = 0;
	if (!find_pixel(w, w.in, &x))
		return;
	for (int a = 0; a < 3; a++)
		covers(w, a, x.i[a], &lo[a], &hi[a]);
	for (int o0 = lo[0]; o0 < hi[0]; o0++)
		for (int o1 = lo[1]; o1 < hi[1]; o1++)
			for (int o2 = lo[2]; o2 < hi[2]; o2++)
				sum += as_float(dy[pixel_at(w.out, x.n, o0, o1, o2) * w.c + x.c]) *
				       share(w, o0, o1, o2);
	dx[(int64_t)x.flat * w.c + x.c] = from_float<T>(sum);
}

/* --- resize: each axis a sparse matrix, its rows of entries one after another --- */

template <typename T>
__global__ void resize(k_window w, k_resize m, const T *x, T *y)
{
	pixel o;
	float sum = 0;
	if (!find_pixel(w, w.out, &o))
		return;
	for (int e0 = m.first[0][o.i[0]]; e0 < m.first[0][o.i[0] + 1]; e0++)
		for (int e1 = m.first[1][o.i[1]]; e1 < m.first[1][o.i[1] + 1]; e1++) {
			const float f = m.weight[0][e0] * m.weight[1][e1];
			for (int e2 = m.first[2][o.i[2]]; e2 < m.first[2][o.i[2] + 1]; e2++)
				sum += f * m.weight[2][e2] *
				       as_float(x[pixel_at(w.in, o.n, m.from[0][e0], m.from[1][e1], m.from[2][e2]) *
				                  w.c + o.c]);
		}
	y[(int64_t)o.flat * w.c + o.c] = from_float<T>(sum);
}

/* --- launchers --- */

static dim3 grid_for(const k_window *w, const int *d, dim3 block)
{
	const int64_t pixels = w->n * d[0] * d[1] * d[2];
	return dim3((unsigned)((pixels + block.y - 1) / block.y),
	            (unsigned)((w->c + block.x - 1) / block.x));
}

#define OVER(w, d, type, ...)                                                            \
	do {                                                                             \
		const dim3 block = channel_block((w)->c), grid = grid_for(w, (w)->d, block); \
		if (grid.x == 0 || grid.y == 0)                                          \
			return 0;                                                        \
		FLOAT_TYPES(type, T, __VA_ARGS__)                                        \
		return cudaGetLastError();                                               \
	} while (0)

int k_max_pool(void *stream, int type, const struct k_window *w, const void *x, void *y, int wide,
               void *index)
{
	if (wide)
		OVER(w, out, type, LAUNCH((max_pool<T, int32_t>), grid, block, 0, stream, *w, (const T *)x,
		                          (T *)y, (int32_t *)index));
	OVER(w, out, type, LAUNCH((max_pool<T, uint8_t>), grid, block, 0, stream, *w, (const T *)x,
	                          (T *)y, (uint8_t *)index));
}

int k_max_pool_grad(void *stream, int type, const struct k_window *w, const void *dy, int wide,
                    const void *index, void *dx)
{
	if (wide)
		OVER(w, in, type, LAUNCH((max_pool_grad<T, int32_t>), grid, block, 0, stream, *w,
		                         (const T *)dy, (const int32_t *)index, (T *)dx));
	OVER(w, in, type, LAUNCH((max_pool_grad<T, uint8_t>), grid, block, 0, stream, *w, (const T *)dy,
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
	OVER(w, out, type, LAUNCH(average_pool<T>, grid, block, 0, stream, *w, (const T *)x, (T *)y));
}

int k_average_pool_grad(void *stream, int type, const struct k_window *w, const void *dy, void *dx)
{
	OVER(w, in, type, LAUNCH(average_pool_grad<T>, grid, block, 0, stream, *w, (const T *)dy,
	                         (T *)dx));
}

int k_resample(void *stream, int type, const struct k_window *w, const struct k_resize *m,
               const void *x, void *y)
{
	OVER(w, out, type, LAUNCH(resize<T>, grid, block, 0, stream, *w, *m, (const T *)x, (T *)y));
}
