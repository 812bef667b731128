/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the losses: sums over a block, labels, and reports of invalid ones. */
#ifndef DLX_CUDA_LOSS_CUH
#define DLX_CUDA_LOSS_CUH

#include "cuda/device.cuh"

constexpr int NARROW = 32;               /* the most classes for which one thread processes a
                                          * pixel */
constexpr int BLOCKS = 1024;             /* the most blocks of a first stage */

static int blocks_of(int64_t n, int64_t each)
{
	const int b = blocks_for(n, each);
	return b < BLOCKS ? b : BLOCKS;
}

static __device__ __forceinline__ int64_t label_at(const k_labels &l, int64_t p)
{
	int64_t at = 0;
	if (l.dense)
		return p;
	for (int a = l.nd - 1; a >= 0; a--) {
		at += p % l.d[a] * l.stride[a];
		p /= l.d[a];
	}
	return at;
}

static __device__ __forceinline__ bool is_class(const k_labels &l, int y)
{
	return y >= 0 && y < l.classes && y != l.ignore;
}

/* The partial result of a block. */
struct block_part {
	double loss, weight;
	int64_t bad, at;                 /* bad: number of labels that are no class; at: index of the
	                                  * first one */
};

static __device__ __forceinline__ void add_part(block_part *a, const block_part &b)
{
	a->loss += b.loss;
	a->weight += b.weight;
	a->at = b.bad && (!a->bad || b.at < a->at) ? b.at : a->at;
	a->bad += b.bad;
}

/* Sums the values of a block's threads by a tree; thread 0 gets the result. */
static __device__ __forceinline__ block_part block_sum(block_part mine, block_part *room)
{
	room[threadIdx.x] = mine;
	for (int n = THREADS / 2; n > 0; n /= 2) {
		__syncthreads();
		if ((int)threadIdx.x < n)
			add_part(&room[threadIdx.x], room[threadIdx.x + n]);
	}
	return room[0];
}

/* Sums the parts of n blocks in one block; thread 0 gets the result. */
static __device__ __forceinline__ block_part parts_sum(int n, const block_part *parts,
                                                       block_part *room)
{
	block_part sum = { 0, 0, 0, 0 };
	for (int i = threadIdx.x; i < n; i += THREADS)
		add_part(&sum, parts[i]);
	return block_sum(sum, room);
}

template <int LANES> static __device__ __forceinline__ float lanes_max(float v)
{
	for (int m = LANES / 2; m > 0; m /= 2)
		v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, m));
	return v;
}

template <int LANES> static __device__ __forceinline__ float lanes_sum(float v)
{
	for (int m = LANES / 2; m > 0; m /= 2)
		v += __shfl_xor_sync(0xffffffffu, v, m);
	return v;
}

/* The maximum of a row of classes, and the sum of exp(x - max), computed by LANES threads, all of
 * which get both. */
template <typename T, int LANES>
static __device__ __forceinline__ float shifted_exp_sum(const T *row, int classes, int lane,
                                                        float *max)
{
	float most = -INFINITY, s = 0;
	for (int j = lane; j < classes; j += LANES)
		most = fmaxf(most, as_float(row[j]));
	most = lanes_max<LANES>(most);
	for (int j = lane; j < classes; j += LANES)
		s += expf(as_float(row[j]) - most);
	*max = most;
	return lanes_sum<LANES>(s);
}

static __device__ void report(const k_labels &l, const int32_t *y, int64_t count, int64_t at,
                              k_bad *bad)
{
	if (!count)
		return;
	bad->at = at;
	bad->value = y[label_at(l, at)];
	bad->count = count;
}

#endif
