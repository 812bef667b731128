/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies between row-major host arrays and tensors in device memory, with conversion of layout and
 * type. If kernels work in host memory, no intermediate copy is made. */
#ifndef DLX_BACKEND_TRANSFER_H
#define DLX_BACKEND_TRANSFER_H

#include "backend/device.h"

struct transfer {
	const struct layout *layout;
	const struct shape *shape;
	enum dtype dtype;
	void *data;                  /* address in the device's memory */
};

/* Copies from and to plain arrays, whose elements are of type t. Padding of the tensor becomes
 * zero. Only a device with memory of its own can fail, or E_NOMEM for the host's copy. */
int transfer_write(const struct device *d, const struct transfer *to, enum dtype t,
                   const void *plain);
int transfer_read(const struct device *d, const struct transfer *from, enum dtype t, void *plain);
/* Converts a copy of a tensor in host memory, with room for the row-major array, to row-major order
 * in place. E_NOMEM. */
int transfer_unpack(const struct transfer *copy);

#endif
