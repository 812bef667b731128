/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA device for the rest of dlx: what opens it, and what kernels need of it. One process
 * drives one GPU through one stream of computation (others next to it: cuda_side.h); the libraries
 * (cuDNN, cuBLASLt) are loaded when the first kernel asks for them, so that a machine
 * without a GPU, or a network without convolutions, does not wait for them. No header of CUDA is
 * needed to include this. */
#ifndef DLX_BACKEND_CUDA_CUDA_H
#define DLX_BACKEND_CUDA_CUDA_H

#include "backend/device.h"

#ifdef HAVE_CUDA

/* For device_open. E_UNAVAILABLE: no driver, one too old, no GPU, or none that this build has code
 * for. Takes the GPU with the rank's local number among those that the process sees, modulo their
 * count; so a process that sees one GPU takes that. */
int cuda_open(struct device *d, int local_rank);

/* A GPU that is only described, by a name or its memory (backend/cuda/cuda_described.h): plans can
 * be made for it, as far as that goes without a driver. What is not known then is 0 and named so:
 * by a '?' at the end of kplan.impl. */
int cuda_describe(struct device *d, const char *gpu);

/* The stream that kernels are enqueued on (a cudaStream_t): of computation, or the second one
 * (backend/cuda/cuda_second.h). */
void *cuda_stream(const struct device *d);
int cuda_multiprocessors(const struct device *d);
size_t cuda_memory(const struct device *d);       /* bytes that the GPU has */
/* For device_measure_peak and device_measure_bandwidth; 0 if it cannot be measured. */
double cuda_measure_peak(const struct device *d, enum dtype type, bool tf32);
double cuda_measure_bandwidth(const struct device *d);
/* The GPU's number within the process, and an identity that is unique on the host. */
int cuda_ordinal(const struct device *d);
void cuda_identity(const struct device *d, char out[16]);
/* The name of its kind, for wisdom: what is fastest on one of them is on all. */
#define CUDA_KIND 80
void cuda_kind(const struct device *d, char out[CUDA_KIND]);
/* Makes d's GPU the current one of the calling thread. */
int cuda_bind_thread(int ordinal);
/* While the host waits for the GPU it calls poll every few milliseconds, and once at the end; an
 * error of poll ends the wait. The number of watchers is limited. */
void cuda_poll(const struct device *d, int (*poll)(void *argument), void *argument);
void cuda_unpoll(const struct device *d, const void *argument);
/* Drains the compute stream, whatever has become of its work, without polling watchers. */
void cuda_rest(const struct device *d);
/* The event at the beginning of the step that is being captured; NULL: none is. */
void *cuda_begin(const struct device *d);
/* An error code of the runtime as one of dlx's; 0 for success. what: "copying to the GPU". */
int cuda_check(int status, const char *what);
/* The result of a run function: the status of a launcher in
 * cuda/kernels.h, reported with the node's place. */
int cuda_launched(const struct kplan *k, int status);

/* Plan time: memory that the kernel's plan keeps on the
 * device, holding these bytes. It is freed with the device. */
int cuda_keep(struct kplan *k, const void *host, size_t bytes, void **out);

/* Plan time: a record in memory that the host and the device see, zero at first, in which a kernel
 * says what is wrong with its data. Where its first 8 bytes are not zero after a wait, report is
 * asked for the error, and the record is cleared. Until cuda_unwatch, which the kernel's free
 * calls. */
int cuda_watch(struct kplan *k, size_t bytes,
               int (*report)(const struct kplan *k, const void *record), void **record);
void cuda_unwatch(const struct kplan *k);

struct cudnn;
/* The libraries, opened at the first call; cublas: a cublasLtHandle_t. E_UNAVAILABLE says which
 * file was looked for where. */
int cuda_cudnn(const struct device *d, struct cudnn **out);
int cuda_cublas(const struct device *d, void **handle);

#endif
#endif
