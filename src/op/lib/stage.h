/* SPDX-License-Identifier: BSD-3-Clause
 *
 * bf16 for loops written in float32: a piece that fits in the first cache becomes float32 on the
 * stack, the loop runs there, and what it wrote becomes bf16 again. The conversions cost less than
 * the memory traffic that they halve. */
#ifndef DLX_OP_LIB_STAGE_H
#define DLX_OP_LIB_STAGE_H

#include "op/lib/walk.h"

#define STAGE_TENSORS 4      /* of a node that may be bf16 */
#define STAGE_FLOATS 1024    /* at a time; a multiple of what ranges may ask for */

/* A loop over elements, and which tensors of its node are bf16. */
struct stage {
	const struct kplan *k;
	walk_range *range;
	unsigned in, out;            /* bit i: in[i], out[i] */
};

struct stage stage_of(const struct kplan *k, walk_range *range);
/* Runs the loop over elements lo..hi-1, by pieces if a tensor is bf16. */
void stage_range(const struct stage *s, const struct kargs *a, int64_t lo, int64_t hi);

#endif
