/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies the next batch to the GPU on a separate stream while kernels work on the current one. The
 * target is the input's own buffer, once the first kernels of the step have read it
 * (pass/intake.c), or a second buffer, from which the compute stream copies the batch within the
 * GPU's memory (3 TB/s on an H100; the bus has 0.05). Two events order the streams: kernels wait
 * until a batch has arrived, and the next batch waits until this one was taken. */
#include "backend/cuda/cuda_prefetch.h"

#include <cuda_runtime_api.h>

#include "backend/cuda/cuda_state.h"
#include "base/err.h"
#include "base/mem.h"

struct cuda_prefetch {
	cudaStream_t stream;
	cudaEvent_t arrived, taken;
};

static int start(struct cuda_prefetch *a)
{
	TRY(cuda_check(cudaStreamCreateWithFlags(&a->stream, cudaStreamNonBlocking),
	               "making a stream for copies"));
	TRY(cuda_check(cudaEventCreateWithFlags(&a->arrived, cudaEventDisableTiming),
	               "making an event"));
	return cuda_check(cudaEventCreateWithFlags(&a->taken, cudaEventDisableTiming),
	                  "making an event");
}

static int open_once(const struct device *d, struct cuda_prefetch **out)
{
	struct cuda_prefetch **a = cuda_prefetch_of(d);
	if (!*a) {
		*a = mem_calloc(1, sizeof **a);
		TRY(start(*a));
	}
	*out = *a;
	return 0;
}

void cuda_prefetch_rest(const struct cuda_prefetch *a)
{
	if (a)
		cudaStreamSynchronize(a->stream);
}

void cuda_prefetch_close(struct cuda_prefetch *a)
{
	if (!a)
		return;
	if (a->stream)
		cudaStreamDestroy(a->stream);
	if (a->arrived)
		cudaEventDestroy(a->arrived);
	if (a->taken)
		cudaEventDestroy(a->taken);
	mem_free(a);
}

/* Waiting for an event that was never recorded returns at once. */
int cuda_prefetch_ready(const struct device *d)
{
	struct cuda_prefetch *a;
	TRY(open_once(d, &a));
	return cuda_wait_event(d, a->arrived);
}

int cuda_prefetch_put(const struct device *d, void *to, const void *host, size_t bytes)
{
	struct cuda_prefetch *a;
	TRY(open_once(d, &a));
	TRY(cuda_check(cudaStreamWaitEvent(a->stream, a->taken, 0), "copying a batch to the GPU"));
	TRY(cuda_check(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, a->stream),
	               "copying a batch to the GPU"));
	return cuda_check(cudaEventRecord(a->arrived, a->stream), "copying a batch to the GPU");
}

int cuda_prefetch_await(const struct device *d)
{
	struct cuda_prefetch *a;
	TRY(open_once(d, &a));
	return cuda_check(cudaStreamWaitEvent(cuda_stream(d), a->arrived, 0), "waiting for a batch");
}

int cuda_prefetch_copy(const struct device *d, void *to, const void *from, size_t bytes)
{
	return cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cuda_stream(d)),
	                  "taking a batch");
}

int cuda_prefetch_taken(const struct device *d)
{
	struct cuda_prefetch *a;
	TRY(open_once(d, &a));
	return cuda_check(cudaEventRecord(a->taken, cuda_stream(d)), "taking a batch");
}
