/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The runtime is part of the program and looks for the driver's library itself; where there is none
 * that takes a fraction of a millisecond. */
#include "backend/cuda/cuda_find.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "backend/cuda/cuda.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "cuda/probe.h"

static int explain_absence(cudaError_t status)
{
	int driver_version = 0, runtime = 0;
	cudaDriverGetVersion(&driver_version);
	cudaRuntimeGetVersion(&runtime);
	cudaGetLastError();
	if (driver_version == 0)
		return ERR(E_UNAVAILABLE, NULL, "device 'cuda': no NVIDIA driver is loaded on this "
		           "machine; use 'device: cpu', or 'auto' to take what is there");
	if (status == cudaErrorInsufficientDriver)
		return ERR(E_UNAVAILABLE, NULL, "device 'cuda': the NVIDIA driver is too old: it knows "
		           "CUDA up to %d.%d, this dlx was built with %d.%d; install a newer driver, or "
		           "build dlx with an older toolkit", driver_version / 1000,
		           driver_version % 100 / 10, runtime / 1000, runtime % 100 / 10);
	if (status == cudaErrorNoDevice)
		return ERR(E_UNAVAILABLE, NULL, "device 'cuda': the NVIDIA driver shows no GPU to this "
		           "process; look at nvidia-smi, CUDA_VISIBLE_DEVICES and what the job asked "
		           "for, or use 'device: cpu'");
	return cuda_check((int)status, "looking for a GPU");
}

int cuda_find(int *n)
{
	cudaError_t status = cudaGetDeviceCount(n);
	if (status == cudaSuccess && *n > 0)
		return 0;
	return explain_absence(status != cudaSuccess ? status : cudaErrorNoDevice);
}

void cuda_find_driver(char out[CUDA_DRIVER])
{
	static const char file[] = "/proc/driver/nvidia/version";
	struct buf text = BUF_INIT;
	int version = 0;
	const int mark = err_count();
	cudaDriverGetVersion(&version);
	if (io_exists(file))
		io_read_text(file, &text);
	err_truncate(mark);
	snprintf(out, CUDA_DRIVER, "%d %016" PRIx64, version, hash_bytes(text.data, text.len, 0));
	buf_release(&text);
}

/* "8.0, 9.0, 10.0". */
static void print_archs(struct buf *out)
{
	for (const char *at = k_probe_archs(); *at; at += *at == ',') {
		char *end;
		long arch = strtol(at, &end, 10);
		buf_printf(out, "%s%ld.%ld", out->len ? ", " : "", arch / 100, arch % 100 / 10);
		at = end + strcspn(end, ",");
	}
}

int cuda_find_code(const char *name, int arch)
{
	struct buf archs = BUF_INIT;
	int status = k_probe();
	if (status == cudaSuccess)
		return 0;
	cudaGetLastError();
	if (status != cudaErrorNoKernelImageForDevice && status != cudaErrorInvalidDeviceFunction &&
	    status != cudaErrorUnsupportedPtxVersion)
		return cuda_check(status, "loading the kernels");
	print_archs(&archs);
	int rc = ERR(E_UNAVAILABLE, NULL, "device 'cuda': this dlx has no code for '%s', whose compute "
	             "capability is %d.%d, but for %s%s; configure it with '--with-cuda-arch=%d'", name,
	             arch / 10, arch % 10, archs.data, status == cudaErrorUnsupportedPtxVersion ?
	             ", and the driver is older than the code from which it could make its own" : "",
	             arch);
	buf_release(&archs);
	return rc;
}
