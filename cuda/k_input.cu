/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stored samples, a channel after the other, to floats, a point's channels side by side. A block
 * has TILE points and up to GROUP channels at a time: neighbouring threads read neighbouring points
 * of a channel, leave floats in shared memory and write them along the channels, so that both sides
 * move whole lines. AT_ONCE loads of a thread are on their way together. Products and differences
 * are written as intrinsics, which no compiler joins to a multiply-add: the bits are the CPU's. */
#include "cuda/device.cuh"

constexpr int TILE = 128, GROUP = 32, LANES = THREADS / TILE, AT_ONCE = 8;

template <typename T> __device__ __forceinline__ float number(T v) { return (float)v; }
template <> __device__ __forceinline__ float number(__half v) { return __half2float(v); }
template <> __device__ __forceinline__ float number(__nv_bfloat16 v) { return __bfloat162float(v); }

static __device__ __forceinline__ float step_all(const k_samples &s, float v, bool valid,
                                                 int64_t channel)
{
	const float *row = s.table + channel;
	for (int i = 0; i < s.steps; i++, row += 3 * s.c) {
		v = __fmul_rn(__fsub_rn(v, __ldg(row)), __ldg(row + s.c));
		if (!valid && __ldg(row + 2 * s.c) > 0)
			v = 0;
	}
	return v;
}

/* The channels first .. first + n - 1 of this thread's point, whose first one is at x. */
template <typename T> static __device__ __forceinline__ void read_group(
		const k_samples &s, const T *x, bool valid, int64_t first, int n, float (*tile)[TILE + 1])
{
	const int point = threadIdx.x % TILE;
	for (int c = threadIdx.x / TILE; c < n; c += LANES * AT_ONCE) {
		T v[AT_ONCE];
#pragma unroll
		for (int i = 0; i < AT_ONCE; i++)
			if (c + i * LANES < n)
				v[i] = x[(first + c + i * LANES) * s.points];
#pragma unroll
		for (int i = 0; i < AT_ONCE; i++)
			if (c + i * LANES < n)
				tile[c + i * LANES][point] = step_all(s, number(v[i]), valid,
				                                      first + c + i * LANES);
	}
}

/* Writes `points` points to y, which points at channel `first` of the first one. */
static __device__ __forceinline__ void write_group(const k_samples &s, void *y, int64_t at,
                                                   int points, int n, const float (*tile)[TILE + 1])
{
	int p = threadIdx.x / n, c = threadIdx.x - p * n;
	const int down = THREADS / n, along = THREADS - down * n;
	while (p < points) {
		store_as(s.to, y, at + p * s.c + c, tile[c][p]);
		p += down;
		c += along;
		if (c >= n) {
			c -= n;
			p++;
		}
	}
}

template <typename T> __global__ void normalize_input(k_samples s, const T *x, void *y)
{
	BEGIN_KERNEL();
	__shared__ float tile[GROUP][TILE + 1];
	const int64_t all = s.n * s.points, from = (int64_t)blockIdx.x * TILE,
	              at = from + threadIdx.x % TILE;
	const int points = (int)(all - from < TILE ? all - from : TILE);
	const bool here = at < all;
	const int64_t sample = here ? at / s.points : 0;
	const T *mine = x + sample * s.c * s.points + (here ? at - sample * s.points : 0);
	const bool valid = !here || s.mask < 0 || number(mine[s.mask * s.points]) != 0;
	for (int64_t first = 0; first < s.c; first += GROUP) {
		const int n = (int)(s.c - first < GROUP ? s.c - first : GROUP);
		if (here)
			read_group(s, mine, valid, first, n, tile);
		__syncthreads();
		write_group(s, y, from * s.c + first, points, n, tile);
		__syncthreads();
	}
}

template <typename T>
static int run(void *stream, const struct k_samples *s, const void *x, void *y)
{
	LAUNCH(normalize_input<T>, blocks_for(s->n * s->points, TILE), THREADS, 0, stream, *s,
	       (const T *)x, y);
	return cudaGetLastError();
}

int k_normalize_input(void *stream, const struct k_samples *s, const void *x, void *y)
{
	if (s->n * s->c * s->points == 0)
		return 0;
	switch (s->from) {
	case K_TYPE_F32: return run<float>(stream, s, x, y);
	case K_TYPE_F16: return run<__half>(stream, s, x, y);
	case K_TYPE_BF16: return run<__nv_bfloat16>(stream, s, x, y);
	case K_TYPE_I8: return run<int8_t>(stream, s, x, y);
	case K_TYPE_U8: return run<uint8_t>(stream, s, x, y);
	case K_TYPE_I16: return run<int16_t>(stream, s, x, y);
	case K_TYPE_U16: return run<uint16_t>(stream, s, x, y);
	case K_TYPE_I32: return run<int32_t>(stream, s, x, y);
	}
	return cudaErrorInvalidValue;
}
