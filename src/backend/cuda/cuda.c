/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA device: memory, copies, one stream, and a step captured as a CUDA graph. The runtime is
 * linked statically and looks for the driver itself, so the same program starts where there is
 * none.
 *
 * Kernels are asynchronous. A failure on the GPU is reported by the next call that waits, and is
 * permanent: the context is lost. So it is reported once, with the operation at that time, and the
 * run ends. */
#include "backend/cuda/cuda.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "backend/cuda/cublas.h"
#include "backend/cuda/cuda_copies.h"
#include "backend/cuda/cuda_prefetch.h"
#include "backend/cuda/cuda_described.h"
#include "backend/cuda/cuda_find.h"
#include "backend/cuda/cuda_second.h"
#include "backend/cuda/cuda_state.h"
#include "backend/cuda/cudnn.h"
#include "backend/cuda/cupti.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "cuda/kernels.h"

_Static_assert((int)DTYPE_F32 == K_TYPE_F32 && (int)DTYPE_F64 == K_TYPE_F64 &&
               (int)DTYPE_F16 == K_TYPE_F16 && (int)DTYPE_BF16 == K_TYPE_BF16 &&
               (int)DTYPE_I8 == K_TYPE_I8 && (int)DTYPE_U8 == K_TYPE_U8 &&
               (int)DTYPE_I16 == K_TYPE_I16 && (int)DTYPE_U16 == K_TYPE_U16 &&
               (int)DTYPE_I32 == K_TYPE_I32 && (int)DTYPE_I64 == K_TYPE_I64,
               "cuda/kernels.h numbers types otherwise");

#define KEPT_BLOCK (1 << 20)
#define LANDING 4096           /* bytes of pinned memory for small copies */

/* Small tables that plans keep on the device. */
struct kept {
	struct kept *next;
	char *memory;
	size_t used, size;
};

void *cuda_stream(const struct device *d)
{
	return cuda_of(d)->now;
}

int cuda_multiprocessors(const struct device *d)
{
	return cuda_of(d)->properties.multiProcessorCount;
}

/* Compute capability: 90 for 9.0. */
static int arch_of(const struct device *d)
{
	return cuda_of(d)->properties.major * 10 + cuda_of(d)->properties.minor;
}

struct cuda_prefetch **cuda_prefetch_of(const struct device *d)
{
	return &cuda_of(d)->prefetched;
}

size_t cuda_memory(const struct device *d)
{
	return cuda_of(d)->properties.totalGlobalMem;
}

void cuda_identity(const struct device *d, char out[16])
{
	memcpy(out, cuda_of(d)->properties.uuid.bytes, 16);
}

int cuda_ordinal(const struct device *d)
{
	return cuda_of(d)->ordinal;
}

int cuda_bind_thread(int ordinal)
{
	return cuda_check(cudaSetDevice(ordinal), "choosing the GPU");
}

void *cuda_begin(const struct device *d)
{
	return cuda_of(d)->capturing ? cuda_of(d)->begin : NULL;
}

int cuda_check(int status, const char *what)
{
	if (status == cudaSuccess)
		return 0;
	/* clears the error, which the next call would report again (unless it is permanent) */
	cudaGetLastError();
	return ERR(status == cudaErrorMemoryAllocation ? E_NOMEM : E_UNAVAILABLE, NULL, "CUDA: %s: %s",
	           what, cudaGetErrorString((cudaError_t)status));
}

int cuda_launched(const struct kplan *k, int status)
{
	if (status == cudaSuccess)
		return 0;
	return ERR(E_UNAVAILABLE, &k->n->loc, "CUDA: kernel of '%s' (%s): %s", k->n->name,
	           k->n->op->name, cudaGetErrorString((cudaError_t)status));
}

/* --- memory --- */

/* Zero for other streams too, which do not wait for this one. */
static void *alloc(const struct device *d, size_t bytes)
{
	void *p = NULL;
	if (cudaMalloc(&p, bytes ? bytes : 1) != cudaSuccess ||
	    cudaMemsetAsync(p, 0, bytes, cuda_of(d)->stream) != cudaSuccess ||
	    cudaStreamSynchronize(cuda_of(d)->stream) != cudaSuccess) {
		cudaGetLastError();
		cudaFree(p);
		return NULL;
	}
	return p;
}

static void release(const struct device *d, void *p, size_t bytes)
{
	(void)bytes;
	cudaStreamSynchronize(cuda_of(d)->stream);
	cudaFree(p);
}

