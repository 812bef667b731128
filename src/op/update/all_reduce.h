/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of all_reduce_start and all_reduce_wait. */
#ifndef DLX_OP_UPDATE_ALL_REDUCE_H
#define DLX_OP_UPDATE_ALL_REDUCE_H

#include "yaml/schema.h"

struct all_reduce_attr {
	int64_t group;               /* index in the device's reducer */
	int wire;                    /* index in all_reduce_wires */
	double factor;               /* start only: factor of the values before the sum */
};

struct node;
/* The attributes of n if it starts an all-reduce (waits for one); else NULL. */
const struct all_reduce_attr *all_reduce_begins(const struct node *n);
const struct all_reduce_attr *all_reduce_waits(const struct node *n);

extern const char *const all_reduce_wires[];       /* f32 bf16 fp16 NULL */
enum dtype all_reduce_dtype(int wire);

/* Bytes of a tensor of n elements in the buffer of its group, rounded up to whole cache lines. */
static inline int64_t all_reduce_bytes(int64_t n, enum dtype t)
{
	return (n * (int64_t)dtype_size(t) + 63) & ~INT64_C(63);
}

#endif
