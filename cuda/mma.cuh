/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of small matrices by a warp (tensor cores), for 16-bit elements and float32 sums, and
 * copies to shared memory that do not pass through registers: compute capability 8.0 and later. The
 * host checks the GPU before it launches such a kernel (conv_own.h); on older GPUs the functions
 * trap. The layouts are those of PTX's mma.m16n8k16 and ldmatrix; test/gpu/emulate_mma.h does the
 * same on the host.
 *
 * The registers of lane l, with g = l / 4 and t = l % 4, hold pairs of elements, the first one in
 * the lower half:
 *   a[0] row g, k 2t and 2t + 1; a[1] row g + 8; a[2] row g, k 2t + 8 and 2t + 9; a[3] row g + 8
 *   b[0] k 2t and 2t + 1 of column g; b[1] k 2t + 8 and 2t + 9
 *   d[0], d[1] row g, columns 2t and 2t + 1; d[2], d[3] row g + 8 */
#ifndef DLX_CUDA_MMA_CUH
#define DLX_CUDA_MMA_CUH

#include "cuda/device.cuh"

/* Whether 0 <= i < end. */
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

/* Loads four matrices of 8 x 8 elements. Lane l passes the address of row l % 8 of matrix l / 8, 16
 * aligned bytes of shared memory. In r[i] lane l gets elements 2t and 2t + 1 of row g of matrix i.
 * That is the operand a if the matrices are (rows 0-7, k 0-7), (8-15, 0-7), (0-7, 8-15), (8-15,
 * 8-15). */
static __device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const void *row)
{
	FROM_SM_80(asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
	                        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
	                        : "r"(shared_address(row)) : "memory"));
}

/* The same, transposed: in r[i] lane l gets element g of rows 2t and 2t + 1 of matrix i. */
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

/* Starts a copy of BYTES (4, 8 or 16; both addresses are aligned to that) to shared memory, or of
 * zeros if not `there`. `from` must point into the tensor in either case. */
template <int BYTES> static __device__ __forceinline__ void copy_async(void *to, const void *from,
                                                                       bool there)
{
	static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "");
	const int bytes = there ? BYTES : 0;
	(void)bytes;                 /* this architecture has no such instruction */
	if constexpr (BYTES == 16)
		FROM_SM_80(asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
		                        :: "r"(shared_address(to)), "l"(from), "r"(bytes) : "memory"));
	else
		FROM_SM_80(asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
		                        :: "r"(shared_address(to)), "l"(from), "n"(BYTES), "r"(bytes)
		                        : "memory"));
}

/* Makes one group of the copies that this thread has started since the last call. */
static __device__ __forceinline__ void copies_commit()
{
	FROM_SM_80(asm volatile("cp.async.commit_group;" ::: "memory"));
}

/* Waits until at most LEFT of this thread's groups, the latest ones, are in flight. The copies of
 * other threads are visible after a barrier that follows. */
template <int LEFT> static __device__ __forceinline__ void copies_wait()
{
	FROM_SM_80(asm volatile("cp.async.wait_group %0;" :: "n"(LEFT) : "memory"));
}

/* Forces the value to be computed here and kept in a register. Otherwise the compiler moves a value
 * that only one branch of a loop uses into that branch, and computes it there in each iteration. */
static __device__ __forceinline__ void keep(const char *&v) { asm volatile("" : "+l"(v)); }
static __device__ __forceinline__ void keep(int64_t &v) { asm volatile("" : "+l"(v)); }
static __device__ __forceinline__ void keep(int &v) { asm volatile("" : "+r"(v)); }

/* Prefetches the 32 bytes at this address into L2. */
static __device__ __forceinline__ void prefetch(const void *at)
{
	asm volatile("prefetch.global.L2 [%0];" :: "l"(at));
}

#endif
#endif
