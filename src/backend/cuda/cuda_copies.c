/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies to the host that overlap the kernels of a step, on a separate stream. Two events order
 * them: a copy waits for the kernels before it, and kernels that overwrite the copied data wait for
 * the last copy. In a captured step that wait is a graph node for an external event: each launch
 * waits for the latest record of the event, so a step without copies goes on at once. (A step
 * captured in two parts would launch twice, and lose the edges between the parts.) */
#include "backend/cuda/cuda_copies.h"

#include <cuda_runtime_api.h>

#include "backend/cuda/cuda_state.h"
#include "base/err.h"
#include "base/mem.h"

struct cuda_copies {
	cudaStream_t stream;
	cudaEvent_t made, copied;    /* made: recorded on the compute stream before a copy; copied: on
	                              * this stream after it */
};

static int start(struct cuda_copies *c)
{
	TRY(cuda_check(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking),
	               "making a stream for copies"));
	TRY(cuda_check(cudaEventCreateWithFlags(&c->made, cudaEventDisableTiming), "making an event"));
	TRY(cuda_check(cudaEventCreateWithFlags(&c->copied, cudaEventDisableTiming),
	               "making an event"));
	/* recorded once, so that waiting before the first copy is valid */
	return cuda_check(cudaEventRecord(c->copied, c->stream), "marking what is copied");
}

int cuda_copies_open(struct cuda_copies **out)
{
	*out = mem_calloc(1, sizeof **out);
	return start(*out);
}

void cuda_copies_close(struct cuda_copies *c)
{
	if (!c)
		return;
	if (c->stream)
		cudaStreamDestroy(c->stream);
	if (c->made)
		cudaEventDestroy(c->made);
	if (c->copied)
		cudaEventDestroy(c->copied);
	mem_free(c);
}

int cuda_copy_beside(const struct device *d, void *host, const void *from, size_t bytes)
{
	const struct cuda_copies *c = cuda_of(d)->copies;
	TRY(cuda_check(cudaEventRecord(c->made, cuda_of(d)->stream), "ordering two streams"));
	TRY(cuda_check(cudaStreamWaitEvent(c->stream, c->made, 0), "ordering two streams"));
	TRY(cuda_check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, c->stream),
	               "copying the state from the GPU"));
	return cuda_check(cudaEventRecord(c->copied, c->stream), "marking what is copied");
}

int cuda_copy_fence(const struct device *d)
{
	const struct cuda *c = cuda_of(d);
	return cuda_check(cudaStreamWaitEvent(c->stream, c->copies->copied,
	                                      c->capturing ? cudaEventWaitExternal : 0),
	                  "ordering two streams");
}

/* A thread that has made no other call would open the first of several GPUs. */
int cuda_copy_wait(const struct device *d)
{
	TRY(cuda_bind_thread(cuda_of(d)->ordinal));
	return cuda_check(cudaEventSynchronize(cuda_of(d)->copies->copied),
	                  "copying the state from the GPU");
}
