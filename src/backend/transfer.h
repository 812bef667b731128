/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values between the host's row-major arrays and tensors where and as they are: laid out,
 * converted, in the device's memory. Where kernels work in host memory nothing is copied twice. */
#ifndef DLX_BACKEND_TRANSFER_H
#define DLX_BACKEND_TRANSFER_H

#include "backend/device.h"

struct transfer {
	const struct layout *layout;
	const struct shape *shape;
	enum dtype dtype;
	void *data;                  /* in the device's memory */
};

/* Copies from and to plain arrays, whose elements are of type t. Padding of the tensor becomes
 * zero. Only a device with memory of its own can fail, or E_NOMEM for the host's copy. */
int transfer_write(const struct device *d, const struct transfer *to, enum dtype t,
                   const void *plain);
int transfer_read(const struct device *d, const struct transfer *from, enum dtype t, void *plain);
/* For a copy that is in the host's memory, with room for the plain array: makes it plain, in place.
 * E_NOMEM. */
int transfer_unpack(const struct transfer *copy);

#endif
