/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts stored samples (each channel contiguous) to floats with the channels of a point
 * adjacent. A block has TILE points and up to GROUP channels at a time: adjacent threads read
 * adjacent points of a channel, write floats to shared memory, and copy them from there along the
 * channels, so that reads and writes cover whole cache lines. AT_ONCE loads of a thread are in
 * flight together. Products and differences are intrinsics, which compilers do not fuse to a
 * multiply-add: the bits are those of the CPU.
 *
 * 16-bit results are written 16 bytes at a time if a point has enough channels. Written one by one,
 * they took an H100 twice the time of the memory traffic: 0.72 ms for fcn's 1.07 GB and 0.31 for
 * deepcam's 0.45; 0.43 and 0.18 are predicted. */
#include "cuda/wide.cuh"

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

/* Reads channels first .. first + n - 1 of this thread's point; x is at the point's first
 * channel. */
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

/* Writes n channels of `points` points to y, PACK channels of a point at a time; y is at the first
 * of these channels of the first point. */
constexpr int PACK = 8;
template <typename T> static __device__ __forceinline__ void write_packs(
		const k_samples &s, T *y, int points, int n, const float (*tile)[TILE + 1])
{
	const int packs = n / PACK;
	for (int i = threadIdx.x; i < points * packs; i += THREADS) {
		const int p = i / packs, c = (i - p * packs) * PACK;
		several<T, PACK> v;
		float of_point[PACK];
#pragma unroll
		for (int e = 0; e < PACK; e++)
			of_point[e] = tile[c + e][p];
		v.put(of_point);
		store_word(y + p * s.c + c, v);
	}
}

/* The same, element by element, for any type. at: index of the first element. */
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

/* packs: whether channels are written in packs. */
template <typename T> __global__ void normalize_input(k_samples s, bool packs, const T *x, void *y)
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
		if (packs && s.to == K_TYPE_BF16)
			write_packs(s, (__nv_bfloat16 *)y + from * s.c + first, points, n, tile);
		else if (packs)
			write_packs(s, (__half *)y + from * s.c + first, points, n, tile);
		else
			write_group(s, y, from * s.c + first, points, n, tile);
		__syncthreads();
	}
}

/* Points of C channels, 3 or 4, to 16 bits: a thread writes two adjacent points, 12 or 16 bytes,
 * and reads both values of each channel at once. With a thread for each element an H100 took 0.96
 * ms for cosmoflow's 0.8 GB (16 samples of 128^3); with this kernel it takes 0.26, which is the
 * time of the memory traffic. */
template <typename T, int C> __global__ void normalize_pairs(k_samples s, const T *x, uint32_t *y)
{
	BEGIN_KERNEL();
	const int64_t pair = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, at = 2 * pair;
	if (at >= s.n * s.points)
		return;
	const int64_t sample = at / s.points;
	const T *mine = x + sample * C * s.points + (at - sample * s.points);
	T v[C][2];
#pragma unroll
	for (int c = 0; c < C; c++)
#pragma unroll
		for (int i = 0; i < 2; i++)
			v[c][i] = mine[c * s.points + i];
	uint16_t made[2 * C];
	uint32_t words[C];
#pragma unroll
	for (int i = 0; i < 2; i++) {
		const bool valid = s.mask < 0 || number(mine[s.mask * s.points + i]) != 0;
#pragma unroll
		for (int c = 0; c < C; c++)
			store_as(s.to, made, i * C + c, step_all(s, number(v[c][i]), valid, c));
	}
	memcpy(words, made, sizeof words);
	if constexpr (C == 4)
		*(uint4 *)(y + C * pair) = make_uint4(words[0], words[1], words[2], words[3]);
	else
#pragma unroll
		for (int i = 0; i < C; i++)
			y[C * pair + i] = words[i];
}

static bool in_pairs(const struct k_samples *s, const void *y)
{
	return (s->c == 3 || s->c == 4) && s->points % 2 == 0 && (uintptr_t)y % 16 == 0 &&
	       (s->to == K_TYPE_F16 || s->to == K_TYPE_BF16);
}

template <typename T>
static int run(void *stream, const struct k_samples *s, const void *x, void *y)
{
	const int pairs = blocks_for(s->n * s->points / 2, THREADS);
	if (in_pairs(s, y) && s->c == 3)
		LAUNCH((normalize_pairs<T, 3>), pairs, THREADS, 0, stream, *s, (const T *)x, (uint32_t *)y);
	else if (in_pairs(s, y))
		LAUNCH((normalize_pairs<T, 4>), pairs, THREADS, 0, stream, *s, (const T *)x, (uint32_t *)y);
	if (in_pairs(s, y))
		return cudaGetLastError();
	const bool packs = (s->to == K_TYPE_F16 || s->to == K_TYPE_BF16) && s->c % PACK == 0 &&
	                   (uintptr_t)y % 16 == 0;
	LAUNCH(normalize_input<T>, blocks_for(s->n * s->points, TILE), THREADS, 0, stream, *s, packs,
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
