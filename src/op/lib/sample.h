/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a one-node graph with input values from an op's sample string (grammar in graph/op.h). The
 * op tests and the op bench run it. */
#ifndef DLX_OP_LIB_SAMPLE_H
#define DLX_OP_LIB_SAMPLE_H

#include "graph/op.h"

#define SAMPLE_MAX_IN 16

struct sample {
	struct graph *g;
	struct node *node;
	int nin;
	tid in[SAMPLE_MAX_IN];          /* NONE: the input is absent */
	double *value[SAMPLE_MAX_IN];   /* values in row-major order, exactly representable in
	                                 * float32 */
};

/* Float inputs get requires_grad if the op is differentiable in them. The values are a function of
 * seed. Fails if the text violates the grammar or the op refuses the shapes. Free s with
 * sample_release. */
int sample_build(struct sample *s, const struct op *op, const char *text, uint64_t seed);
void sample_release(struct sample *s);

#endif
