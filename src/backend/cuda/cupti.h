/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUPTI, NVIDIA's profiler library, records which kernels a replayed graph runs and how long each
 * takes on the GPU. It is loaded when a profile is requested. These functions are watch_begin,
 * watch_node and watch_end of struct device_driver. */
#ifndef DLX_BACKEND_CUDA_CUPTI_H
#define DLX_BACKEND_CUDA_CUPTI_H

#include "backend/device.h"

int cupti_begin(const struct device *d);
void cupti_node(const struct device *d, nid n);
void cupti_end(const struct device *d, struct replay *out);

#endif
