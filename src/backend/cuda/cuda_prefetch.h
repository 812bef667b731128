/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA device's copies that are concurrent with its kernels, described in struct
 * device_driver. */
#ifndef DLX_BACKEND_CUDA_CUDA_PREFETCH_H
#define DLX_BACKEND_CUDA_CUDA_PREFETCH_H

#include "backend/device.h"

struct cuda_prefetch;

int cuda_prefetch_ready(const struct device *d);
int cuda_prefetch_put(const struct device *d, void *to, const void *host, size_t bytes);
int cuda_prefetch_await(const struct device *d);
int cuda_prefetch_copy(const struct device *d, void *to, const void *from, size_t bytes);
int cuda_prefetch_taken(const struct device *d);

/* Address of the device's pointer to its prefetch stream; the pointer is NULL until first use. */
struct cuda_prefetch **cuda_prefetch_of(const struct device *d);
/* Waits for all copies. */
void cuda_prefetch_rest(const struct cuda_prefetch *a);   /* NULL is fine */
void cuda_prefetch_close(struct cuda_prefetch *a);        /* NULL is fine */

#endif
