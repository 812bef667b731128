/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each run in flight has a slot of host memory to which the device copies its results. If kernels
 * work in host memory, the values are copied directly. */
#include "backend/readback.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

struct slot {
	char *memory;                /* the tensors one after the other, as the device has them */
	void *event;                 /* after the copies */
};

struct readback {
	const struct graph *g;
	const struct device *dev;
	const tid *t;
	int n;
	size_t bytes;                /* bytes of a slot */
	struct slot slot[READBACK_DEPTH];
	uint64_t asked, awaited;
};

static size_t bytes_of(const struct readback *a, int i)
{
	const struct tensor *x = graph_t(a->g, a->t[i]);
	size_t bytes = (size_t)layout_elements(&x->layout) * dtype_size(x->dtype);
	return (bytes + 63) / 64 * 64;
}

static char *place(const struct readback *a, uint64_t run, int i)
{
	char *p = a->slot[run % READBACK_DEPTH].memory;
	for (int k = 0; k < i; k++)
		if (a->t[k] != NONE)
			p += bytes_of(a, k);
	return p;
}

static void *host_memory_of(struct readback *a)
{
	return a->dev->driver ? a->dev->driver->alloc_host(a->dev, a->bytes) : mem_calloc(1, a->bytes);
}

int readback_new(struct readback **out, const struct graph *g, const struct device *dev,
                 const tid *t, int n)
{
	struct readback *a = mem_calloc(1, sizeof *a);
	*a = (struct readback){ .g = g, .dev = dev, .t = t, .n = n, .bytes = 64 };
	for (int i = 0; i < n; i++)
		if (t[i] != NONE)
			a->bytes += bytes_of(a, i);
	for (int s = 0; s < READBACK_DEPTH; s++)
		if (!(a->slot[s].memory = host_memory_of(a))) {
			readback_free(a);
			return ERR(E_NOMEM, NULL, "no memory on the host for the results of steps");
		}
	*out = a;
	return 0;
}

void readback_free(struct readback *a)
{
	if (!a)
		return;
	const struct device_driver *driver = a->dev->driver;
	for (struct slot *s = a->slot; s < a->slot + READBACK_DEPTH; s++) {
		if (s->memory && driver)
			driver->free_host(a->dev, s->memory, a->bytes);
		else
			mem_free(s->memory);
		if (s->event)
			driver->event_free(a->dev, s->event);
	}
	mem_free(a);
}

int readback_request(struct readback *a, const struct exec *e)
{
	const struct device_driver *driver = a->dev->driver;
	BUG_IF(a->asked - a->awaited == READBACK_DEPTH, "more than %d results are under way",
	       READBACK_DEPTH);
	for (int i = 0; i < a->n; i++) {
		const struct tensor *x = graph_t(a->g, a->t[i] == NONE ? 0 : a->t[i]);
		size_t bytes = (size_t)layout_elements(&x->layout) * dtype_size(x->dtype);
		if (a->t[i] == NONE)
			continue;
		if (driver)
			TRY(driver->get_later(a->dev, place(a, a->asked, i), exec_pointer(e, a->t[i]), bytes));
		else
			memcpy(place(a, a->asked, i), exec_pointer(e, a->t[i]), bytes);
	}
	if (driver)
		TRY(driver->event_record(a->dev, &a->slot[a->asked % READBACK_DEPTH].event));
	a->asked++;
	return 0;
}

int readback_wait(struct readback *a)
{
	BUG_IF(a->asked == a->awaited, "results of a run that were not asked for");
	a->awaited++;
	return a->dev->driver ?
	       a->dev->driver->event_wait(a->dev, a->slot[(a->awaited - 1) % READBACK_DEPTH].event) : 0;
}

void readback_get(const struct readback *a, int i, enum dtype t, void *plain)
{
	const struct tensor *x = graph_t(a->g, a->t[i]);
	layout_unpack(&x->layout, &x->shape, t, plain, x->dtype, place(a, a->awaited - 1, i));
}
