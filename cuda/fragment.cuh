/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Epilogues of small matrix products (cuda/mma.cuh). After a product, a lane has the sums of pairs
 * of adjacent columns; four lanes exchange them, so that each gets 16 bytes of one row. */
#ifndef DLX_CUDA_FRAGMENT_CUH
#define DLX_CUDA_FRAGMENT_CUH

#include "cuda/mma.cuh"
#include "cuda/narrow.h"

template <typename T> struct pair_of;
template <> struct pair_of<__half> { typedef __half2 type; };
template <> struct pair_of<__nv_bfloat16> { typedef __nv_bfloat162 type; };

/* Transposes 4 x 4 words among four adjacent lanes: word j of lane t becomes word t of lane j. */
static __device__ __forceinline__ void transpose(uint32_t (&v)[4])
{
	const int t = (int)threadIdx.x % 4;
#pragma unroll
	for (int step = 1; step <= 2; step *= 2)
#pragma unroll
		for (int i = 0; i < 4; i++) {
			if (i & step)
				continue;
			const bool high = t & step;
			const uint32_t got = __shfl_xor_sync(~0u, high ? v[i] : v[i + step], step);
			v[i] = high ? got : v[i];
			v[i + step] = high ? v[i + step] : got;
		}
}

template <typename T> static __device__ __forceinline__ float half_of(uint32_t v, int which)
{
	typename pair_of<T>::type both;
	memcpy(&both, &v, sizeof both);
	return which ? high_half(both) : low_half(both);
}

/* The epilogue of two adjacent channels. Values below `limit` (0 for ReLU, -infinity for no
 * activation), and those whose mask is not positive, become slope * v if `low`, else 0. */
struct after {
	float limit, slope;
	bool low;
};

template <typename T> static __device__ __forceinline__ uint32_t finish_pair(
		const after &f, const float *sum, const float (&scale)[2], const float (&shift)[2],
		uint32_t addend, uint32_t mask)
{
	typename pair_of<T>::type both;
	uint32_t made;
	float v[2];
#pragma unroll
	for (int q = 0; q < 2; q++) {
		v[q] = fmaf(sum[q], scale[q], shift[q]) + half_of<T>(addend, q);
		if (v[q] < f.limit || !(half_of<T>(mask, q) > 0))
			v[q] = f.low ? f.slope * v[q] : 0.0f;
	}
	put_halves(&both, v[0], v[1]);
	memcpy(&made, &both, sizeof made);
	return made;
}

/* Pairs of 16-bit values: 0, and a number that is positive in fp16 and in bf16. */
constexpr uint32_t ZEROS = 0, POSITIVE = 0x3c003c00;

static inline bool is_aligned(const k_rows &r)
{
	return (uintptr_t)r.p % 16 == 0 && r.stride % 8 == 0;
}

/* Whether 16 bytes of each tensor can be loaded and stored at once. */
static inline bool are_aligned(const k_narrow &g, const void *w)
{
	return is_aligned(g.x) && is_aligned(g.y) && is_aligned(g.addend) && is_aligned(g.mask) &&
	       (uintptr_t)w % 16 == 0;
}

#endif
