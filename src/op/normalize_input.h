/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the op normalize_input for code that emits it, and the layout of its second input,
 * the table. */
#ifndef DLX_OP_NORMALIZE_INPUT_H
#define DLX_OP_NORMALIZE_INPUT_H

#include <stdint.h>

#include "graph/graph.h"

struct normalize_input {
	int64_t mask;                    /* channel of the validity mask; -1: none */
};

/* The rows of the table, which is (steps, INPUT_ROWS, channels), float32. */
enum { INPUT_CENTRE, INPUT_SCALE, INPUT_MASKED, INPUT_ROWS };

/* steps: the number of steps in the table; 0: y is x converted, without normalization. */
int emit_normalize_input(struct graph *g, tid x, int64_t mask, int64_t steps, const float *table,
                         tid *y);

#endif
