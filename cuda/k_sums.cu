/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Notes that a stream leaves for the host as it comes to a sum over ranks and past it: one thread, once a sum, beside the kernels
 * that compute. A step that was recorded has no other way to say where it stands. */
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

/* The counts last, so that who sees one sees what belongs to it. */
__global__ void note_sum(k_sums *sums, int kind, int64_t group, uint64_t bytes)
{
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
