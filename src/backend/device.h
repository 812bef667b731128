/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that can hold tensors and run kernels: the CPU (oneDNN, OpenMP) or the reference (plain
 * C in float64, the meaning of every op). On the reference device, and on a CPU that computes in
 * float64, every float tensor is F64. */
#ifndef DLX_BACKEND_DEVICE_H
#define DLX_BACKEND_DEVICE_H

#include "backend/replay.h"
#include "graph/op.h"

struct device;

/* Memory of a device's own, in bytes. */
struct device_memory_info {
	int64_t free, total;                     /* now, for all processes; altogether */
	int64_t reserve;                         /* of what is free: for what libraries take later;
	                                          * twice with NCCL, for its buffers */
};

/* The functions of a device with memory of its own. All work on its state and its memory, and leave
 * struct device as it is. Calls are ordered with earlier kernels;
 * failures carry the driver's reason. */
struct device_driver {
	void *(*alloc)(const struct device *d, size_t bytes);      /* zeroed; NULL if refused */
	void (*free)(const struct device *d, void *p, size_t bytes);
	/* the host's, which it copies from without delay */
	void *(*alloc_host)(const struct device *d, size_t bytes);
	void (*free_host)(const struct device *d, void *p, size_t bytes);
	int (*memory_info)(const struct device *d, struct device_memory_info *out);
	bool (*failed)(const struct device *d);            /* a kernel went wrong, and
	                                                    * nothing works any more */
	/* Copies from alloc_host memory, which must not change
	 * until a later event, a get or a finish. */
	int (*put_later)(const struct device *d, void *to, const void *host, size_t bytes);
	/* host is free when it returns */
	int (*put)(const struct device *d, void *to, const void *host, size_t bytes);
	/* waits for what makes it */
	int (*get)(const struct device *d, void *host, const void *from, size_t bytes);
	/* Into alloc_host memory, where it is once an event recorded after it is reached. */
	int (*get_later)(const struct device *d, void *host, const void *from, size_t bytes);
	/* Events. *event: NULL, or an older one, which is recorded anew. */
	int (*event_record)(const struct device *d, void **event);
	/* waits until the work enqueued before the event is done; errors as in finish */
	int (*event_wait)(const struct device *d, void *event);
	void (*event_free)(const struct device *d, void *event);   /* waits for all */
	/* Beside the kernels, for what they are to read next: prefetch_put copies from alloc_host
	 * memory, and begins when all is done that was enqueued before prefetch_taken was called last.
	 * What is enqueued after prefetch_await waits for the copies so far; prefetch_copy is part of
	 * it, a copy within the device's memory. prefetch_ready waits until the host memory may be
	 * written again. */
	int (*prefetch_ready)(const struct device *d);
	int (*prefetch_put)(const struct device *d, void *to, const void *host, size_t bytes);
	int (*prefetch_await)(const struct device *d);
	int (*prefetch_copy)(const struct device *d, void *to, const void *from, size_t bytes);
	int (*prefetch_taken)(const struct device *d);
	/* Beside the kernels, of what they are to overwrite: a copy to alloc_host memory, in order
	 * with the kernels before it. copy_fence: kernels from here on wait for the copies so far;
	 * if they are captured, each of their launches for those made before it. copy_wait: the
	 * host waits for them, in any thread. */
	int (*copy_beside)(const struct device *d, void *host, const void *from, size_t bytes);
	int (*copy_fence)(const struct device *d);
	int (*copy_wait)(const struct device *d);
	/* A second stream of kernels. What is enqueued from second_begin to second_end runs on it,
	 * after all kernels that were enqueued before. second_end makes point `at` its end so far (of
	 * a few hundred, from 0; an older one moves), also where what is between has failed; kernels
	 * enqueued from second_await on wait for the point. A step, captured or not, ends with a wait
	 * for the last one. */
	int (*second_begin)(const struct device *d);
	int (*second_end)(const struct device *d, int at);
	int (*second_await)(const struct device *d, int at);
	/* waits for all; errors of kernels appear here at the latest */
	int (*finish)(const struct device *d);
	/* Graph capture: kernels captured once and launched as one graph. */
	int (*capture_begin)(const struct device *d);
	int (*capture_end)(const struct device *d, void **out);
	int (*graph_launch)(const struct device *d, void *graph);
	void (*graph_destroy)(const struct device *d, void *graph);
	/* A profiler: from begin to end it notes the kernels of graphs that are captured and launched;
	 * node says what is captured from now on. E_UNAVAILABLE with the reason: there is none. end
	 * fills *out, which replay_release frees, or zeroes it where begin failed or no kernel was
	 * seen. NULL: no profiler is known. */
	int (*watch_begin)(const struct device *d);
	void (*watch_node)(const struct device *d, nid n);
	void (*watch_end)(const struct device *d, struct replay *out);
	/* flop/s; 0 if that fails */
	double (*measure_peak)(const struct device *d, enum dtype type, bool tf32);
	/* bytes/s; 0 if that fails */
	double (*measure_bandwidth)(const struct device *d);
	void (*planned)(const struct device *d);           /* planning is done: frees
	                                              * rejected candidates; or NULL */
	void (*close)(struct device *d);
};

