/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--bench" and "--bench-op": timed training steps on in-memory data after warm-up, and a single op
 * on inputs of any shape in comparison with its roofline, each as one line of JSON. */
#ifndef DLX_TRAIN_BENCH_H
#define DLX_TRAIN_BENCH_H

#include "base/buf.h"
#include "plan/session.h"

/* Times `steps` steps and appends the line to out. The line covers all ranks and shows their
 * differences. s needs SESSION_TRAIN | SESSION_RUN. profile: adds a profile to the line, and
 * appends it as text to `tables` (plan/time/profile.h). Collective. */
int bench(struct session *s, int64_t steps, bool profile, struct buf *out, struct buf *tables);

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
