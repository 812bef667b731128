/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA device's copies to the host, concurrent with its kernels (copy_* of struct
 * device_driver). */
#ifndef DLX_BACKEND_CUDA_CUDA_COPIES_H
#define DLX_BACKEND_CUDA_CUDA_COPIES_H

#include "backend/device.h"

struct cuda_copies;

int cuda_copies_open(struct cuda_copies **out);
void cuda_copies_close(struct cuda_copies *c);     /* NULL is fine */

int cuda_copy_beside(const struct device *d, void *host, const void *from, size_t bytes);
int cuda_copy_fence(const struct device *d);
int cuda_copy_wait(const struct device *d);

#endif
