/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An empty kernel for a query: the runtime returns an error if this program has neither code for
 * the current GPU nor PTX from which to compile it. */
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
