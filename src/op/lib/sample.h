/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An op's sample string (grammar in graph/op.h) made into a one-node graph with input values: what
 * the op tests and the op bench run. */
#ifndef DLX_OP_LIB_SAMPLE_H
#define DLX_OP_LIB_SAMPLE_H

#include "graph/op.h"

#define SAMPLE_MAX_IN 16

struct sample {
	struct graph *g;
	struct node *node;
	int nin;
	tid in[SAMPLE_MAX_IN];          /* NONE: absent */
	double *value[SAMPLE_MAX_IN];   /* plain; exactly representable in float32 */
};

/* Float inputs get requires_grad where the op is differentiable in them. Values are a function of
 * seed. An error if the text does not follow the grammar or the op refuses the shapes. Release with
 * sample_release. */
int sample_build(struct sample *s, const struct op *op, const char *text, uint64_t seed);
void sample_release(struct sample *s);

#endif