/* Reserved for what libraries allocate after planning: cuDNN and cuBLAS load the code of a kernel
 * when it first runs, and the captured step has memory of its own. On an H100 (CUDA 13.0, cuDNN
 * 9.19) that was 15 to 23 MB in steps of six networks on one GPU; what NCCL takes with other GPUs
 * is not known yet. Each run compares this with what was taken (train/diagnose/account.h). */
#define ASIDE ((int64_t)256 << 20)

static int get_memory(const struct device *d, struct device_memory_info *out)
{
	size_t left = 0, total = 0;
	TRY(cuda_check(cudaMemGetInfo(&left, &total), "asking for the GPU's memory"));
	*out = (struct device_memory_info){ (int64_t)left, (int64_t)total, ASIDE };
	return 0;
}

static void *alloc_host(const struct device *d, size_t bytes)
{
	void *p = NULL;
	(void)d;
	if (cudaHostAlloc(&p, bytes ? bytes : 1, cudaHostAllocDefault) != cudaSuccess) {
		cudaGetLastError();
		return NULL;
	}
	return p;
}

static void free_host(const struct device *d, void *p, size_t bytes)
{
	(void)bytes;
	cuda_prefetch_rest(cuda_of(d)->prefetched);
	cudaStreamSynchronize(cuda_of(d)->stream);
	cudaFreeHost(p);
}

static int put_later(const struct device *d, void *to, const void *host, size_t bytes)
{
	return cuda_check(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, cuda_of(d)->stream),
	                  "copying to the GPU");
}

/* A copy from pageable memory blocks inside the runtime, where the functions of cuda_poll are not
 * called. So small copies use pinned memory, and before larger ones the host waits for the stream
 * with cuda_wait. */
static int put(const struct device *d, void *to, const void *host, size_t bytes)
{
	struct cuda *c = cuda_of(d);
	TRY(cuda_wait(d));
	if (bytes <= LANDING)
		host = memcpy(c->landing, host, bytes);
	TRY(put_later(d, to, host, bytes));
	return cuda_finish(d);
}

static int get_later(const struct device *d, void *host, const void *from, size_t bytes)
{
	return cuda_check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost,
	                                  cuda_of(d)->stream), "copying from the GPU");
}

static int get(const struct device *d, void *host, const void *from, size_t bytes)
{
	void *to = bytes <= LANDING ? cuda_of(d)->landing : host;
	if (to == host)
		TRY(cuda_finish(d));
	TRY(get_later(d, to, from, bytes));
	TRY(cuda_finish(d));
	if (to != host)
		memcpy(host, to, bytes);
	return 0;
}

int cuda_keep(struct kplan *k, const void *host, size_t bytes, void **out)
{
	struct cuda *c = cuda_of(k->dev);
	size_t need = (bytes + 255) / 256 * 256;
	struct kept *b = c->kept;
	if (!b || b->size - b->used < need) {
		b = mem_calloc(1, sizeof *b);
		b->size = need > KEPT_BLOCK ? need : KEPT_BLOCK;
		b->memory = device_alloc(k->dev, b->size);
		if (!b->memory) {
			mem_free(b);
			return ERR(E_NOMEM, &k->n->loc, "the GPU has no memory for the tables of '%s'",
			           k->n->name);
		}
		b->next = c->kept;
		c->kept = b;
	}
	*out = b->memory + b->used;
	b->used += need;
	return device_put(k->dev, *out, host, bytes);
}

int cuda_move(const struct device *d, void *to, const void *from, size_t bytes)
{
	return cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cuda_stream(d)),
	                  "copying on the GPU");
}

int cuda_clear(const struct device *d, void *p, size_t bytes)
{
	return cuda_check(cudaMemsetAsync(p, 0, bytes, cuda_stream(d)), "clearing memory of the GPU");
}

/* --- the step as one graph --- */

static int capture_begin(const struct device *d)
{
	/* Thread-local: threads that decode data may use the runtime meanwhile. */
	struct cuda *c = cuda_of(d);
	TRY(cuda_check(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal),
	               "recording the step"));
	c->capturing = true;
	return cuda_check(cudaEventRecord(c->begin, c->stream), "recording the step");
}

static int capture_end(const struct device *d, void **out)
{
	cudaGraph_t graph = NULL;
	cudaGraphExec_t exec = NULL;
	*out = NULL;
	cuda_of(d)->capturing = false;
	TRY(cuda_check(cudaStreamEndCapture(cuda_of(d)->stream, &graph), "recording the step"));
	/* each kernel with the priority of the stream that it was captured from */
	int rc = cuda_check(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagUseNodePriority),
	                    "preparing the captured step");
	cudaGraphDestroy(graph);
	*out = exec;
	return rc;
}

