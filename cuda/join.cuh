/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The second stage of sums and maxima: kernels that combine the partial results that the blocks of
 * a first stage left for each column (result). They are bound by memory latency, not bandwidth:
 * blocks of 256 threads, with eight columns each, took an H100 15 us (statistics of a batch norm)
 * to 26 us (its gradients) for 1,056 parts, and this stage 1.1 ms of resnet-50's 37.5 ms a step.
 * Here a block has up to 1,024 threads, each with AT_ONCE loads in flight: 4.5 us for both, 2.2 for
 * few parts. The prediction was 4 us: 1.5 for the launch, 0.6 for each of three rounds of loads.
 *
 * The order in which parts are combined depends only on the numbers of columns and parts. */
#ifndef DLX_CUDA_JOIN_CUH
#define DLX_CUDA_JOIN_CUH

#include "cuda/device.cuh"

#ifdef DLX_CUDA_EMULATED
constexpr int JOINERS = 64, AT_ONCE = 2; /* small, so that tests cover several rounds with few
                                          * parts */
#else
/* Kernels have __launch_bounds__(JOINERS, 1). Otherwise the compiler saves registers to fit two
 * blocks: it moves each load to the use of its value, and the thread waits for the loads one by
 * one. */
constexpr int JOINERS = 1024, AT_ONCE = 4;
#endif

/* Enough threads for all parts of a column to be in flight at once, but at least eight columns,
 * whose 4-byte values fill a 32-byte memory sector, and no more threads than parts. */
static inline dim3 join_block(int64_t columns, int64_t parts)
{
	unsigned x = 1, y = 1;
	while (x < 32 && x < columns)
		x *= 2;
	while (x > 8 && parts > JOINERS / x * AT_ONCE)
		x /= 2;
	while (x * y < 32 || (x * y < JOINERS && parts > y * AT_ONCE))
		y *= 2;
	return dim3(x, y);
}

/* Launches a kernel whose threads have column first_channel<1>(). The grid covers this number of
 * columns, or of packs. */
#define LAUNCH_JOIN(kernel, columns, parts, stream, ...)                                 \
	do {                                                                             \
		const dim3 join_ = join_block((columns), (parts));                       \
		LAUNCH((kernel), blocks_for((columns), join_.x), join_, 0, (stream),     \
		       __VA_ARGS__);                                                     \
	} while (0)

/* The parts of a thread's column: value l of part i is first[i * next + l * apart]. */
template <typename V> struct column {
	const V *first;
	int64_t parts, next, apart;
};

/* Combines the parts of this thread's column (none if the column does not exist). add(i, v) adds
 * the L values of part i to `all`; fold then combines `all` over the threads. All threads of the
 * column get the result. A block may call it once.
 *
 * A thread with fewer than AT_ONCE parts left loads one of them again, which is cached, and ignores
 * it. A branch would make it wait for each load separately. */
template <int L, typename T, int K, typename V, typename FOLD, typename ADD>
static __device__ __forceinline__ void join_parts(T (&all)[K], const column<V> &c, FOLD fold,
                                                  ADD add)
{
	__shared__ T room[K][JOINERS];
	const int64_t step = blockDim.y;
#pragma unroll 1
	for (int64_t i = threadIdx.y; i < c.parts; i += AT_ONCE * step) {
		V v[AT_ONCE][L];
#pragma unroll
		for (int u = 0; u < AT_ONCE; u++) {
			const V *p = c.first + (i + u * step < c.parts ? i + u * step : i) * c.next;
#pragma unroll
			for (int l = 0; l < L; l++)
				v[u][l] = p[l * c.apart];
		}
#pragma unroll
		for (int u = 0; u < AT_ONCE; u++) {
			T before[K];
#pragma unroll
			for (int k = 0; k < K; k++)
				before[k] = all[k];
			add(i + u * step, v[u]);
#pragma unroll
			for (int k = 0; k < K; k++)
				all[k] = i + u * step < c.parts ? all[k] : before[k];
		}
	}
	fold_columns(all, room, (int)(blockDim.x * blockDim.y / 32), fold,
		[&](int k, T joined) { room[k][threadIdx.x] = joined; });
	__syncthreads();
#pragma unroll
	for (int k = 0; k < K; k++)
		all[k] = room[k][threadIdx.x];
}

/* The same for parts of one value each; `none` is the neutral element. */
template <typename T, typename V, typename FOLD>
static __device__ __forceinline__ T joined_parts(T none, const column<V> &c, FOLD fold)
{
	T all[1] = { none };
	join_parts<1>(all, c, fold, [&](int64_t, const V (&v)[1]) { all[0] = fold(all[0], (T)v[0]); });
	return all[0];
}

template <typename V> static __device__ __forceinline__ double sum_of_parts(const column<V> &c)
{
	return joined_parts(0.0, c, plus());
}

/* Gradients to weights whose result is float32 are rounded to the convolution's `type` first, so
 * that their bits do not depend on which kernel computes them. */
static __device__ __forceinline__ void store_rounded(int type, int to, void *p, int64_t i, float v)
{
	store_as(to, p, i, type == K_TYPE_F16 ? as_float(from_float<__half>(v)) :
	                   type == K_TYPE_BF16 ? as_float(from_float<__nv_bfloat16>(v)) : v);
}

#endif
