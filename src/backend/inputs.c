/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device with its own memory copies an input from pinned host memory asynchronously, in order
 * with its kernels; an event marks when that memory may be overwritten.
 *
 * A batch that the loader has put into pinned memory is copied directly from there. Otherwise the
 * training thread would have to copy it to pinned memory first: for 0.5 to 1 GiB that is predicted
 * to take 50 to 100 ms, more than the step (12 to 80 ms on an H100) or the transfer over the bus
 * (10 to 40 ms at 25 to 50 GB/s), so it would determine the time of a step. */
#include "backend/inputs.h"

#include "backend/transfer.h"
#include "base/err.h"
#include "base/mem.h"
#include "graph/memplan.h"

struct place {
	void *own;                   /* in the device's memory; NULL: the tensor is no input or
	                              * constant */
	void *staged;                /* an input's staging buffer in host memory; NULL: none, values are
	                              * copied from where they are */
	void *ahead;                 /* the second device buffer, to which the next value is copied;
	                              * NULL: that is `own` */
};

struct inputs {
	const struct graph *g;
	const struct device *dev;
	struct place *place;         /* by tensor id */
	void *fed;                   /* the event after which staging buffers may be overwritten */
	bool feeding;                /* `fed` was recorded and not waited for since */
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
	const bool staged = a->dev->driver && x->role == ROLE_INPUT && tensor_staged_bytes(a->g, x->id);
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
	BUG_IF(graph_t(a->g, t)->prefetched, "a batch is written in another way than it travels");
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

/* Whether the device can copy the values of t directly: they are in pinned memory and need no
 * conversion. */
static bool travel_as_they_are(const struct inputs *a, tid t, const struct host_values *v)
{
	const struct tensor *x = graph_t(a->g, t);
	const char *from = v->plain, *pinned = v->pinned;
	return pinned && from >= pinned && from + bytes_of(a, t) <= pinned + v->pinned_bytes &&
	       v->type == x->dtype && layout_is_plain(&x->layout, &x->shape);
}

int inputs_prefetch(const struct inputs *a, tid t, const struct host_values *v)
{
	const struct place *p = &a->place[t];
	const void *from = v->plain;
	if (!travel_as_they_are(a, t, v)) {
		BUG_IF(!p->staged, "'%s' comes in another form than was planned", graph_t(a->g, t)->name);
		stage(a, t, v->type, v->plain);
		from = p->staged;
	}
	return a->dev->driver->prefetch_put(a->dev, p->ahead ? p->ahead : p->own, from,
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
