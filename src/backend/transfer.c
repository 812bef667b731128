/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device's tensor passes through a copy on the host, which has the tensor's own layout and type; packing is the host's work, as
 * it is without a device. */
#include "backend/transfer.h"

#include "base/err.h"
#include "base/mem.h"

static size_t bytes_of(const struct transfer *x)
{
	return (size_t)layout_elements(x->layout) * dtype_size(x->dtype);
}

static int host_copy(size_t bytes, void **out)
{
	*out = mem_map(bytes);
	if (!*out)
		return ERR(E_NOMEM, NULL, "no memory on the host for a copy of %zu bytes", bytes);
	return 0;
}

int transfer_write(struct device *d, const struct transfer *to, enum dtype t, const void *plain)
{
	size_t bytes = bytes_of(to);
	void *copy;

	if (!d->driver) {
		layout_pack(to->layout, to->shape, to->dtype, to->data, t, plain);
		return 0;
	}
	TRY(host_copy(bytes, &copy));
	layout_pack(to->layout, to->shape, to->dtype, copy, t, plain);
	int rc = device_put(d, to->data, copy, bytes);
	mem_unmap(copy, bytes);
	return rc;
}

int transfer_read(struct device *d, const struct transfer *from, enum dtype t, void *plain)
{
	size_t bytes = bytes_of(from);
	void *copy;

	if (!d->driver) {
		layout_unpack(from->layout, from->shape, t, plain, from->dtype, from->data);
		return 0;
	}
	TRY(host_copy(bytes, &copy));
	int rc = device_get(d, copy, from->data, bytes);
	if (rc == 0)
		layout_unpack(from->layout, from->shape, t, plain, from->dtype, copy);
	mem_unmap(copy, bytes);
	return rc;
}
