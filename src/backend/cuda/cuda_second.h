/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The second compute stream: second_begin, second_end and second_await of struct device_driver. */
#ifndef DLX_BACKEND_CUDA_CUDA_SECOND_H
#define DLX_BACKEND_CUDA_CUDA_SECOND_H

#include "backend/device.h"

int cuda_second_begin(const struct device *d);
int cuda_second_end(const struct device *d, int at);
int cuda_second_await(const struct device *d, int at);

struct cuda_second;
void cuda_second_close(struct cuda_second *s);           /* NULL is fine */

#endif