/* What has been taken of a device's memory. It is a pointer, since planning takes some
 * too: kernels keep tables there. */
struct device_memory {
	size_t used, used_most;      /* bytes that device_alloc has given, now and at most */
	/* Rates are measured when first asked for, which may be when a run has taken what memory there
	 * is: then in its arena, or not at all. session_bind and the loop say so here, since the code
	 * that asks for a rate knows of neither. */
	void *scratch;               /* the arena; NULL: none */
	size_t scratch_bytes;
	bool running;                /* steps are running: nothing more is taken */
};

/* Plans are made for a `const struct device`: none writes what the next one reads. Settings of a
 * run are in struct plan_env, its ranks in struct reduction (plan/sums/reduction.h). */
struct device {
	/* As device_open found it. */
	enum backend backend;
	const struct device_driver *driver;      /* NULL: kernels work in the host's memory */
	void *state;                 /* the driver's own */
	const char *name;            /* "cpu" */
	char description[160];       /* "AMD EPYC, 2 threads, oneDNN 2.6.3 avx512_core" */
	char processor[128];         /* of a CPU, the same without the threads; of a GPU, its kind and
	                              * its driver */
	int threads;
	int arch;                    /* a GPU's compute capability, 90 for 9.0; else 0 */
	bool each;                   /* waits for each node, so that an
	                              * error names the node that failed */
	bool imagined;               /* a GPU that is not there: its rates are published ones, and
	                              * nothing can run */
	const struct gpu_model *model;   /* what a GPU's maker publishes of it; NULL:
	                                  * another device, or not known */
	const char *why;             /* of a device that 'auto' has chosen: why this one; else NULL */
	struct device_memory *memory;
	/* Measured when first asked for, since that takes a while, and 0 before. For what is printed,
	 * never for a plan, which would differ between ranks: so device_measure_peak and _bandwidth,
	 * which write these, take a device that is not const. */
	double peak_flops;           /* in float32 */
	double peak_tf32;            /* in float32 whose products are rounded to TF32 */
	double peak_bf16;            /* in bfloat16 */
	double bandwidth;            /* bytes/s */
};

/* The CPU with every float tensor in F64; no name that a user writes. */
#define DEVICE_DOUBLE "cpu:f64"

/* name: auto, cpu, cuda, reference or DEVICE_DOUBLE. E_UNAVAILABLE with the reason and a remedy if
 * it cannot be had; never a fallback. */
int device_open(struct device **out, const char *name);
/* The same for a rank that shares its host: local_rank selects one of several GPUs. */
int device_open_rank(struct device **out, const char *name, int local_rank);
/* A GPU that need not be there, to plan for (backend/cuda/cuda_described.h). E_USAGE: no such
 * name. */
int device_open_described(struct device **out, const char *gpu);
void device_close(struct device *d);             /* NULL is fine */
/* Memory of the device, 64-byte aligned, zeroed, large blocks; NULL if refused. */
void *device_alloc(const struct device *d, size_t bytes);
void device_free(const struct device *d, void *p, size_t bytes);       /* NULL is fine */
/* Host memory: the system zeroes it at first use, which would cost the first step more than its
 * arithmetic; here all threads do so, part by part in turn, and spread it over the nodes of a large
 * machine. */
void device_populate(const struct device *d, void *p, size_t bytes);
/* Copies to and from it. In host memory they are memcpy. */
int device_put(const struct device *d, void *to, const void *host, size_t bytes);
int device_get(const struct device *d, void *host, const void *from, size_t bytes);
/* After kernels were planned, before they run: what their libraries put off until then (oneDNN's
 * code, on all threads at once). */
int device_prepare(const struct device *d);
/* Waits for all work of the device. */
int device_finish(const struct device *d);
/* flop/s, measured once (about 50 ms): of float32 matrices, on a GPU with tf32 rounded to TF32; for
 * DTYPE_BF16 (and on a GPU DTYPE_F16) of that type's own instructions, or float32's where there are
 * none. */
double device_measure_peak(struct device *d, enum dtype type, bool tf32);
/* That peak if it was measured, else 0, after a step that did this many flop/s: a peak that was
 * measured on a busy machine may be too low, and rises to what a step reached. */
double device_reached_peak(struct device *d, enum dtype type, bool tf32, double flops);
/* Memory bandwidth in bytes/s, measured once (about 50 ms). */
double device_measure_bandwidth(struct device *d);
/* Whether these are of a processor that DLX_DEBUG=rates=... describes, where nothing is measured
 * and bfloat16 counts as native. */
bool device_rates_described(const struct device *d);
/* The element type a tensor of this dtype has on this device: F64 for floats on the reference and
 * on DEVICE_DOUBLE. */
enum dtype device_dtype(const struct device *d, enum dtype t);

#endif
