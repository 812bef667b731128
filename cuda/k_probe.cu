/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An empty kernel to ask for: the runtime answers with an error if it finds no code for the current
 * GPU, nor PTX to make it from. */
#include "cuda/device.cuh"                /* kept: the words of CUDA, for the emulation */
#include "cuda/probe.h"

#define TEXT_(...) #__VA_ARGS__
#define TEXT(...) TEXT_(__VA_ARGS__)

static __global__ void probe()
{
	BEGIN_KERNEL();
}

int k_probe(void)
{
	struct cudaFuncAttributes a;
	return cudaFuncGetAttributes(&a, (const void *)probe);
}

const char *k_probe_archs(void)
{
#ifdef __CUDA_ARCH_LIST__
	return TEXT(__CUDA_ARCH_LIST__);
#else
	return "900";
#endif
}
