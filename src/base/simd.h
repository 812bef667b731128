/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectorisation without intrinsics: SIMD_CLONES compiles a function for AVX-512, AVX2 and the
 * baseline, and a call selects one by isa_level(), so that one binary is fast on all processors and
 * one switch limits all kernels. */
#ifndef DLX_BASE_SIMD_H
#define DLX_BASE_SIMD_H

#include <stdint.h>
#include <string.h>

#include "base/isa.h"

/* SIMD_CLONES(type, name, (parameters), (their names)) { body } defines a static function;
 * SIMD_CLONES_OF has the linkage as its first argument. Trees with sanitizers have one copy of each
 * loop, since these are compiled in a third of the time. */
#define SIMD_CLONES(type, name, params, args) SIMD_CLONES_OF(static, type, name, params, args)
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Conversions of 16-bit elements need more than the first set of AVX-512. */
#if __GNUC__ >= 12
#define SIMD_TARGET_AVX512 "arch=x86-64-v4"
#else
#define SIMD_TARGET_AVX512 "avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
#endif
#define SIMD_CLONES_OF(linkage, type, name, params, args)                                      \
	SIMD_INLINE type name##_body params;                                                       \
	__attribute__((target(SIMD_TARGET_AVX512))) static type name##_avx512 params               \
	{                                                                                          \
		return name##_body args;                                                               \
	}                                                                                          \
	__attribute__((target("avx2"))) static type name##_avx2 params                             \
	{                                                                                          \
		return name##_body args;                                                               \
	}                                                                                          \
	__attribute__((noinline)) static type name##_base params                                   \
	{                                                                                          \
		return name##_body args;                                                               \
	}                                                                                          \
	linkage type name params                                                                   \
	{                                                                                          \
		const enum isa level = isa_level();                                                    \
		return level >= ISA_AVX512 ? name##_avx512 args :                                      \
		       level == ISA_AVX2 ? name##_avx2 args : name##_base args;                        \
	}                                                                                          \
	SIMD_INLINE type name##_body params
#else
#define SIMD_CLONES_OF(linkage, type, name, params, args) linkage type name params
#endif

/* Put before a loop without dependences between iterations. Empty for clang, which vectorises
 * without it and warns if a loop with it cannot be vectorised, and without OpenMP, where gcc would
 * warn of an unknown pragma. */
#if defined(__clang__) || !defined(_OPENMP)
#define SIMD_LOOP
#else
#define SIMD_LOOP _Pragma("omp simd")
#endif

/* Put before a loop with a constant number of iterations, to unroll it completely. */
#if defined(__clang__)
#define SIMD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SIMD_UNROLL _Pragma("GCC unroll 32")
#endif

/* 1 if functions can be compiled for AVX-512 by a target attribute; they may be called only if
 * isa_level() permits. */
#if defined(__GNUC__) && defined(__x86_64__)
#define SIMD_AVX512 1
#else
#define SIMD_AVX512 0
#endif

#define SIMD_INLINE static inline __attribute__((always_inline))

/* Conversion between floating-point numbers and their bit patterns. */
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
