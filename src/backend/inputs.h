/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inputs and constants of a plan: their memory on the device, and how the host's values come
 * there. Tensors are those of one graph, and none is an alias. */
#ifndef DLX_BACKEND_INPUTS_H
#define DLX_BACKEND_INPUTS_H

#include "backend/device.h"

struct inputs;

/* Plain values in the host's memory. */
struct host_values {
	enum dtype type;
	const void *plain;
	const void *pinned;          /* memory of alloc_host, in which they may be; NULL: in none */
	size_t pinned_bytes;
};

/* Makes memory for all of g's, and gives constants their value. Borrows both; *out is to be freed
 * also after a failure. */
int inputs_new(struct inputs **out, const struct graph *g, const struct device *dev);
void inputs_free(struct inputs *a);                   /* NULL is fine */
void *inputs_place(const struct inputs *a, tid t);    /* NULL: t is neither */
/* As exec_write and so on, of inputs. */
int inputs_write(struct inputs *a, tid t, enum dtype type, const void *plain);
int inputs_prefetch_begin(const struct inputs *a);
int inputs_prefetch(const struct inputs *a, tid t, const struct host_values *v);
int inputs_take(struct inputs *a, tid t);
/* On a device with memory of its own, before a run: it is what reads the values written so far. */
int inputs_run(struct inputs *a);

#endif