static int graph_launch(const struct device *d, void *captured)
{
	return cuda_check(cudaGraphLaunch(captured, cuda_of(d)->stream), "running the step");
}

static void graph_destroy(const struct device *d, void *captured)
{
	cudaStreamSynchronize(cuda_of(d)->stream);
	cudaGraphExecDestroy(captured);
}

/* --- opening and closing --- */

static void planned(const struct device *d)
{
	if (cuda_of(d)->cudnn)
		cudnn_trim(cuda_of(d)->cudnn);
}

static void close_device(struct device *d)
{
	struct cuda *c = cuda_of(d);
	cuda_prefetch_close(c->prefetched);
	cuda_copies_close(c->copies);
	cuda_second_close(c->second);
	cudnn_close(c->cudnn);
	cublas_close(c->cublas);
	while (c->kept) {
		struct kept *next = c->kept->next;
		device_free(d, c->kept->memory, c->kept->size);
		mem_free(c->kept);
		c->kept = next;
	}
	if (c->landing)
		cudaFreeHost(c->landing);
	if (c->begin)
		cudaEventDestroy(c->begin);
	if (c->stream)
		cudaStreamDestroy(c->stream);
	mem_free(c);
}

static const struct device_driver driver = {
	.alloc = alloc, .free = release, .alloc_host = alloc_host, .free_host = free_host,
	.memory_info = get_memory, .failed = cuda_failed, .put_later = put_later, .put = put,
	.get = get, .finish = cuda_finish,
	.get_later = get_later, .event_record = cuda_event_record, .event_wait = cuda_event_wait,
	.event_free = cuda_event_free,
	.prefetch_ready = cuda_prefetch_ready, .prefetch_put = cuda_prefetch_put,
	.prefetch_await = cuda_prefetch_await, .prefetch_copy = cuda_prefetch_copy,
	.prefetch_taken = cuda_prefetch_taken, .copy_beside = cuda_copy_beside,
	.copy_fence = cuda_copy_fence, .copy_wait = cuda_copy_wait,
	.second_begin = cuda_second_begin, .second_end = cuda_second_end,
	.second_await = cuda_second_await,
	.capture_begin = capture_begin, .capture_end = capture_end, .graph_launch = graph_launch,
	.graph_destroy = graph_destroy, .watch_begin = cupti_begin, .watch_node = cupti_node,
	.watch_end = cupti_end, .planned = planned, .close = close_device,
	.measure_peak = cuda_measure_peak, .measure_bandwidth = cuda_measure_bandwidth,
};

static bool has_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (driver)
		dlclose(driver);
	return driver != NULL;
}

/* cuDNN plans for a GPU from its description; without the
 * library, or with an old one, engines are not known. */
static void open_imagined(struct cuda *c, const char *name)
{
	char json[1200];
	int mark = err_count();
	gpu_model_json(&c->model, json, sizeof json);
	if (cudnn_open_described(&c->cudnn, json, name) < 0)
		cudnn_open_absent(&c->cudnn);
	else if (debug.engines && strcmp(debug.engines, "precompiled") != 0 && !has_driver())
		warn("without a driver cuDNN proposes no engines that it would compile; "
		     "LD_LIBRARY_PATH may name dlx's stand-in, test/gpu/driver");
	cudnn_leave_unknown(c->cudnn);
	err_truncate(mark);
}

void cuda_kind(const struct device *d, char out[CUDA_KIND])
{
	snprintf(out, CUDA_KIND, "%.60s sm_%d", cuda_of(d)->properties.name, arch_of(d));
}

int cuda_cudnn(const struct device *d, struct cudnn **out)
{
	struct cuda *c = cuda_of(d);
	char name[CUDA_KIND];
	cuda_kind(d, name);
	if (!c->cudnn && c->model.key)
		open_imagined(c, name);
	if (!c->cudnn)
		TRY(cudnn_open(&c->cudnn, c->stream, name));
	*out = c->cudnn;
	return 0;
}

int cuda_cublas(const struct device *d, void **handle)
{
	struct cuda *c = cuda_of(d);
	if (!c->cublas)
		TRY(cublas_open(&c->cublas));
	*handle = c->cublas;
	return 0;
}

