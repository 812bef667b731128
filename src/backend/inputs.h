/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inputs and constants of a plan: their memory on the device, and copying of the host's values
 * to it. All tensors are of one graph, and none is an alias. */
#ifndef DLX_BACKEND_INPUTS_H
#define DLX_BACKEND_INPUTS_H

#include "backend/device.h"

struct inputs;

/* A row-major array in host memory. */
struct host_values {
	enum dtype type;
	const void *plain;
	const void *pinned;          /* the alloc_host block that contains `plain`; NULL: it is not in
	                              * pinned memory */
	size_t pinned_bytes;
};

/* Makes memory for all of g's, and gives constants their value. Borrows both; *out is to be freed
 * also after a failure. */
int inputs_new(struct inputs **out, const struct graph *g, const struct device *dev);
void inputs_free(struct inputs *a);                   /* NULL is fine */
void *inputs_place(const struct inputs *a, tid t);    /* NULL: t is neither an input nor a
                                                       * constant */
/* The functions exec_write, exec_prefetch and so on, for inputs. */
int inputs_write(struct inputs *a, tid t, enum dtype type, const void *plain);
int inputs_prefetch_begin(const struct inputs *a);
int inputs_prefetch(const struct inputs *a, tid t, const struct host_values *v);
int inputs_take(struct inputs *a, tid t);
/* Call before each run on a device with its own memory: marks the values written so far as read by
 * that run, so that a later inputs_write waits for the copies. */
int inputs_run(struct inputs *a);

#endif
