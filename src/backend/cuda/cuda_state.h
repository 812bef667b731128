/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of the CUDA device, for the files of its driver: cuda.c has memory, copies and graph
 * capture, cuda_wait.c the host's waits. */
#ifndef DLX_BACKEND_CUDA_CUDA_STATE_H
#define DLX_BACKEND_CUDA_CUDA_STATE_H

#include <cuda_runtime_api.h>

#include "backend/cuda/cuda.h"
#include "backend/cuda/cuda_described.h"

#define CUDA_POLLS 160           /* two for each program of a run whose samples are cut */

struct watched;

struct cuda {
	int ordinal;
	struct cudaDeviceProp properties;
	cudaStream_t stream;         /* the compute stream */
	cudaStream_t now;            /* the stream that kernels are enqueued on: `stream` or the second
	                              * one */
	struct cuda_second *second;
	cudaEvent_t begin;           /* recorded at the beginning of the captured step */
	bool capturing;
	struct {
		int (*ask)(void *argument);
		void *argument;
	} poll[CUDA_POLLS];
	int polls;
	void *landing;
	struct kept *kept;
	struct watched *watched;
	struct cudnn *cudnn;
	void *cublas;
	struct cuda_prefetch *prefetched;
	struct cuda_copies *copies;
	struct gpu_model model;      /* the model, for a described GPU; key NULL: the GPU is present */
};

static inline struct cuda *cuda_of(const struct device *d)
{
	return d->state;
}

/* Functions of struct device_driver (backend/device.h). */
int cuda_finish(const struct device *d);
bool cuda_failed(const struct device *d);
int cuda_event_record(const struct device *d, void **event);
int cuda_event_wait(const struct device *d, void *event);
void cuda_event_free(const struct device *d, void *event);
/* Drains the compute stream and polls the registered watchers
 * meanwhile. Does not look at records of invalid data. */
int cuda_wait(const struct device *d);
/* Like cuda_wait, but only until an event of any stream is reached. */
int cuda_wait_event(const struct device *d, void *event);

#endif
