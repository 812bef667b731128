/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of small matrices by a warp (tensor cores), for 16-bit elements and float32 sums, and
 * copies to shared memory that do not pass through registers: compute capability 8.0 and later. The
 * host asks before it launches a kernel with these (conv_own.h); for older GPUs they trap. The
 * layouts are those of PTX's mma.m16n8k16 and ldmatrix; test/gpu/emulate_mma.h does the same on the
 * host.
 *
 * Of lane l, with g = l / 4 and t = l % 4, registers are pairs of elements, the lower half first:
 *   a[0] row g, k 2t and 2t + 1; a[1] row g + 8; a[2] row g, k 2t + 8 and 2t + 9; a[3] row g + 8
 *   b[0] k 2t and 2t + 1 of column g; b[1] k 2t + 8 and 2t + 9
 *   d[0], d[1] row g, columns 2t and 2t + 1; d[2], d[3] row g + 8 */
#ifndef DLX_CUDA_MMA_CUH
#define DLX_CUDA_MMA_CUH

#include "cuda/device.cuh"

/* Whether there is element i of `end`. */
static __device__ __forceinline__ bool within(int i, int end)
{
	return (unsigned)i < (unsigned)end;
}

#ifdef DLX_CUDA_EMULATED
#include "test/gpu/emulate_mma.h"
#else

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define FROM_SM_80(...) __trap()
#else
#define FROM_SM_80(...) __VA_ARGS__
#endif

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

/* Four matrices of 8 rows of 8 elements: lane l gives row l % 8 of matrix l / 8, 16 aligned bytes
 * of shared memory. Lane l gets of matrix i elements 2t and 2t + 1 of row g in r[i]: a, if the
 * matrices are (rows 0-7, k 0-7), (8-15, 0-7), (0-7, 8-15), (8-15, 8-15). */
static __device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const void *row)
{
	FROM_SM_80(asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
	                        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
	                        : "r"(shared_address(row)) : "memory"));
}

/* Transposed: lane l gets of matrix i elements g of rows 2t and 2t + 1. */
static __device__ __forceinline__ void load_transposed(uint32_t (&r)[4], const void *row)
{
	FROM_SM_80(asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
	                        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
	                        : "r"(shared_address(row)) : "memory"));
}

/* d += a b, of 16 x 16 and 16 x 8 elements of type T, __half or __nv_bfloat16. */
template <typename T> static __device__ __forceinline__ void multiply_add(
		float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <> __device__ __forceinline__ void multiply_add<__nv_bfloat16>(
		float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
	FROM_SM_80(asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
	                        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	                        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	                        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)));
}
template <> __device__ __forceinline__ void multiply_add<__half>(
		float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
	FROM_SM_80(asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
	                        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	                        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	                        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)));
}

/* Begins to copy BYTES (4, 8 or 16, both sides aligned to that) to shared memory, zeros where they
 * are not `there`; from must be a place in the tensor even so. */
template <int BYTES> static __device__ __forceinline__ void copy_async(void *to, const void *from,
                                                                       bool there)
{
	static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "");
	const int bytes = there ? BYTES : 0;
	(void)bytes;                 /* where there is no such instruction */
	if constexpr (BYTES == 16)
		FROM_SM_80(asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
		                        :: "r"(shared_address(to)), "l"(from), "r"(bytes) : "memory"));
	else
		FROM_SM_80(asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
		                        :: "r"(shared_address(to)), "l"(from), "n"(BYTES), "r"(bytes)
		                        : "memory"));
}

/* What this thread began to copy since the last call is one group. */
static __device__ __forceinline__ void copies_commit()
{
	FROM_SM_80(asm volatile("cp.async.commit_group;" ::: "memory"));
}

/* Until at most LEFT of this thread's groups, the last ones, are under way. What other threads
 * copied is seen after a barrier after this. */
template <int LEFT> static __device__ __forceinline__ void copies_wait()
{
	FROM_SM_80(asm volatile("cp.async.wait_group %0;" :: "n"(LEFT) : "memory"));
}

/* The value is computed here and stays in a register: a compiler moves what one branch of a loop
 * uses into that branch, and computes it there each time. */
static __device__ __forceinline__ void keep(const char *&v) { asm volatile("" : "+l"(v)); }
static __device__ __forceinline__ void keep(int64_t &v) { asm volatile("" : "+l"(v)); }
static __device__ __forceinline__ void keep(int &v) { asm volatile("" : "+r"(v)); }

/* Asks for the 32 bytes at a place, so that they are in L2 when they are loaded. */
static __device__ __forceinline__ void prefetch(const void *at)
{
	asm volatile("prefetch.global.L2 [%0];" :: "l"(at));
}

#endif
#endif
