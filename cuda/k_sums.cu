/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records for the host that a stream writes before and after an all-reduce: one thread for each,
 * concurrent with the kernels that compute. A captured step has no other means to report its
 * progress. Also the additions of all-reduces in a fixed order. */
#include "cuda/device.cuh"

static __device__ __forceinline__ uint64_t nanoseconds()
{
#ifdef DLX_CUDA_EMULATED
	return emulate::nanoseconds();
#else
	uint64_t t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
#endif
}

/* Writes the counts last, so that a reader that sees a count sees the data it belongs to. */
__global__ void note_sum(k_sums *sums, int kind, int64_t group, uint64_t bytes)
{
	BEGIN_KERNEL();
	volatile k_sums *s = sums;
	if (kind == K_SUM_WANTED) {
		s->wanted_at = nanoseconds();
	} else if (kind == K_SUM_BEGINS || kind == K_SUM_BEGINS_HERE) {
		s->group = group;
		if (kind == K_SUM_BEGINS_HERE)
			s->wanted_at = nanoseconds();
		__threadfence_system();
		s->begun = s->begun + 1;
	} else {
		s->bytes = s->bytes + bytes;
		s->done_at = nanoseconds();
		if (kind == K_SUM_DONE_HERE)
			s->waited = s->waited + (s->done_at - s->wanted_at);
		__threadfence_system();
		s->done = s->done + 1;
	}
}

int k_note_sum(void *stream, enum k_sums_kind kind, struct k_sums *s, int64_t group, uint64_t bytes)
{
	LAUNCH(note_sum, 1, 1, 0, stream, s, (int)kind, group, bytes);
	return cudaGetLastError();
}

/* Adds in the order of a binary counter: level l holds the sum of 2^l ranks if bit l of the number
 * of ranks so far is set. */
__global__ void sum_ranks(int n, int me, int64_t count, int64_t each, const float *parts,
                          float *sum)
{
	BEGIN_KERNEL();
	for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count;
	     i += (int64_t)gridDim.x * blockDim.x) {
		float level[32];
		int top = -1;
		for (int q = 0; q < n; q++) {
			level[++top] = q == me ? sum[i] : parts[q * each + i];
			for (int ones = ~q & (q + 1); ones > 1; ones >>= 1, top--)
				level[top - 1] += level[top];
		}
		for (; top > 0; top--)
			level[top - 1] += level[top];
		sum[i] = level[0];
	}
}

int k_sum_ranks(void *stream, int n, int me, int64_t count, int64_t each, const float *parts,
                float *sum)
{
	const int blocks = blocks_for(count, THREADS);
	if (count == 0)
		return 0;
	LAUNCH(sum_ranks, blocks < 4096 ? blocks : 4096, THREADS, 0, stream, n, me, count, each,
	       parts, sum);
	return cudaGetLastError();
}
