/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stand-in for NVIDIA's driver, as libcuda.so.1 on LD_LIBRARY_PATH, with which the real cuDNN
 * plans for a GPU that is only described (--gpu) as it does where there is one: without a driver it
 * proposes no engines that are compiled at run time. With this one it compiles them by NVRTC, so
 * that --plan shows what will run, and --wisdom keeps what was compiled for a machine with such a
 * GPU. Nothing can run here: the driver has no GPU, loads any code, and refuses all that planning
 * does not need.
 *
 * cuDNN 9.19 looks for the names below by dlsym, and the runtime in it for all others by
 * cuGetProcAddress. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include <cuda.h>

#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuGetProcAddress
#undef cuLinkAddData
#undef cuLinkCreate
#undef cuStreamGetCtx

#define DRIVER 13000      /* CUDA 13.0, as gpu_model_json describes it */

CUresult CUDAAPI cuInit(unsigned flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
	*version = DRIVER;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *n)
{
	*n = 0;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
	static char words[64];
	snprintf(words, sizeof words, "error %d of a stand-in for the driver", (int)error);
	*text = words;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **text)
{
	return cuGetErrorString(error, text);
}

/* Private tables, which a runtime does without. */
CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *id)
{
	(void)id;
	*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

/* --- code, whatever it is --- */

static char library, kernel;

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *option,
                                   void **value, unsigned n, CUlibraryOption *more, void **values,
                                   unsigned m)
{
	(void)option;
	(void)value;
	(void)n;
	(void)more;
	(void)values;
	(void)m;
	*out = (CUlibrary)(void *)&library;
	return code ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary l)
{
	return (void *)l == (void *)&library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *out, CUlibrary l, const char *name)
{
	*out = (CUkernel)(void *)&kernel;
	return name && (void *)l == (void *)&library ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute what, int value, CUkernel k, CUdevice d)
{
	(void)what;
	(void)value;
	(void)k;
	(void)d;
	return CUDA_SUCCESS;
}

/* --- what planning does not need --- */

static CUresult refused(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

#define REFUSED(name)                                                                       \
	CUresult name##_refused(void) __asm__(#name);                                           \
	CUresult name##_refused(void)                                                           \
	{                                                                                       \
		return refused();                                                                   \
	}
REFUSED(cuCtxGetCurrent)
REFUSED(cuCtxGetLimit)
REFUSED(cuCtxPopCurrent)
REFUSED(cuCtxPushCurrent)
REFUSED(cuDeviceGet)
REFUSED(cuKernelGetAttribute)
REFUSED(cuLaunchCooperativeKernel)
REFUSED(cuLaunchKernel)
REFUSED(cuLaunchKernelEx)
REFUSED(cuLibraryLoadFromFile)
REFUSED(cuLinkAddData)
REFUSED(cuLinkComplete)
REFUSED(cuLinkCreate)
REFUSED(cuLinkDestroy)
REFUSED(cuOccupancyMaxPotentialClusterSize)
REFUSED(cuStreamGetCtx)

CUresult CUDAAPI cuGetProcAddress_v2(const char *name, void **out, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *found)
{
	Dl_info self;
	void *own = dladdr((void *)&library, &self) ? dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD) :
	            NULL;
	(void)version;
	(void)flags;
	*out = own ? dlsym(own, name) : NULL;
	if (!*out)
		*out = (void *)refused;
	if (found)
		*found = CU_GET_PROC_ADDRESS_SUCCESS;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(name, out, version, flags, NULL);
}
