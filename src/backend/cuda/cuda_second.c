/* SPDX-License-Identifier: BSD-3-Clause
 *
 * While work is enqueued on the second stream, cuda_stream returns it, and cuDNN uses it. Its
 * kernels have lower priority than those of the compute stream, for which other nodes wait. Nodes
 * of a captured step keep the priority of the stream they were captured from. */
#include "backend/cuda/cuda_second.h"

#include <string.h>

#include <cuda_runtime_api.h>

#include "backend/cuda/cuda_state.h"
#include "backend/cuda/cudnn.h"
#include "base/err.h"
#include "base/mem.h"

struct cuda_second {
	cudaStream_t stream;
	cudaEvent_t here, *point;
	int points;
};

static int make_event(cudaEvent_t *e)
{
	return cuda_check(cudaEventCreateWithFlags(e, cudaEventDisableTiming), "making an event");
}

static int start(struct cuda *c)
{
	int least, greatest;
	if (c->second)
		return 0;
	c->second = mem_calloc(1, sizeof *c->second);
	TRY(cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities"));
	TRY(cuda_check(cudaStreamCreateWithPriority(&c->second->stream, cudaStreamNonBlocking, least),
	               "making a stream"));
	return make_event(&c->second->here);
}

void cuda_second_close(struct cuda_second *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->points; i++)
		cudaEventDestroy(s->point[i]);
	if (s->here)
		cudaEventDestroy(s->here);
	if (s->stream)
		cudaStreamDestroy(s->stream);
	mem_free(s->point);
	mem_free(s);
}

/* Sets the stream on which kernels are enqueued from now on. */
static int enter(struct cuda *c, cudaStream_t stream)
{
	c->now = stream;
	return c->cudnn ? cudnn_use_stream(c->cudnn, stream) : 0;
}

int cuda_second_begin(const struct device *d)
{
	struct cuda *c = cuda_of(d);
	TRY(start(c));
	TRY(cuda_check(cudaEventRecord(c->second->here, c->stream), "ordering two streams"));
	TRY(cuda_check(cudaStreamWaitEvent(c->second->stream, c->second->here, 0),
	               "ordering two streams"));
	return enter(c, c->second->stream);
}

static int make_points(struct cuda_second *s, int n)
{
	if (n <= s->points)
		return 0;
	s->point = mem_realloc(s->point, (size_t)n * sizeof *s->point);
	for (; s->points < n; s->points++)
		TRY(make_event(&s->point[s->points]));
	return 0;
}

int cuda_second_end(const struct device *d, int at)
{
	struct cuda *c = cuda_of(d);
	TRY(enter(c, c->stream));
	TRY(make_points(c->second, at + 1));
	return cuda_check(cudaEventRecord(c->second->point[at], c->second->stream),
	                  "ordering two streams");
}

int cuda_second_await(const struct device *d, int at)
{
	const struct cuda *c = cuda_of(d);
	return cuda_check(cudaStreamWaitEvent(c->stream, c->second->point[at], 0),
	                  "ordering two streams");
}
