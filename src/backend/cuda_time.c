/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between two events on the stream, so that the time of launching is not counted where kernels follow each other. */
#include "backend/cuda_time.h"

#include <cuda_runtime_api.h>

#include "backend/cuda.h"
#include "base/err.h"

#define TRIALS 3
#define EACH 3                /* runs of a trial */

int cuda_scratch(void **out, size_t bytes)
{
	*out = NULL;
	return cuda_check(cudaMalloc(out, bytes ? bytes : 1), "memory to measure with");
}

void cuda_scratch_free(void *p)
{
	cudaFree(p);
}

static int trial(cudaStream_t stream, const cudaEvent_t *event, int (*enqueue)(void *user), void *user, double *us)
{
	float ms = 0;
	TRY(cuda_check(cudaEventRecord(event[0], stream), "measuring"));
	for (int i = 0; i < EACH; i++)
		TRY(enqueue(user));
	TRY(cuda_check(cudaEventRecord(event[1], stream), "measuring"));
	TRY(cuda_check(cudaEventSynchronize(event[1]), "measuring"));
	TRY(cuda_check(cudaEventElapsedTime(&ms, event[0], event[1]), "measuring"));
	*us = (double)ms * 1000 / EACH;
	return 0;
}

int cuda_time(void *stream, int (*enqueue)(void *user), void *user, double *us)
{
	cudaEvent_t event[2] = { NULL, NULL };
	double best = 0, now = 0;
	int rc = cuda_check(cudaEventCreate(&event[0]), "measuring");
	if (rc == 0)
		rc = cuda_check(cudaEventCreate(&event[1]), "measuring");
	if (rc == 0)
		rc = enqueue(user);
	for (int i = 0; i < TRIALS && rc == 0; i++) {
		rc = trial(stream, event, enqueue, user, &now);
		best = i == 0 || now < best ? now : best;
	}
	for (int i = 0; i < 2; i++)
		if (event[i])
			cudaEventDestroy(event[i]);
	*us = best;
	return rc;
}
