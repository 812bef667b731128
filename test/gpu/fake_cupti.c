/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands in for CUPTI and for the few functions of the driver that injected.c calls: when all is to
 * be handed over, it does so with the records of three replays of a graph of three kernels and a
 * copy, of one smaller graph, and of kernels outside any. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>
#if defined(__has_include) && __has_include(<cupti.h>)
#include <cupti.h>

static CUpti_BuffersCallbackRequestFunc wanted;
static CUpti_BuffersCallbackCompleteFunc filled;
static int kinds;

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc w,
                                           CUpti_BuffersCallbackCompleteFunc f)
{
	wanted = w;
	filled = f;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	(void)kind;
	kinds++;
	return wanted ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

static size_t size_of(const CUpti_Activity *r)
{
	return r->kind == CUPTI_ACTIVITY_KIND_MEMCPY ? sizeof(CUpti_ActivityMemcpy5) :
	       sizeof(CUpti_ActivityKernel9);
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + size_of(*record) : buffer;
	if (next >= buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

static uint8_t *kernel(uint8_t *at, unsigned graph, unsigned launch, uint64_t start, uint64_t end)
{
	CUpti_ActivityKernel9 k = { .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, .start = start,
		.end = end,
		.correlationId = launch, .graphId = graph };
	memcpy(at, &k, sizeof k);
	return at + sizeof k;
}

static uint8_t *copy(uint8_t *at, unsigned graph, unsigned launch, uint64_t start, uint64_t end)
{
	CUpti_ActivityMemcpy5 c = { .kind = CUPTI_ACTIVITY_KIND_MEMCPY, .start = start, .end = end,
		.correlationId = launch,
		.graphId = graph };
	memcpy(at, &c, sizeof c);
	return at + sizeof c;
}

/* A replay takes 1000 + 100 i ns, of which nothing runs in 100. */
CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	uint8_t *buffer = NULL, *at;
	size_t bytes = 0, records = 0;
	(void)flag;
	if (kinds != 3)
		return CUPTI_ERROR_INVALID_OPERATION;
	wanted(&buffer, &bytes, &records);
	at = buffer;
	for (unsigned i = 0; i < 3; i++) {
		uint64_t t = 5000 * (3 - i), more = 100 * i;
		at = kernel(at, 7, 30 + i, t + 500, t + 1000 + more);
		at = kernel(at, 0, 60 + i, t, t + 4000);
		at = kernel(at, 7, 30 + i, t, t + 300);
		at = kernel(at, 7, 30 + i, t + 200, t + 400);
		at = copy(at, 7, 30 + i, t + 250, t + 350);
		at = kernel(at, 8, 90 + i, t, t + 9000);
	}
	filled(NULL, 0, buffer, bytes, (size_t)(at - buffer));
	return CUPTI_SUCCESS;
}
#endif

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice device)
{
	*c = NULL;
	return device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext c)
{
	(void)c;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	*module = NULL;
	return strstr(image, "trap;") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	(void)module;
	*f = NULL;
	return strcmp(name, "wild") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream,
                        void **parameters, void **extra)
{
	(void)f, (void)shared, (void)stream, (void)parameters, (void)extra;
	printf("launched %u\n", gx * gy * gz * bx * by * bz);
	fflush(stdout);
	return CUDA_SUCCESS;
}
