/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The GPU of emulate.h as such: how many a process sees, how much memory each has, and what may
 * be wrong with it. The environment says so:
 *
 *   DLX_EMULATE_GPUS=0,1      what this process sees, as CUDA_VISIBLE_DEVICES does ("0"; empty:
 *                             none)
 *   DLX_EMULATE_DRIVER=none   there is no driver; or the version it knows, 12020 for CUDA 12.2
 *   DLX_EMULATE_CODE=none     a GPU that the program has no code for
 *   DLX_EMULATE_ARCH=70       its compute capability in place of 90
 *   DLX_EMULATE_MEMORY=A[/B]  it has A bytes (K, M and G are understood; 4G), of which others left
 *                             B
 *   DLX_EMULATE_PINNED=A      the host gives A bytes of pinned memory and no more
 *   DLX_EMULATE_LATE=A        when a recording has run, libraries and others have A bytes more
 *   DLX_EMULATE_FAIL=N        kernels of the Nth run of a recording go wrong, which stays;
 *                             kernel:N: the Nth launch does
 *   DLX_EMULATE_COUNT=FILE    at the end of the process: bytes of device memory taken at most and
 *                             at last, of pinned host memory at most, allocations in device memory,
 *                             and those made after the second run of a recording */
#include "emulate.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace emulate {
namespace {

struct block {
	size_t bytes;
	memory kind;
};

struct account {
	std::mutex lock;
	std::map<void *, block> block_at;
	size_t now[2], most[2], allocations, late, replays, launches, fail_at, fail_launch;
	size_t total, left, pinned;      /* bytes; left: by others; pinned: of the host, at most */
};

size_t bytes_of(const char *text, const char **end)
{
	char *after;
	size_t n = strtoull(text, &after, 10);
	static const char units[] = "KMG";
	const char *unit = *after ? strchr(units, *after) : nullptr;
	*end = after + (unit != nullptr);
	return unit ? n << (10 * (unit - units + 1)) : n;
}

void write_counts();

account &the_account()
{
	static account *a;
	if (a)
		return *a;
	const char *memory = getenv("DLX_EMULATE_MEMORY"), *fail = getenv("DLX_EMULATE_FAIL"), *end,
	           *pinned = getenv("DLX_EMULATE_PINNED");
	a = new account{};
	a->total = bytes_of(memory ? memory : "4G", &end);
	a->left = *end == '/' ? bytes_of(end + 1, &end) : a->total;
	a->pinned = bytes_of(pinned ? pinned : "1024G", &end);
	if (fail && strncmp(fail, "kernel:", 7) == 0)
		a->fail_launch = strtoull(fail + 7, nullptr, 10);
	else if (fail)
		a->fail_at = strtoull(fail, nullptr, 10);
	if (getenv("DLX_EMULATE_COUNT"))
		atexit(write_counts);
	return *a;
}

void write_counts()
{
	const account &a = the_account();
	FILE *f = fopen(getenv("DLX_EMULATE_COUNT"), "w");
	if (!f)
		return;
	fprintf(f, "most %zu\nlast %zu\nhost %zu\nallocations %zu\nlate %zu\n", a.most[ON_DEVICE],
	        a.now[ON_DEVICE], a.most[ON_HOST], a.allocations, a.late);
	fclose(f);
}

std::vector<int> visible()
{
	const char *text = getenv("DLX_EMULATE_GPUS");
	std::vector<int> v;
	for (text = text ? text : "0"; *text; text += *text == ',') {
		v.push_back(atoi(text));
		text += strcspn(text, ",");
	}
	return v;
}

/* As CUDA counts: 12020 is 12.2; 0: there is none. */
int driver()
{
	const char *text = getenv("DLX_EMULATE_DRIVER");
	return text ? atoi(text) : CUDART_VERSION;
}

int current;

} /* namespace */

bool take(void *p, size_t n, memory kind)
{
	account &a = the_account();
	std::lock_guard<std::mutex> held(a.lock);
	const size_t most = kind == ON_DEVICE ? a.left : a.pinned;
	if (a.now[kind] > most || n > most - a.now[kind])
		return false;
	a.block_at[p] = { n, kind };
	a.now[kind] += n;
	if (a.now[kind] > a.most[kind])
		a.most[kind] = a.now[kind];
	a.allocations += kind == ON_DEVICE;
	a.late += kind == ON_DEVICE && a.replays >= 2;
	return true;
}

