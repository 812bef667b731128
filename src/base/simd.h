/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors without intrinsics: SIMD_CLONES compiles a function for AVX-512, AVX2 and the baseline
 * and picks at load time, so that one binary is fast everywhere. */
#ifndef DLX_BASE_SIMD_H
#define DLX_BASE_SIMD_H

#include <stdint.h>
#include <string.h>

/* Conversions of 16-bit elements need more than the first set of AVX-512: that is the level v4,
 * which compilers before GCC 12 cannot ask the processor for. Sanitizers instrument the resolver
 * that picks the clone, which runs before they are set up. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GNUC__ >= 12
#define SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define SIMD_CLONES
#endif

/* Before a loop without dependences between turns. Clang vectorises by itself, and warns where
 * asked to and unable. Without OpenMP gcc would warn of every loop. */
#if defined(__clang__) || !defined(_OPENMP)
#define SIMD_LOOP
#else
#define SIMD_LOOP _Pragma("omp simd")
#endif

/* Before a loop with a constant number of turns, to be unrolled in full. */
#if defined(__clang__)
#define SIMD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SIMD_UNROLL _Pragma("GCC unroll 32")
#endif

/* Where functions may be compiled for AVX-512 by a target attribute, to be called after asking the
 * CPU. */
#if defined(__GNUC__) && defined(__x86_64__)
#define SIMD_AVX512 1
#else
#define SIMD_AVX512 0
#endif

#define SIMD_INLINE static inline __attribute__((always_inline))

/* The bits of floating-point numbers, and numbers by their bits. */
SIMD_INLINE uint32_t simd_bits(float f)
{
	uint32_t u;
	memcpy(&u, &f, sizeof u);
	return u;
}

SIMD_INLINE float simd_float(uint32_t u)
{
	float f;
	memcpy(&f, &u, sizeof f);
	return f;
}

SIMD_INLINE uint64_t simd_bits64(double x)
{
	uint64_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}

SIMD_INLINE double simd_double(uint64_t u)
{
	double x;
	memcpy(&x, &u, sizeof x);
	return x;
}

#endif
