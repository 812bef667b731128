/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sum of what a convolution made and another tensor,
 * for algorithms that cannot add while they write. */
#ifndef DLX_OP_CONV_CONV_SUM_H
#define DLX_OP_CONV_CONV_SUM_H

#include "op/conv/conv_algorithm.h"

struct conv_sum {
	int64_t rows, length;        /* how many rows are added, and of how many elements */
	int64_t step, sum_step;      /* elements from row to row in the result, and in the addend */
	bool bf16, bf16_sum;         /* bf16: the convolution and the result; the addend */
	size_t bytes;                /* the convolution, in the result's layout */
};

/* Sets s up for a task with an addend, whose layouts are final. */
void conv_sum_init(struct conv_sum *s, const struct conv_task *t);
/* out = made + sum; sum may be out. */
void conv_sum_run(const struct conv_sum *s, const void *made, const void *sum, void *out);

#endif
