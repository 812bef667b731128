/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA device's interface to the rest of dlx: how it is opened, and functions for kernels. One
 * process drives one GPU, with one compute stream and side streams that overlap it (cuda_side.h).
 * cuDNN and cuBLASLt are loaded when the first kernel needs them, so that a machine without a GPU,
 * or a network without convolutions, does not wait for them. This header needs no header of
 * CUDA. */
#ifndef DLX_BACKEND_CUDA_CUDA_H
#define DLX_BACKEND_CUDA_CUDA_H

#include "backend/device.h"

#ifdef HAVE_CUDA

/* Opens GPU number local_rank modulo the number of GPUs that the process sees; for device_open.
 * E_UNAVAILABLE: no driver or one that is too old, no GPU, or none that this build has code for. */
int cuda_open(struct device *d, int local_rank);

/* A device for a GPU that need not be present, described by its name or memory size
 * (backend/cuda/cuda_described.h): for planning only, without a driver. Where a plan depends on
 * what only the driver knows, kplan.impl ends in '?' and the numbers are 0. */
int cuda_describe(struct device *d, const char *gpu);

/* The stream that kernels are currently enqueued on (a cudaStream_t): the compute stream, or the
 * second one (backend/cuda/cuda_second.h). */
void *cuda_stream(const struct device *d);
int cuda_multiprocessors(const struct device *d);
size_t cuda_memory(const struct device *d);       /* bytes of GPU memory in all */
/* For device_measure_peak and device_measure_bandwidth; 0 if it cannot be measured. */
double cuda_measure_peak(const struct device *d, enum dtype type, bool tf32);
double cuda_measure_bandwidth(const struct device *d);
/* The GPU's number within the process, and an identity that is unique on the host. */
int cuda_ordinal(const struct device *d);
void cuda_identity(const struct device *d, char out[16]);
/* The name of the GPU model, a key for stored measurements (wisdom): what is fastest on one GPU is
 * fastest on all of the model. */
#define CUDA_KIND 80
void cuda_kind(const struct device *d, char out[CUDA_KIND]);
/* Makes d's GPU the current one of the calling thread. */
int cuda_bind_thread(int ordinal);
/* Registers poll, which the host calls every few milliseconds while it waits for the GPU, and once
 * at the end of the wait; an error from poll ends the wait. At most CUDA_POLLS can be
 * registered. */
void cuda_poll(const struct device *d, int (*poll)(void *argument), void *argument);
void cuda_unpoll(const struct device *d, const void *argument);
/* Waits until the compute stream is idle, ignoring errors of its work, without the calls of
 * cuda_poll. */
void cuda_rest(const struct device *d);
/* The event at the beginning of the step that is being captured; NULL: none is. */
void *cuda_begin(const struct device *d);
/* Raises dlx's error for a status of the CUDA runtime; 0 for success. what: the operation, such as
 * "copying to the GPU". */
int cuda_check(int status, const char *what);
/* Enqueue on cuda_stream: copies bytes within the GPU's memory; sets bytes to 0. */
int cuda_move(const struct device *d, void *to, const void *from, size_t bytes);
int cuda_clear(const struct device *d, void *p, size_t bytes);
/* The result of a run function: the status of a launcher in
 * cuda/kernels.h, reported with the node's place. */
int cuda_launched(const struct kplan *k, int status);

/* Plan time: memory that the kernel's plan keeps on the
 * device, holding these bytes. It is freed with the device. */
int cuda_keep(struct kplan *k, const void *host, size_t bytes, void **out);

/* Plan time: makes a zeroed record in memory that host and device share, into which a kernel writes
 * what is wrong with its data. If its first 8 bytes are nonzero after a wait, the host calls report
 * to raise the error and clears the record. Lasts until cuda_unwatch, which the kernel's free
 * calls. */
int cuda_watch(struct kplan *k, size_t bytes,
               int (*report)(const struct kplan *k, const void *record), void **record);
void cuda_unwatch(const struct kplan *k);

struct cudnn;
/* cuDNN, and cuBLASLt's cublasLtHandle_t, opened at the first call. E_UNAVAILABLE names the file
 * and where it was searched for. */
int cuda_cudnn(const struct device *d, struct cudnn **out);
int cuda_cublas(const struct device *d, void **handle);

#endif
#endif
