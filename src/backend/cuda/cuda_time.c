/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times several runs in one captured graph between two events, as in a step: launched one by one,
 * kernels of a few microseconds would all take as long as a launch. What cannot be captured is not
 * measured, and so not chosen. */
#include "backend/cuda/cuda_time.h"

#include <cuda_runtime_api.h>

#include "backend/cuda/cuda.h"
#include "base/err.h"

#define TRIALS 3
#define EACH 3                /* runs of a trial */
#define LAUNCHES 50            /* microseconds that a run outside a graph may take longer */

int cuda_scratch(void **out, size_t bytes)
{
	*out = NULL;
	return cuda_check(cudaMalloc(out, bytes ? bytes : 1), "memory to measure with");
}

void cuda_scratch_free(void *p)
{
	cudaFree(p);
}

static int record(cudaStream_t stream, int (*enqueue)(void *user), void *user, cudaGraphExec_t *out)
{
	cudaGraph_t graph = NULL;
	int rc = cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
	                    "measuring");
	if (rc < 0)
		return rc;
	for (int i = 0; i < EACH && rc == 0; i++)
		rc = enqueue(user);
	int ended = cuda_check(cudaStreamEndCapture(stream, &graph), "measuring");
	TRY(rc < 0 ? rc : ended);
	rc = cuda_check(cudaGraphInstantiate(out, graph, 0), "measuring");
	cudaGraphDestroy(graph);
	return rc;
}

/* From before `launch` to when its work is done. */
static int between(cudaStream_t stream, const cudaEvent_t *event, int (*launch)(void *user),
                   void *user, double *us)
{
	float ms = 0;
	TRY(cuda_check(cudaEventRecord(event[0], stream), "measuring"));
	TRY(launch(user));
	TRY(cuda_check(cudaEventRecord(event[1], stream), "measuring"));
	TRY(cuda_check(cudaEventSynchronize(event[1]), "measuring"));
	TRY(cuda_check(cudaEventElapsedTime(&ms, event[0], event[1]), "measuring"));
	*us = (double)ms * 1000;
	return 0;
}

struct timed_graph {
	cudaStream_t stream;
	cudaGraphExec_t runs;
};

static int launch_replay(void *user)
{
	const struct timed_graph *r = user;
	return cuda_check(cudaGraphLaunch(r->runs, r->stream), "measuring");
}

/* The first run loads code; the first launch of a graph uploads it, and is not the best. */
static int measure(cudaStream_t stream, const cudaEvent_t *event, int (*enqueue)(void *user),
                   void *user, double much, double *best)
{
	struct timed_graph r = { stream, NULL };
	double now = 0;
	TRY(enqueue(user));
	if (much > 0) {
		TRY(between(stream, event, enqueue, user, best));
		if (*best > much + LAUNCHES)
			return 0;
	}
	int rc = record(stream, enqueue, user, &r.runs);
	for (int i = 0; i < TRIALS && rc == 0; i++) {
		rc = between(stream, event, launch_replay, &r, &now);
		now /= EACH;
		*best = i == 0 || now < *best ? now : *best;
	}
	if (r.runs)
		cudaGraphExecDestroy(r.runs);
	return rc;
}

int cuda_time(void *stream, int (*enqueue)(void *user), void *user, double much, double *us)
{
	cudaEvent_t event[2] = { NULL, NULL };
	int rc = cuda_check(cudaEventCreate(&event[0]), "measuring");
	*us = 0;
	if (rc == 0)
		rc = cuda_check(cudaEventCreate(&event[1]), "measuring");
	if (rc == 0)
		rc = measure(stream, event, enqueue, user, much, us);
	for (int i = 0; i < 2; i++)
		if (event[i])
			cudaEventDestroy(event[i]);
	return rc;
}
