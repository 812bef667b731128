/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the .cu files share: loads and stores of every float type as float32, vectors of them, and
 * the shape of a launch. */
#ifndef DLX_CUDA_DEVICE_CUH
#define DLX_CUDA_DEVICE_CUH

#ifdef DLX_CUDA_EMULATED
#include "test/gpu/emulate.h"
#else
#define LAUNCH(kernel, grid, block, shared, stream, ...)                                 \
	do {                                                                             \
		auto kernel_ = (kernel);                                                 \
		kernel_<<<(grid), (block), (shared), (cudaStream_t)(stream)>>>(__VA_ARGS__); \
	} while (0)
/* Shared memory whose size the launch gives. */
#define SHARED_DYNAMIC(type, name)                                                       \
	extern __shared__ __align__(16) char shared_bytes_[];                            \
	type *name = reinterpret_cast<type *>(shared_bytes_)
#endif

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/kernels.h"

__device__ __forceinline__ float as_float(float v) { return v; }
__device__ __forceinline__ float as_float(__half v) { return __half2float(v); }
__device__ __forceinline__ float as_float(__nv_bfloat16 v) { return __bfloat162float(v); }

template <typename T> __device__ __forceinline__ T from_float(float v);
template <> __device__ __forceinline__ float from_float<float>(float v) { return v; }
template <> __device__ __forceinline__ __half from_float<__half>(float v) { return __float2half_rn(v); }
template <> __device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float v) { return __float2bfloat16_rn(v); }

/* For results whose type is not that of what they are made of: a branch that all threads take alike. */
static __device__ __forceinline__ void store_as(int type, void *p, int64_t i, float v)
{
	if (type == K_TYPE_F32)
		((float *)p)[i] = v;
	else if (type == K_TYPE_F16)
		((__half *)p)[i] = __float2half_rn(v);
	else
		((__nv_bfloat16 *)p)[i] = __float2bfloat16_rn(v);
}

/* 16 bytes of elements. */
template <typename T> struct alignas(16) pack {
	static constexpr int N = 16 / sizeof(T);
	T v[N];
};

constexpr int THREADS = 256;

static inline int blocks_for(int64_t n, int64_t each)
{
	int64_t b = (n + each - 1) / each;
	return b < 1 ? 1 : b > 0x7fffffff ? 0x7fffffff : (int)b;
}

/* A block of THREADS: x side by side along the channels of channels-last tensors, y along the rows. */
static inline dim3 channel_block(int64_t c)
{
	unsigned x = 4;
	while (x < 32 && x < c)
		x *= 2;
	return dim3(x, THREADS / x);
}

/* Blocks of that form for a kernel whose threads stay with their channel and go down the rows, some
 * waves of a large GPU. */
static inline dim3 rows_grid(int64_t rows, int64_t c, dim3 block)
{
	const int64_t x = (c + block.x - 1) / block.x, need = (rows + block.y - 1) / block.y;
	int64_t y = 8192 / x;
	y = y < 1 ? 1 : y > need ? need : y;
	return dim3((unsigned)x, (unsigned)(y < 1 ? 1 : y));
}

/* The sum of what the threads of a column (of equal threadIdx.x) give, in order; for threadIdx.y 0.
 * room: THREADS of them, free again after the next barrier. */
template <typename T> __device__ __forceinline__ T column_sum(T v, T *room)
{
	room[threadIdx.y * blockDim.x + threadIdx.x] = v;
	__syncthreads();
	if (threadIdx.y == 0)
		for (unsigned i = 1; i < blockDim.y; i++)
			v += room[i * blockDim.x + threadIdx.x];
	return v;
}

/* Runs the statement with T the element type that `type` names; returns an error for one that is no float. */
#define FLOAT_TYPES(type, T, ...)                                                        \
	switch (type) {                                                                  \
	case K_TYPE_F32: { using T = float; __VA_ARGS__; break; }                             \
	case K_TYPE_F16: { using T = __half; __VA_ARGS__; break; }                            \
	case K_TYPE_BF16: { using T = __nv_bfloat16; __VA_ARGS__; break; }                    \
	default: return cudaErrorInvalidValue;                                           \
	}

#endif
