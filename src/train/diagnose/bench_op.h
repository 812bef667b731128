/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--bench-op": times a single op on inputs of any shape, and compares it with its roofline. */
#ifndef DLX_TRAIN_BENCH_OP_H
#define DLX_TRAIN_BENCH_OP_H

#include "base/buf.h"

struct bench_op_options {
	const char *op;
	const char *sample;      /* inputs and attributes, in the format of the ops' own samples
	                          * (graph/op.h); NULL is an error */
	const char *device;      /* NULL: auto */
	const char *compute;     /* f32, bf16; NULL: f32 */
};

/* Appends one line of JSON to out, and prints the same as a note. */
int bench_op(const struct bench_op_options *o, struct buf *out);

#endif
