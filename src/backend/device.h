/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that holds tensors and runs kernels: the CPU (oneDNN, OpenMP), a CUDA GPU, or the
 * reference (plain C in float64, which defines the result of every op). On the reference device,
 * and on a CPU that computes in float64, every float tensor is F64. */
#ifndef DLX_BACKEND_DEVICE_H
#define DLX_BACKEND_DEVICE_H

#include "backend/replay.h"
#include "graph/op.h"

struct device;

/* State of a device's own memory, in bytes. */
struct device_memory_info {
	int64_t free, total;                     /* free: not used by any process now; total:
	                                          * installed */
	int64_t reserve;                         /* part of `free` to leave for libraries, which
	                                          * allocate later, in a run of one rank; more with NCCL
	                                          * (plan/memory/memory_budget.c) */
};

/* The functions of a device with its own memory. They act on its state and memory and do not change
 * struct device. Copies and events are ordered after the kernels enqueued before them. Error
 * messages include the driver's reason. */
struct device_driver {
	void *(*alloc)(const struct device *d, size_t bytes);      /* zeroed; NULL if refused */
	void (*free)(const struct device *d, void *p, size_t bytes);
	/* pinned host memory, from which the device copies asynchronously */
	void *(*alloc_host)(const struct device *d, size_t bytes);
	void (*free_host)(const struct device *d, void *p, size_t bytes);
	int (*memory_info)(const struct device *d, struct device_memory_info *out);
	bool (*failed)(const struct device *d);            /* a kernel has failed, and the device is
	                                                    * unusable */
	/* Copies from alloc_host memory, which must not change
	 * until a later event, a get or a finish. */
	int (*put_later)(const struct device *d, void *to, const void *host, size_t bytes);
	/* copies to the device; `host` may be reused when it returns */
	int (*put)(const struct device *d, void *to, const void *host, size_t bytes);
	/* copies to the host; waits for the kernels that compute the data */
	int (*get)(const struct device *d, void *host, const void *from, size_t bytes);
	/* Copies to alloc_host memory; complete once an event recorded after this call is reached. */
	int (*get_later)(const struct device *d, void *host, const void *from, size_t bytes);
	/* Events. *event: NULL, or an older one, which is recorded anew. */
	int (*event_record)(const struct device *d, void **event);
	/* waits until the work enqueued before the event is done; errors as in finish */
	int (*event_wait)(const struct device *d, void *event);
	void (*event_free)(const struct device *d, void *event);   /* waits for all */
	/* Copies of the next inputs, concurrent with kernels. prefetch_put copies from alloc_host
	 * memory; the copy begins when all work enqueued before the latest prefetch_taken is done. Work
	 * enqueued after prefetch_await waits for all copies so far. prefetch_copy enqueues such work:
	 * a copy within the device's memory. prefetch_ready waits until the host memory may be
	 * overwritten. */
	int (*prefetch_ready)(const struct device *d);
	int (*prefetch_put)(const struct device *d, void *to, const void *host, size_t bytes);
	int (*prefetch_await)(const struct device *d);
	int (*prefetch_copy)(const struct device *d, void *to, const void *from, size_t bytes);
	int (*prefetch_taken)(const struct device *d);
	/* Copies of values before kernels overwrite them, concurrent with other kernels. copy_beside
	 * copies to alloc_host memory, after the kernels enqueued before. copy_fence: kernels enqueued
	 * after it wait for the copies so far; a captured graph waits at each launch for the copies
	 * made before that launch. copy_wait: the host waits for the copies; any thread. */
	int (*copy_beside)(const struct device *d, void *host, const void *from, size_t bytes);
	int (*copy_fence)(const struct device *d);
	int (*copy_wait)(const struct device *d);
	/* A second stream of kernels. Kernels enqueued between second_begin and second_end run on it,
	 * after all kernels enqueued before. second_end records event number `at` (0 to a few hundred;
	 * an earlier record is replaced) at the current end of that stream; it must also be called if a
	 * kernel in between has failed. Kernels enqueued after second_await wait for event `at`. Every
	 * step, captured or not, ends with a wait for the last event. */
	int (*second_begin)(const struct device *d);
	int (*second_end)(const struct device *d, int at);
	int (*second_await)(const struct device *d, int at);
	/* waits for all work of the device; errors of kernels are reported here at the latest */
	int (*finish)(const struct device *d);
	/* Graph capture: kernels captured once and launched as one graph. */
	int (*capture_begin)(const struct device *d);
	int (*capture_end)(const struct device *d, void **out);
	int (*graph_launch)(const struct device *d, void *graph);
	void (*graph_destroy)(const struct device *d, void *graph);
	/* A profiler. Between watch_begin and watch_end it records the kernels of graphs that are
	 * captured and launched; watch_node sets the node that kernels captured from now on belong to.
	 * watch_begin: E_UNAVAILABLE with the reason if no profiler can be used. watch_end fills *out
	 * (freed by replay_release), or zeroes it if watch_begin failed or no kernel was recorded.
	 * NULL: the device has no profiler. */
	int (*watch_begin)(const struct device *d);
	void (*watch_node)(const struct device *d, nid n);
	void (*watch_end)(const struct device *d, struct replay *out);
	/* flop/s; 0 if that fails */
	double (*measure_peak)(const struct device *d, enum dtype type, bool tf32);
	/* bytes/s; 0 if that fails */
	double (*measure_bandwidth)(const struct device *d);
	void (*planned)(const struct device *d);           /* called when planning is done: frees
	                                                    * rejected candidates; may be NULL */
	void (*close)(struct device *d);
};

