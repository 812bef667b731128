/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA device's copies beside its kernels; what they do is said in struct device_driver. */
#ifndef DLX_BACKEND_CUDA_CUDA_AHEAD_H
#define DLX_BACKEND_CUDA_CUDA_AHEAD_H

#include "backend/device.h"

struct cuda_ahead;

int cuda_ahead_ready(const struct device *d);
int cuda_ahead_put(const struct device *d, void *to, const void *host, size_t bytes);
int cuda_ahead_take(const struct device *d, void *to, const void *from, size_t bytes);

/* The place where the device keeps its prefetch stream; NULL in there: not used yet. */
struct cuda_ahead **cuda_ahead_of(const struct device *d);
void cuda_ahead_close(struct cuda_ahead *a);     /* NULL is fine */

#endif
