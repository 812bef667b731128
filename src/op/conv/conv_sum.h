/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Adds another tensor to a convolution's result, for algorithms that cannot do so while they write
 * it. */
#ifndef DLX_OP_CONV_CONV_SUM_H
#define DLX_OP_CONV_CONV_SUM_H

#include "op/conv/conv_algorithm.h"

struct conv_sum {
	int64_t rows, length;        /* number of rows that are added; elements in a row */
	int64_t step, sum_step;      /* elements from row to row in the result, and in the addend */
	bool bf16, bf16_sum;         /* bf16: type of the convolution and the result; bf16_sum: of the
	                              * addend */
	size_t bytes;                /* bytes of the convolution's result, in the layout of the final
	                              * one */
};

/* Prepares s for a task with an addend, whose layouts are final. */
void conv_sum_init(struct conv_sum *s, const struct conv_task *t);
/* out = made + sum; sum may be out. */
void conv_sum_run(const struct conv_sum *s, const void *made, const void *sum, void *out);

#endif
