/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of matrices by a warpgroup, four warps (PTX's wgmma), for 16-bit elements and float32
 * sums, which only compute capability 9.0 has (sm_90a; other code traps). The operands are read
 * from shared memory while the warps go on. test/gpu/emulate_warpgroup.h does the same on the host.
 *
 * An operand has 16 columns, k, and 64 rows (a) or N (b): of each 8 rows and 8 columns there are 8
 * times 16 bytes one behind the other, a row each. `halves` bytes are between those of columns 0-7
 * and 8-15, `eights` between those of 8 rows and the next 8. All are multiples of 16, and so is the
 * place: a row further on is 16 bytes further on.
 *
 * Of thread t of the warpgroup, with warp w = t / 32, g = t % 32 / 4, c = t % 4, sums are as those
 * of cuda/mma.cuh: d[4 j] and d[4 j + 1] row 16 w + g, columns 8 j + 2 c and the next; d[4 j + 2]
 * and d[4 j + 3] row 16 w + g + 8. */
#ifndef DLX_CUDA_WARPGROUP_CUH
#define DLX_CUDA_WARPGROUP_CUH

#include "cuda/mma.cuh"

constexpr int WARPGROUP = 128;           /* threads */

#ifdef DLX_CUDA_EMULATED
#include "test/gpu/emulate_warpgroup.h"
#else

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define FROM_SM_90A(...) __VA_ARGS__
#else
#define FROM_SM_90A(...) __trap()
#endif

typedef uint64_t operand;

static __device__ __forceinline__ operand operand_at(const void *p, int halves, int eights)
{
	return (uint64_t)(shared_address(p) >> 4) | (uint64_t)(halves >> 4) << 16 |
	       (uint64_t)(eights >> 4) << 32;
}

static __device__ __forceinline__ operand operand_behind(operand o, int bytes)
{
	return o + (uint64_t)(bytes >> 4);
}

/* What this thread has written to shared memory, or copied and waited for, is seen by products that
 * begin behind the next barrier. */
static __device__ __forceinline__ void show_to_products()
{
	FROM_SM_90A(asm volatile("fence.proxy.async.shared::cta;" ::: "memory"));
}

/* The barrier of one warpgroup; which: 0 to 14. */
static __device__ __forceinline__ void group_barrier(int which)
{
	asm volatile("bar.sync %0, 128;" :: "r"(1 + which) : "memory");
}

/* Before the first of some products. */
static __device__ __forceinline__ void products_begin()
{
	FROM_SM_90A(asm volatile("wgmma.fence.sync.aligned;" ::: "memory"));
}

/* Behind the last one. */
static __device__ __forceinline__ void products_commit()
{
	FROM_SM_90A(asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"));
}

/* Until all but the LEFT groups that were committed last are made. */
template <int LEFT> static __device__ __forceinline__ void products_wait_but()
{
	FROM_SM_90A(asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(LEFT) : "memory"));
}

/* Until they are in d, which nothing else may touch before. */
template <int M> static __device__ __forceinline__ void products_wait(float (&d)[M])
{
	products_wait_but<0>();
#pragma unroll
	for (int i = 0; i < M; i++)
		asm volatile("" : "+f"(d[i]) :: "memory");
}

/* Begins d += a b, of 64 x 16 and 16 x N elements of type T. */
template <typename T, int N> struct products;

#define FLOATS_8(i) \
	"+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
	"+f"(d[i + 6]), "+f"(d[i + 7])
#define FLOATS_16 FLOATS_8(0), FLOATS_8(8)
#define FLOATS_32 FLOATS_16, FLOATS_8(16), FLOATS_8(24)
#define FLOATS_40 FLOATS_32, FLOATS_8(32)
#define FLOATS_48 FLOATS_40, FLOATS_8(40)
#define FLOATS_56 FLOATS_48, FLOATS_8(48)
#define FLOATS_64 FLOATS_56, FLOATS_8(56)
#define NAMES_16 \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define NAMES_32 NAMES_16 \
	", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_40 NAMES_32 \
	", %32, %33, %34, %35, %36, %37, %38, %39"
#define NAMES_48 NAMES_40 \
	", %40, %41, %42, %43, %44, %45, %46, %47"
#define NAMES_56 NAMES_48 \
	", %48, %49, %50, %51, %52, %53, %54, %55"
#define NAMES_64 NAMES_56 \
	", %56, %57, %58, %59, %60, %61, %62, %63"

/* n; of the sums m, half of n; the names of the operands, which are the two behind. */
#define PRODUCTS(T, type, n, m, a_, b_)                                                  \
	template <> struct products<T, n> {                                              \
		static __device__ __forceinline__ void add(float (&d)[m], operand a, operand b)  \
		{                                                                        \
			FROM_SM_90A(asm volatile(                                        \
				"{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"              \
				"wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type \
				" {" NAMES_##m "}, " a_ ", " b_ ", p, 1, 1, 0, 0;\n}\n"   \
				: FLOATS_##m : "l"(a), "l"(b) : "memory"));              \
		}                                                                        \
	}
#define PRODUCTS_OF(n, m, a, b)                                                          \
	PRODUCTS(__half, "f16", n, m, a, b);                                             \
	PRODUCTS(__nv_bfloat16, "bf16", n, m, a, b)

/* Begins d += a b, of 64 x 16 elements in registers, as cuda/mma.cuh has them for each warp, and 16
 * x 32. The registers stay as they are until it is waited for. */
template <typename T> struct products_from;
#define PRODUCTS_FROM(T, type)                                                           \
	template <> struct products_from<T> {                                            \
		static __device__ __forceinline__ void add(float (&d)[16], const uint32_t (&a)[4], \
		                                           operand b)                    \
		{                                                                        \
			FROM_SM_90A(asm volatile(                                        \
				"{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"              \
				"wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type \
				" {" NAMES_16 "}, {%16, %17, %18, %19}, %20, p, 1, 1, 0;\n}\n" \
				: FLOATS_16 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), \
				"l"(b) : "memory"));                                     \
		}                                                                        \
	}
PRODUCTS_FROM(__half, "f16");
PRODUCTS_FROM(__nv_bfloat16, "bf16");
PRODUCTS_OF(32, 16, "%16", "%17");
PRODUCTS_OF(64, 32, "%32", "%33");
PRODUCTS_OF(80, 40, "%40", "%41");
PRODUCTS_OF(96, 48, "%48", "%49");
PRODUCTS_OF(112, 56, "%56", "%57");
PRODUCTS_OF(128, 64, "%64", "%65");

#endif
#endif