static void describe(struct device *d)
{
	const struct cudaDeviceProp *p = &cuda_of(d)->properties;
	snprintf(d->description, sizeof d->description, "%.100s, %.0f GiB, compute capability %d.%d",
	         p->name, (double)p->totalGlobalMem / (1 << 30), p->major, p->minor);
	d->arch = arch_of(d);
	d->model = d->imagined ? &cuda_of(d)->model : gpu_model_find(p->name);
}

static void describe_driver(struct device *d)
{
	char kind[CUDA_KIND], driver[CUDA_DRIVER];
	cuda_kind(d, kind);
	cuda_find_driver(driver);
	snprintf(d->processor, sizeof d->processor, "%s, driver %s", kind, driver);
}

/* --- a GPU that is not there --- */

static void *imagined_alloc(const struct device *d, size_t bytes)
{
	(void)d;
	return mem_map(bytes ? bytes : 1);
}

static void imagined_free(const struct device *d, void *p, size_t bytes)
{
	(void)d;
	mem_unmap(p, bytes ? bytes : 1);
}

static int imagined_put(const struct device *d, void *to, const void *host, size_t bytes)
{
	(void)d;
	memcpy(to, host, bytes);
	return 0;
}

static int imagined_finish(const struct device *d)
{
	(void)d;
	return 0;
}

static int imagined_memory(const struct device *d, struct device_memory_info *out)
{
	const struct gpu_model *m = &cuda_of(d)->model;
	*out = (struct device_memory_info){ m->bytes, m->bytes, ASIDE };
	return 0;
}

static double imagined_peak(const struct device *d, enum dtype type, bool tf32)
{
	return gpu_model_peak(&cuda_of(d)->model, type, tf32);
}

static double imagined_bandwidth(const struct device *d)
{
	return cuda_of(d)->model.bandwidth;
}

/* Tables that plans keep are in the host's memory; nothing runs. */
static const struct device_driver imagined = {
	.alloc = imagined_alloc, .free = imagined_free, .alloc_host = imagined_alloc,
	.free_host = imagined_free,
	.memory_info = imagined_memory, .put_later = imagined_put, .put = imagined_put,
	.get = imagined_put, .finish = imagined_finish,
	.close = close_device, .measure_peak = imagined_peak, .measure_bandwidth = imagined_bandwidth,
};

int cuda_describe(struct device *d, const char *gpu)
{
	struct cuda *c = mem_calloc(1, sizeof *c);
	int rc = gpu_model_parse(&c->model, gpu);
	if (rc < 0) {
		mem_free(c);
		return rc;
	}
	c->properties.major = c->model.arch / 10;
	c->properties.minor = c->model.arch % 10;
	c->properties.multiProcessorCount = c->model.multiprocessors;
	c->properties.totalGlobalMem = (size_t)c->model.bytes;
	snprintf(c->properties.name, sizeof c->properties.name, "%s", c->model.name);
	d->state = c;
	d->driver = &imagined;
	d->imagined = true;
	describe(d);
	return 0;
}

/* --- a GPU that is there --- */

/* The compute stream has priority over the second stream, and the stream of sums over ranks has
 * priority over both. */
static int start(struct cuda *c)
{
	int least, greatest;
	TRY(cuda_bind_thread(c->ordinal));
	TRY(cuda_check(cudaGetDeviceProperties(&c->properties, c->ordinal),
	               "asking for the GPU's properties"));
	TRY(cuda_find_code(c->properties.name, c->properties.major * 10 + c->properties.minor));
	TRY(cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities"));
	TRY(cuda_check(cudaStreamCreateWithPriority(&c->stream, cudaStreamNonBlocking,
	                                            greatest < least ? least - 1 : least),
	               "making a stream"));
	c->now = c->stream;
	TRY(cuda_copies_open(&c->copies));
	TRY(cuda_check(cudaHostAlloc(&c->landing, LANDING, cudaHostAllocDefault), "pinned memory"));
	return cuda_check(cudaEventCreateWithFlags(&c->begin, cudaEventDisableTiming),
	                  "making an event");
}

int cuda_open(struct device *d, int local_rank)
{
	int n = 0;
	TRY(cuda_find(&n));
	struct cuda *c = mem_calloc(1, sizeof *c);
	c->ordinal = local_rank % n;
	d->state = c;
	int rc = start(c);
	if (rc == 0) {
		const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
		d->driver = &driver;
		d->each = blocking && strcmp(blocking, "1") == 0;
		describe(d);
		describe_driver(d);
	} else {
		mem_free(c);
		d->state = NULL;
	}
	return rc;
}
