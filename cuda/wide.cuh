/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packs of 16 bytes along the channels of channels-last tensors, for kernels that process large
 * tensors: four floats or eight 16-bit elements, where ABREAST (cuda/device.cuh) 16-bit elements
 * are only 8 bytes. Eight 16-bit elements in flight need no more registers than two rows of four,
 * and half the load instructions. */
#ifndef DLX_CUDA_WIDE_CUH
#define DLX_CUDA_WIDE_CUH

#include <type_traits>

#include "cuda/device.cuh"

template <typename PAIR> struct alignas(16) eight_halves {
	PAIR v[4];
	__device__ __forceinline__ float at(int i) const { return i % 2 ? high_half(v[i / 2]) :
		low_half(v[i / 2]); }
	__device__ __forceinline__ void put(const float *from)
	{
#pragma unroll
		for (int i = 0; i < 4; i++)
			put_halves(&v[i], from[2 * i], from[2 * i + 1]);
	}
};
template <> struct alignas(16) several<__half, 8> : eight_halves<__half2> {};
template <> struct alignas(16) several<__nv_bfloat16, 8> : eight_halves<__nv_bfloat162> {};

/* The positive part f(z) = z < 0 ? 0 : z, applied in the conversion to 16 bits; NaN stays NaN. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
static __device__ __forceinline__ void put_above(__half2 *v, float a, float b)
{
	uint32_t pair;
	asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
	memcpy(v, &pair, sizeof pair);
}
static __device__ __forceinline__ void put_above(__nv_bfloat162 *v, float a, float b)
{
	uint32_t pair;
	asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
	memcpy(v, &pair, sizeof pair);
}
#else
template <typename PAIR> static __device__ __forceinline__ void put_above(PAIR *v, float a, float b)
{
	put_halves(v, a < 0 ? 0.0f : a, b < 0 ? 0.0f : b);
}
#endif

template <typename PAIR> static __device__ __forceinline__ void put_above(
		eight_halves<PAIR> *to, const float *from)
{
#pragma unroll
	for (int i = 0; i < 4; i++)
		put_above(&to->v[i], from[2 * i], from[2 * i + 1]);
}

template <> struct word<1> { typedef uint8_t type; };

/* The number of adjacent channels, of c with `size` bytes each, that a thread can load as one: 16
 * bytes of them, ABREAST, or 1. */
static inline int side_by_side(int64_t c, size_t size, std::initializer_list<k_rows> tensors)
{
	const int most = (int)(16 / size);
	bool all = c % most == 0;
	for (const k_rows &x : tensors)
		all = all && (!x.p || ((uintptr_t)x.p % 16 == 0 && x.stride % most == 0));
	return all ? most : abreast(c, size, tensors) ? ABREAST : 1;
}

/* Runs the statement with N as the result of side_by_side for elements of type T. */
#define SIDE_BY_SIDE(n, T, N, ...)                                                       \
	do {                                                                             \
		if ((n) == pack<T>::N) {                                                 \
			constexpr int N = pack<T>::N;                                    \
			__VA_ARGS__;                                                     \
		} else {                                                                 \
			WIDE_OR_NOT((n) == ABREAST, N, __VA_ARGS__);                     \
		}                                                                        \
	} while (0)

/* The value of the activation at a z below zero. */
static __device__ __forceinline__ float below(float z, float slope)
{
	return slope != 0 ? slope * z : 0.0f;    /* exactly 0 for slope 0, even if z is infinite */
}

/* Loads or stores N adjacent elements, EACH at a time, if they are not aligned as a whole. */
template <int EACH, typename T, int N> static __device__ __forceinline__ void load_pieces(
		several<T, N> *to, const T *from)
{
#pragma unroll
	for (int i = 0; i < N; i += EACH)
		load_word((several<T, EACH> *)((T *)to + i), from + i);
}

template <int EACH, typename T, int N> static __device__ __forceinline__ void store_pieces(
		T *to, const several<T, N> &v)
{
#pragma unroll
	for (int i = 0; i < N; i += EACH)
		store_word(to + i, *(const several<T, EACH> *)((const T *)&v + i));
}

/* Loads channels j to j + N - 1 of rows r, r + step, ..., EACH channels at a time: of all rows if
 * ALL, else of those before `end`. */
template <bool ALL, int EACH, typename T, int N, int ROWS>
static __device__ __forceinline__ void fetch(const k_rows &x, int64_t j, int64_t r, int64_t step,
                                             int64_t end, several<T, N> (&to)[ROWS])
{
	const T *p = (const T *)x.p + r * x.stride + j;
	const int64_t down = step * x.stride;
#pragma unroll
	for (int u = 0; u < ROWS; u++)
		if (ALL || r + u * step < end)
			load_pieces<EACH>(&to[u], p + u * down);
}

/* Calls body(r, all) for the rows of a grid whose blocks are side by side and `step` rows apart,
 * ROWS at a time: r, r + step, ... If all.value is true this thread has all of them, else only
 * those that exist. */
template <int ROWS, typename B> static __device__ __forceinline__ void each_of_grid(
		int64_t rows, int64_t step, B body)
{
	int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
	for (; r + (ROWS - 1) * step < rows; r += ROWS * step)
		body(r, std::true_type());
	if (r < rows)
		body(r, std::false_type());
}

/* The same rows in reverse order. */
template <typename T> static k_rows backwards(const k_rows &x, int64_t rows)
{
	return { x.p ? (T *)x.p + (rows - 1) * x.stride : NULL, -x.stride };
}

#ifdef DLX_CUDA_EMULATED
constexpr int WAVE = 3;                  /* small, so that tests have chunks of several groups */
#else
constexpr int WAVE = 264;                /* blocks: two for each multiprocessor of an H100 */
#endif

/* The number of blocks that share the `work` of each column, if `wide` blocks are side by side: one
 * wave of blocks, or two or four waves if each block still has `each` units of work. So no wave is
 * mostly idle, the last of four waves evens out differences between multiprocessors, and a block's
 * start and end are short compared with its rows. */
static inline int64_t in_waves(int64_t work, int64_t wide, int64_t each)
{
	const int64_t one = wide < WAVE ? WAVE / wide : 1, has = work / one,
	              n = has >= 4 * each ? 4 * one : has >= 2 * each ? 2 * one : one;
	return n < work ? n : work;
}

/* A grid of blocks whose threads keep their channels and process the rows; `across` is the number
 * of channels or of packs. A thread has at least 16 rows, since loading the constants of its
 * channels costs as much as some rows. */
static inline dim3 wave_grid(int64_t rows, int64_t across, dim3 block)
{
	const int64_t x = (across + block.x - 1) / block.x, y = (rows + block.y - 1) / block.y;
	return dim3((unsigned)x, (unsigned)in_waves(y < 1 ? 1 : y, x, 16));
}

#endif