/* Use of a device's memory. struct device only points to it, since planning, which gets a const
 * device, also allocates (tables of kernels). */
struct device_memory {
	size_t used, used_most;      /* bytes allocated by device_alloc: now, and at the peak */
	/* Rates are measured at the first request, when a run may already have allocated all memory:
	 * the measurement then uses the run's arena, or is omitted. session_bind and the training loop
	 * set these members, since the code that requests a rate does not know them. */
	void *scratch;               /* the arena; NULL: none */
	size_t scratch_bytes;
	bool running;                /* steps are running: nothing more may be allocated */
};

/* A device. Planning takes a `const struct device`, so that no plan depends on an earlier one.
 * Settings of a run are in struct plan_env, its ranks in struct reduction
 * (plan/sums/reduction.h). */
struct device {
	/* Set by device_open. */
	enum backend backend;
	const struct device_driver *driver;      /* NULL: kernels work in the host's memory */
	void *state;                 /* the driver's own */
	const char *name;            /* "cpu" */
	char description[160];       /* "AMD EPYC, 2 threads, oneDNN 2.6.3 avx512_core" */
	char processor[128];         /* for a CPU the description without the threads; for a GPU its
	                              * model and driver */
	int threads;
	int arch;                    /* a GPU's compute capability, 90 for 9.0; else 0 */
	bool each;                   /* the host waits after each node, so that an error names the node
	                              * that failed */
	bool imagined;               /* a described GPU that is not present: rates are the published
	                              * ones, and nothing can run */
	const struct gpu_model *model;   /* a GPU's published properties; NULL: no GPU, or an unknown
	                                  * model */
	const char *why;             /* the reason why 'auto' has chosen this device; NULL: the user
	                              * named it, or there is nothing to explain */
	struct device_memory *memory;
	/* Rates, measured at the first request; 0 before. They are for output only, never for a plan,
	 * which would then differ between ranks: so device_measure_peak and device_measure_bandwidth,
	 * which set them, take a device that is not const. */
	double peak_flops;           /* flop/s of float32 products */
	double peak_tf32;            /* flop/s of float32 products rounded to TF32 */
	double peak_bf16;            /* flop/s of bfloat16 products */
	double bandwidth;            /* bytes/s */
};

/* Internal name of the CPU with every float tensor in F64; users cannot select it. */
#define DEVICE_DOUBLE "cpu:f64"

/* name: auto, cpu, cuda, reference or DEVICE_DOUBLE. E_UNAVAILABLE with the reason and a remedy if
 * the device is not available; it never falls back to another one. */
int device_open(struct device **out, const char *name);
/* The same for a rank that shares its host: local_rank selects one of several GPUs. */
int device_open_rank(struct device **out, const char *name, int local_rank);
/* A GPU that need not be present, for planning (backend/cuda/cuda_described.h). E_USAGE: unknown
 * name. */
int device_open_described(struct device **out, const char *gpu);
void device_close(struct device *d);             /* NULL is fine */
/* Memory of the device, 64-byte aligned, zeroed, large blocks; NULL if refused. */
void *device_alloc(const struct device *d, size_t bytes);
void device_free(const struct device *d, void *p, size_t bytes);       /* NULL is fine */
/* Touches the pages of host memory in advance, by all threads in turn, which also spreads it over
 * NUMA nodes. Otherwise the system would zero pages at first use, which costs the first step more
 * than its arithmetic. */
void device_populate(const struct device *d, void *p, size_t bytes);
/* Copies to and from device memory; memcpy if that is host memory. */
int device_put(const struct device *d, void *to, const void *host, size_t bytes);
int device_get(const struct device *d, void *host, const void *from, size_t bytes);
/* Call after kernels are planned and before they run: does the work that libraries have deferred
 * (oneDNN's code generation, on all threads). */
int device_prepare(const struct device *d);
/* Waits for all work of the device. */
int device_finish(const struct device *d);
/* flop/s, measured once (about 50 ms): of float32 matrices, on a GPU with tf32 rounded to TF32; for
 * DTYPE_BF16 (and on a GPU DTYPE_F16) of that type's own instructions, or float32's where there are
 * none. */
double device_measure_peak(struct device *d, enum dtype type, bool tf32);
/* The measured peak in flop/s, or 0 if it was not measured. flops: the rate that a step has
 * reached; a peak below it was measured on a busy machine and is raised to it. */
double device_reached_peak(struct device *d, enum dtype type, bool tf32, double flops);
/* Memory bandwidth in bytes/s, measured once (about 50 ms). */
double device_measure_bandwidth(struct device *d);
/* Whether DLX_DEBUG=rates=... sets the rates; then nothing is measured, and bfloat16 counts as
 * native. */
bool device_rates_described(const struct device *d);
/* The element type a tensor of this dtype has on this device: F64 for floats on the reference and
 * on DEVICE_DOUBLE. */
enum dtype device_dtype(const struct device *d, enum dtype t);

#endif