void give_back(void *p)
{
	account &a = the_account();
	std::lock_guard<std::mutex> held(a.lock);
	auto at = a.block_at.find(p);
	if (at == a.block_at.end())
		return;
	a.now[at->second.kind] -= at->second.bytes;
	a.block_at.erase(at);
}

bool is_in(const void *p, size_t n, memory kind)
{
	account &a = the_account();
	std::lock_guard<std::mutex> held(a.lock);
	auto at = a.block_at.upper_bound((void *)p);
	if (at == a.block_at.begin())
		return false;
	--at;
	return at->second.kind == kind &&
	       (const char *)p + n <= (const char *)at->first + at->second.bytes;
}

static thread_local cudaError_t pending;

cudaError_t fail(cudaError_t e)
{
	return pending = e;
}

void count_replay()
{
	account &a = the_account();
	std::lock_guard<std::mutex> held(a.lock);
	a.replays++;
}

void count_launch()
{
	account &a = the_account();
	std::lock_guard<std::mutex> held(a.lock);
	a.launches++;
}

cudaError_t broken()
{
	account &a = the_account();
	std::lock_guard<std::mutex> held(a.lock);
	bool wrong = (a.fail_at && a.replays >= a.fail_at) ||
	             (a.fail_launch && a.launches >= a.fail_launch);
	return wrong ? cudaErrorIllegalAddress : cudaSuccess;
}

} /* namespace emulate */

using namespace emulate;

extern "C" {

int emulate_gpu(void)
{
	return visible()[(size_t)current];
}

cudaError_t cudaGetDeviceCount(int *n)
{
	*n = 0;
	if (driver() < CUDART_VERSION / 1000 * 1000)
		return cudaErrorInsufficientDriver;
	*n = (int)visible().size();
	return *n ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int ordinal)
{
	if (ordinal < 0 || (size_t)ordinal >= visible().size())
		return cudaErrorInvalidDevice;
	current = ordinal;
	return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *v)
{
	*v = driver();
	return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *v)
{
	*v = CUDART_VERSION;
	return cudaSuccess;
}
cudaError_t cudaGetLastError(void)
{
	cudaError_t e = pending;
	pending = cudaSuccess;
	return broken() ? broken() : e;
}
const char *cudaGetErrorString(cudaError_t e)
{
	switch (e) {
	case cudaErrorInvalidConfiguration: return "invalid configuration argument";
	case cudaErrorInvalidValue: return "invalid argument";
	case cudaErrorNotReady: return "device not ready";
	case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
	case cudaErrorMemoryAllocation: return "out of memory";
	case cudaErrorStreamCaptureUnsupported:
		return "operation not permitted when stream is capturing";
	case cudaErrorStreamCaptureInvalidated:
		return "operation failed due to a previous error during capture";
	case cudaErrorStreamCaptureIsolation:
		return "dependency created on uncaptured work in another stream";
	case cudaErrorCapturedEvent:
		return "operation not permitted on an event last recorded in a capturing stream";
	case cudaErrorNoKernelImageForDevice:
		return "no kernel image is available for execution on the device";
	default: return "an error of the emulation";
	}
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int ordinal)
{
	memset(p, 0, sizeof *p);
	const char *name = getenv("DLX_EMULATE_NAME");
	snprintf(p->name, sizeof p->name, "%s", name ? name : "emulated GPU");
	snprintf(p->uuid.bytes, sizeof p->uuid.bytes, "gpu %d", visible()[(size_t)ordinal]);
	p->totalGlobalMem = the_account().total;
	const char *arch = getenv("DLX_EMULATE_ARCH");
	p->major = arch ? atoi(arch) / 10 : 9;
	p->minor = arch ? atoi(arch) % 10 : 0;
	p->multiProcessorCount = 4;
	return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
	account &a = the_account();
	{
		std::lock_guard<std::mutex> held(a.lock);
		const char *late = getenv("DLX_EMULATE_LATE"), *end;
		*left = a.left - a.now[ON_DEVICE] - (late && a.replays ? bytes_of(late, &end) : 0);
		*total = a.total;
	}
	return broken();
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *)
{
	const char *code = getenv("DLX_EMULATE_CODE");
	memset(out, 0, sizeof *out);
	return code && strcmp(code, "none") == 0 ? cudaErrorNoKernelImageForDevice : cudaSuccess;
}

} /* extern "C" */
