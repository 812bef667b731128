/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device with memory of its own copies an input from pinned host memory, in order with its
 * kernels and without the host waiting; an event says when that memory may be written again. */
#include "backend/inputs.h"

#include "backend/transfer.h"
#include "base/err.h"
#include "base/mem.h"

struct place {
	void *own;                   /* in the device's memory; NULL: the tensor is no input or
	                              * constant */
	void *staged;                /* an input of a device: the host's copy; else NULL */
	void *ahead;                 /* where its next value travels to, if not to `own`; else NULL */
};

struct inputs {
	const struct graph *g;
	const struct device *dev;
	struct place *place;         /* by tensor id */
	void *fed;                   /* the event behind which the staged values are free again */
	bool feeding;                /* it is set, and was not reached since */
};

static bool is_own(const struct tensor *x)
{
	return x->alias == NONE && (x->role == ROLE_INPUT || x->role == ROLE_CONSTANT);
}

static size_t bytes_of(const struct inputs *a, tid t)
{
	const struct tensor *x = graph_t(a->g, t);
	return (size_t)layout_elements(&x->layout) * dtype_size(x->dtype);
}

static struct transfer own_of(const struct inputs *a, tid t)
{
	const struct tensor *x = graph_t(a->g, t);
	return (struct transfer){ &x->layout, &x->shape, x->dtype, a->place[t].own };
}

static int make_place(const struct inputs *a, const struct tensor *x)
{
	const bool staged = a->dev->driver && x->role == ROLE_INPUT;
	const bool twice = x->prefetched && !x->read_first;
	const size_t bytes = bytes_of(a, x->id);
	struct place *p = &a->place[x->id];
	p->own = device_alloc(a->dev, bytes);
	if (p->own && staged)
		p->staged = a->dev->driver->alloc_host(a->dev, bytes);
	if (p->own && twice)
		p->ahead = device_alloc(a->dev, bytes);
	if (!p->own || (staged && !p->staged) || (twice && !p->ahead))
		return ERR(E_NOMEM, &x->loc, "no memory for '%s' (%zu bytes)", x->name, bytes);
	if (x->role == ROLE_INPUT)
		return 0;
	const struct transfer to = own_of(a, x->id);
	return transfer_write(a->dev, &to, x->dtype, x->value);
}

int inputs_new(struct inputs **out, const struct graph *g, const struct device *dev)
{
	struct inputs *a = *out = mem_calloc(1, sizeof *a);
	a->g = g;
	a->dev = dev;
	a->place = mem_calloc((size_t)g->ntensor + 1, sizeof *a->place);
	for (tid t = 0; t < g->ntensor; t++)
		if (is_own(graph_t(g, t)))
			TRY(make_place(a, graph_t(g, t)));
	return 0;
}

void inputs_free(struct inputs *a)
{
	if (!a)
		return;
	if (a->fed)
		a->dev->driver->event_free(a->dev, a->fed);
	for (tid t = 0; t < a->g->ntensor; t++) {
		const struct place *p = &a->place[t];
		if (!p->own)
			continue;
		device_free(a->dev, p->own, bytes_of(a, t));
		device_free(a->dev, p->ahead, bytes_of(a, t));
		if (p->staged)
			a->dev->driver->free_host(a->dev, p->staged, bytes_of(a, t));
	}
	mem_free(a->place);
	mem_free(a);
}

void *inputs_place(const struct inputs *a, tid t)
{
	return a->place[t].own;
}

int inputs_run(struct inputs *a)
{
	TRY(a->dev->driver->event_record(a->dev, &a->fed));
	a->feeding = true;
	return 0;
}

static void stage(const struct inputs *a, tid t, enum dtype type, const void *plain)
{
	const struct tensor *x = graph_t(a->g, t);
	layout_pack(&x->layout, &x->shape, x->dtype, a->place[t].staged, type, plain);
}

int inputs_write(struct inputs *a, tid t, enum dtype type, const void *plain)
{
	const struct place *p = &a->place[t];
	if (graph_t(a->g, t)->prefetched) {
		TRY(inputs_prefetch_begin(a));
		TRY(inputs_prefetch(a, t, type, plain));
		return inputs_take(a, t);
	}
	if (!p->staged) {
		const struct transfer to = own_of(a, t);
		return transfer_write(a->dev, &to, type, plain);
	}
	if (a->feeding)                       /* it may still be copying from there */
		TRY(a->dev->driver->event_wait(a->dev, a->fed));
	a->feeding = false;
	stage(a, t, type, plain);
	return a->dev->driver->put_later(a->dev, p->own, p->staged, bytes_of(a, t));
}

int inputs_prefetch_begin(const struct inputs *a)
{
	return a->dev->driver->prefetch_ready(a->dev);
}

int inputs_prefetch(struct inputs *a, tid t, enum dtype type, const void *plain)
{
	const struct place *p = &a->place[t];
	stage(a, t, type, plain);
	return a->dev->driver->prefetch_put(a->dev, p->ahead ? p->ahead : p->own, p->staged,
	                                    bytes_of(a, t));
}

int inputs_take(struct inputs *a, tid t)
{
	const struct place *p = &a->place[t];
	TRY(a->dev->driver->prefetch_await(a->dev));
	if (!p->ahead)
		return 0;
	TRY(a->dev->driver->prefetch_copy(a->dev, p->own, p->ahead, bytes_of(a, t)));
	return a->dev->driver->prefetch_taken(a->dev);
}
