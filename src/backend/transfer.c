/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device's tensor passes through a copy on the host, which has the tensor's own layout and type;
 * packing is the host's work, as it is without a device. */
#include "backend/transfer.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static size_t bytes_of(const struct transfer *x)
{
	return (size_t)layout_elements(x->layout) * dtype_size(x->dtype);
}

#define SMALL 512              /* bytes: results of a step, for which nothing is allocated */

struct host_copy {
	void *p;
	size_t bytes;
	_Alignas(64) char small[SMALL];
};

static int copy_open(struct host_copy *c, size_t bytes)
{
	c->bytes = bytes;
	c->p = bytes <= SMALL ? c->small : mem_map(bytes);
	if (!c->p)
		return ERR(E_NOMEM, NULL, "no memory on the host for a copy of %zu bytes", bytes);
	return 0;
}

static void copy_close(struct host_copy *c)
{
	if (c->bytes > SMALL)
		mem_unmap(c->p, c->bytes);
}

int transfer_write(const struct device *d, const struct transfer *to, enum dtype t,
                   const void *plain)
{
	struct host_copy copy;
	if (!d->driver) {
		layout_pack(to->layout, to->shape, to->dtype, to->data, t, plain);
		return 0;
	}
	TRY(copy_open(&copy, bytes_of(to)));
	layout_pack(to->layout, to->shape, to->dtype, copy.p, t, plain);
	int rc = device_put(d, to->data, copy.p, copy.bytes);
	copy_close(&copy);
	return rc;
}

int transfer_read(const struct device *d, const struct transfer *from, enum dtype t, void *plain)
{
	struct host_copy copy;
	if (!d->driver) {
		layout_unpack(from->layout, from->shape, t, plain, from->dtype, from->data);
		return 0;
	}
	TRY(copy_open(&copy, bytes_of(from)));
	int rc = device_get(d, copy.p, from->data, copy.bytes);
	if (rc == 0)
		layout_unpack(from->layout, from->shape, t, plain, from->dtype, copy.p);
	copy_close(&copy);
	return rc;
}

int transfer_unpack(const struct transfer *x)
{
	struct host_copy copy;
	if (layout_is_plain(x->layout, x->shape))
		return 0;
	TRY(copy_open(&copy, bytes_of(x)));
	memcpy(copy.p, x->data, copy.bytes);
	layout_unpack(x->layout, x->shape, x->dtype, x->data, x->dtype, copy.p);
	copy_close(&copy);
	return 0;
}
